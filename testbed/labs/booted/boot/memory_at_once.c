// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory that a program asks for comes to it at once, preloaded into the agent
 * of a virtual lab.
 *
 * There a page that is touched for the first time stops its process, and some
 * 30 us of a processor pass until it goes on; Python touches thousands. Pages
 * that are locked in memory come with the system call that asks for them, all
 * of them together. It is so of this program alone: neither what it starts nor
 * what it becomes inherits the lock, nor is this loaded into these.
 */
#include <stdlib.h>
#include <sys/mman.h>

__attribute__((constructor)) static void take_memory_at_once(void)
{
	/* Refused, it only starts more slowly. */
	(void)mlockall(MCL_FUTURE);
	unsetenv("LD_PRELOAD");
}
