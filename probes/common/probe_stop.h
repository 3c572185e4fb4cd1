/*
 * One way to end every blocking call: a deadline or SIGTERM.
 *
 * Blocking calls plus an absolute timer cost one system call per unit of work
 * where non-blocking calls with poll() cost three or four, and system calls
 * are what the lab pays for. Both events set a flag and interrupt the call
 * (EINTR). The timer then repeats every millisecond, so that an event which
 * arrives between the check of the flag and the call cannot be missed for
 * longer than that.
 *
 * Invariants: SIGINT counts as SIGTERM; SIGPIPE is ignored; once a SIGTERM
 * was seen, a new deadline does not hide it.
 */
#ifndef PROBE_STOP_H
#define PROBE_STOP_H

#include <stdbool.h>
#include <stdint.h>

void stop_start_or_die(void);
/* Replaces the deadline in force, also one that has passed. */
void stop_at_or_die(int64_t deadline_ns);
/* True after the deadline or SIGTERM. */
bool stop_requested(void);
/* True after SIGTERM. */
bool stop_by_sigterm(void);

#endif
