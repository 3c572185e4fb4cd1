/* Ends blocking calls at a deadline or on SIGTERM. */
#include "probe_stop.h"

#include "probe_common.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum stop_cause { STOP_NONE, STOP_DEADLINE, STOP_SIGTERM };

static volatile sig_atomic_t cause = STOP_NONE;
/* Changed only while both signals are blocked. */
static volatile int64_t current_deadline_ns = INT64_MAX;
static timer_t timer;

static int arm_timer(int64_t t_ns, int flags)
{
	struct itimerspec when = {
	    .it_value = {(time_t)(t_ns / NS_PER_S), (long)(t_ns % NS_PER_S)},
	    .it_interval = {0, (long)NS_PER_MS},
	};

	return timer_settime(timer, flags, &when, NULL);
}

static void on_signal(int signal_number)
{
	int saved_errno = errno;

	if (signal_number != SIGALRM) {
		cause = STOP_SIGTERM;
		arm_timer(NS_PER_MS, 0);
	} else if (cause == STOP_NONE &&
		   clock_now_ns() >= current_deadline_ns) {
		/* A left-over tick of an earlier deadline fails the test. */
		cause = STOP_DEADLINE;
	}
	errno = saved_errno;
}

static void block_signals(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, before) != 0)
		die_errno("sigprocmask", "signals blocked", NULL);
}

void stop_start_or_die(void)
{
	/* No SA_RESTART: the signal must end the call. */
	struct sigaction action = {.sa_handler = on_signal};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigevent event = {
	    .sigev_notify = SIGEV_SIGNAL,
	    .sigev_signo = SIGALRM,
	};

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
		die_errno("timer_create", "a CLOCK_MONOTONIC timer", NULL);
	if (sigaction(SIGALRM, &action, NULL) != 0 ||
	    sigaction(SIGTERM, &action, NULL) != 0 ||
	    sigaction(SIGINT, &action, NULL) != 0 ||
	    sigaction(SIGPIPE, &ignore, NULL) != 0)
		die_errno("sigaction", "signal handlers", NULL);
}

void stop_at_or_die(int64_t deadline_ns)
{
	sigset_t before;

	block_signals(&before);
	if (cause != STOP_SIGTERM) {
		cause = STOP_NONE;
		current_deadline_ns = deadline_ns;
		if (arm_timer(deadline_ns, TIMER_ABSTIME) != 0)
			die_errno("timer_settime", "an absolute deadline",
				  NULL);
	}
	if (sigprocmask(SIG_SETMASK, &before, NULL) != 0)
		die_errno("sigprocmask", "signals unblocked", NULL);
}

bool stop_requested(void)
{
	return cause != STOP_NONE;
}

bool stop_by_sigterm(void)
{
	return cause == STOP_SIGTERM;
}
