/* One timer that says when the clock must be looked at again. */
#include "probe_tick.h"

#include <signal.h>
#include <time.h>

static volatile sig_atomic_t passed;
static bool is_created;
static timer_t timer;

static void on_tick(int signal_number)
{
	(void)signal_number;
	passed = 1;
}

static void create_or_die(void)
{
	/* No SA_RESTART: the boundary must end the call. */
	struct sigaction action = {.sa_handler = on_tick};
	struct sigevent event = {
	    .sigev_notify = SIGEV_SIGNAL,
	    .sigev_signo = SIGUSR1,
	};

	if (sigaction(SIGUSR1, &action, NULL) != 0)
		die_errno("sigaction", "a handler for SIGUSR1", NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
		die_errno("timer_create", "a CLOCK_MONOTONIC timer", NULL);
	is_created = true;
}

void tick_at_or_die(int64_t t_ns)
{
	struct itimerspec when = {
	    .it_value = {(time_t)(t_ns / NS_PER_S), (long)(t_ns % NS_PER_S)},
	};

	if (!is_created)
		create_or_die();
	passed = 0;
	if (timer_settime(timer, TIMER_ABSTIME, &when, NULL) != 0)
		die_errno("timer_settime", "an absolute time", NULL);
}

bool tick_passed(void)
{
	return passed != 0;
}
