/*
 * An AODV daemon (RFC 3561): the state machine of aodv_core.h on real sockets
 * and the kernel's routes. One for each network namespace.
 */
#include "aodvd.h"
#include "probe_common.h"
#include "probe_json.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MOST_FDS (4 + 2 * AODV_MOST_INTERFACES)

struct aodvd aodvd;

static volatile sig_atomic_t told_to_end;

static void on_signal(int signal_number)
{
	(void)signal_number;
	told_to_end = 1;
}

/* Signals are taken only while ppoll() sleeps, so none is missed. */
static void signals_open(sigset_t *while_asleep)
{
	struct sigaction action = {.sa_handler = on_signal};
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGINT);
	if (sigprocmask(SIG_BLOCK, &blocked, while_asleep) != 0 ||
	    sigaction(SIGTERM, &action, NULL) != 0 ||
	    sigaction(SIGINT, &action, NULL) != 0)
		die_errno("sigaction", "signal handlers", NULL);
	sigdelset(while_asleep, SIGTERM);
	sigdelset(while_asleep, SIGINT);
}

static void op_send(void *ctx, unsigned int interface, uint32_t to,
		    unsigned int ttl_hops, const uint8_t *bytes, size_t length)
{
	(void)ctx;
	control_send(interface, to, ttl_hops, bytes, length);
}

static void op_route_set(void *ctx, uint32_t destination, uint32_t next_hop,
			 unsigned int interface)
{
	(void)ctx;
	routes_set(destination, next_hop, interface);
}

static void op_route_clear(void *ctx, uint32_t destination)
{
	(void)ctx;
	routes_clear(destination);
}

static void op_release(void *ctx, uint32_t destination)
{
	(void)ctx;
	buffer_release(destination);
}

static void op_give_up(void *ctx, uint32_t destination, bool repair)
{
	(void)ctx;
	buffer_give_up(destination, repair);
}

static void op_read_usage(void *ctx)
{
	(void)ctx;
	usage_read();
}

static void op_read_heard(void *ctx)
{
	(void)ctx;
	neighbours_heard();
}

static void op_request_seen(void *ctx, uint32_t originator, uint32_t id,
			    int64_t until_ns)
{
	(void)ctx;
	requests_seen(originator, id, until_ns);
}

static void op_neighbour_watch(void *ctx, uint32_t neighbour,
			       unsigned int interface)
{
	(void)ctx;
	neighbour_watch(neighbour, interface);
}

static void op_neighbour_unwatch(void *ctx, uint32_t neighbour)
{
	(void)ctx;
	neighbour_unwatch(neighbour);
}

static const struct aodv_ops ops = {
    .send = op_send,
    .route_set = op_route_set,
    .route_clear = op_route_clear,
    .release = op_release,
    .give_up = op_give_up,
    .read_usage = op_read_usage,
    .read_heard = op_read_heard,
    .request_seen = op_request_seen,
    .neighbour_watch = op_neighbour_watch,
    .neighbour_unwatch = op_neighbour_unwatch,
    .event = events_write,
};

static int sysctl_read(const char *path)
{
	char text[16] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		die_errno(path, "a setting of this namespace", NULL);
	close_or_die(fd);
	return atoi(text);
}

static void sysctl_check(const char *path, int wanted)
{
	char want[16], got[16];
	int value = sysctl_read(path);

	snprintf(want, sizeof(want), "%d", wanted);
	snprintf(got, sizeof(got), "%d", value);
	if (value != wanted)
		die_run(path, want, got, "set it before the daemon starts");
}

/* A node forwards, and tells nobody of a shorter way over the same radio. */
static void sysctls_check(void)
{
	char path[96];

	sysctl_check("/proc/sys/net/ipv4/ip_forward", 1);
	sysctl_check("/proc/sys/net/ipv4/conf/all/send_redirects", 0);
	for (unsigned int i = 0; i < aodvd.interfaces; i++) {
		snprintf(path, sizeof(path),
			 "/proc/sys/net/ipv4/conf/%s/send_redirects",
			 aodvd.interface[i].name);
		sysctl_check(path, 0);
	}
}

