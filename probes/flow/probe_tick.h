/*
 * One timer that says when the clock must be looked at again.
 *
 * Looking at the clock for every packet costs a system call each, which is
 * dear in a virtual-time lab. Between two boundaries the interval of an
 * arrival is known without it. The tick ends a blocking call, with what it
 * has got so far or with EINTR. Invariant: a boundary that has passed is seen
 * by the first tick_passed() after it, because the signal is delivered before
 * the call that it interrupts returns.
 */
#ifndef PROBE_TICK_H
#define PROBE_TICK_H

#include "probe_common.h"

/* Arms the timer for an absolute CLOCK_MONOTONIC time. */
void tick_at_or_die(int64_t t_ns);
/* Whether the time last armed for has come. */
bool tick_passed(void);

#endif
