// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loaded before packetdrill's C library: times(2) that lets time pass.
 *
 * packetdrill begins a script shortly after an edge of the tick, and finds one
 * by calling times(2) until it says something else. In the lab computing takes
 * no time, so that would never end: each call sleeps first.
 */
#include <sys/syscall.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#define STEP_NS 50000L

clock_t times(struct tms *buffer)
{
	const struct timespec step = {.tv_nsec = STEP_NS};

	nanosleep(&step, NULL);
	return syscall(SYS_times, buffer);
}