static void say_ready(void)
{
	json_begin("ready");
	json_integer("t_ns", clock_now_ns());
	json_end_flush();
	if (!option_ready_is_set())
		return;
	if (write((int)option_ready_fd(), "\n", 1) != 1)
		die_errno("--ready-fd", "a byte written", NULL);
	close_or_die((int)option_ready_fd());
}

static void handle(const struct pollfd *fd)
{
	if (fd->fd == aodvd.tun_fd) {
		tun_receive();
		return;
	}
	if (fd->fd == aodvd.neighbour_fd) {
		neighbours_receive();
		return;
	}
	if (fd->fd == aodvd.route_fd) {
		routes_check();
		return;
	}
	for (unsigned int i = 0; i < aodvd.interfaces; i++) {
		if (fd->fd == aodvd.interface[i].control_fd)
			control_receive(i);
		else if (fd->fd == aodvd.interface[i].monitor_fd)
			feedback_receive(i);
	}
}

/* In the order in which they are looked at: link breaks before packets. */
static nfds_t fds_fill(struct pollfd *fds)
{
	nfds_t count = 0;

	fds[count++] = (struct pollfd){aodvd.timer_fd, POLLIN, 0};
	fds[count++] = (struct pollfd){aodvd.route_fd, POLLIN, 0};
	if (aodvd.neighbour_fd >= 0)
		fds[count++] = (struct pollfd){aodvd.neighbour_fd, POLLIN, 0};
	for (unsigned int i = 0; i < aodvd.interfaces; i++) {
		if (aodvd.interface[i].monitor_fd >= 0)
			fds[count++] = (struct pollfd){
			    aodvd.interface[i].monitor_fd, POLLIN, 0};
		fds[count++] =
		    (struct pollfd){aodvd.interface[i].control_fd, POLLIN, 0};
	}
	fds[count++] = (struct pollfd){aodvd.tun_fd, POLLIN, 0};
	return count;
}

/*
 * ppoll()'s own timeout may be a thousandth late; a timer is not. Setting it
 * anew also makes it unreadable again.
 */
static void timer_set(int64_t next_ns)
{
	static int64_t set_ns = AODV_NEVER_NS;
	struct itimerspec when = {.it_interval = {0, 0}};

	if (next_ns == set_ns)
		return;
	set_ns = next_ns;
	if (next_ns != AODV_NEVER_NS)
		when.it_value = (struct timespec){
		    .tv_sec = (time_t)(next_ns / NS_PER_S),
		    .tv_nsec = (long)(next_ns % NS_PER_S),
		};
	if (timerfd_settime(aodvd.timer_fd, TFD_TIMER_ABSTIME, &when, NULL))
		die_errno("timerfd_settime", "a time to wake up", NULL);
}

static void run(const sigset_t *while_asleep)
{
	struct pollfd fds[MOST_FDS];
	nfds_t count = fds_fill(fds);

	while (!told_to_end) {
		int ready;

		timer_set(aodv_core_next_ns(aodvd.core));
		ready = ppoll(fds, count, NULL, while_asleep);
		if (ready < 0 && errno != EINTR)
			die_errno("ppoll", "something to do", NULL);
		aodvd.counts.wakeups++;
		aodv_core_advance(aodvd.core, clock_now_ns());
		for (nfds_t i = 0; ready > 0 && i < count; i++)
			if (fds[i].revents)
				handle(&fds[i]);
	}
}

static void open_all(void)
{
	sysctls_check();
	aodvd.timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (aodvd.timer_fd < 0)
		die_errno("timerfd_create", "a timer", NULL);
	routes_open();
	tun_open();
	usage_open();
	requests_open();
	for (unsigned int i = 0; i < aodvd.interfaces; i++)
		aodvd.interface[i].control_fd = control_open(i);
	events_open();
	aodvd.core = aodv_core_new(&aodvd.config, &ops, NULL, clock_now_ns());
	if (!aodvd.core)
		die_errno("calloc", "memory", NULL);
	routes_default_to_tun();
}

int main(int argc, char **argv)
{
	sigset_t while_asleep;

	probe_start("aodvd");
	options_read(argc, argv);
	signals_open(&while_asleep);
	open_all();
	say_ready();
	run(&while_asleep);
	routes_remove_all();
	buffer_end();
	close_or_die(aodvd.tun_fd);
	events_close();
	totals_write();
	aodv_core_free(aodvd.core);
	return EXIT_OK;
}
