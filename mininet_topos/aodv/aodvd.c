/*
 * An AODV daemon (RFC 3561): the state machine of aodv_core.h on real sockets
 * and the kernel's routes. One for each network namespace.
 */
#include "aodvd.h"
#include "probe_common.h"
#include "probe_json.h"
#include "probe_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum tag {
	TAG_SIGNAL,
	TAG_ROUTES,
	TAG_NEIGHBOURS,
	TAG_TUN,
	/* One for each interface. */
	TAG_MONITOR,
	TAG_CONTROL = TAG_MONITOR + AODV_MOST_INTERFACES,
};

struct aodvd aodvd;

static int signals_open(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		die_errno("sigprocmask", "SIGTERM to wait", NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0)
		die_errno("signalfd", "a descriptor", NULL);
	return fd;
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

static void handle_message(const struct ring_event *event)
{
	if (event->kind == RING_FAILED)
		aodvd.counts.control_send_errors++;
	else
		control_receive(event->tag - TAG_CONTROL, event);
}

static void handle_readable(unsigned int tag)
{
	int fd;

	if (tag == TAG_TUN) {
		fd = aodvd.tun_fd;
		tun_receive();
	} else if (tag == TAG_NEIGHBOURS) {
		fd = aodvd.neighbour_fd;
		neighbours_receive();
	} else if (tag == TAG_ROUTES) {
		fd = aodvd.route_fd;
		routes_check();
	} else {
		fd = aodvd.interface[tag - TAG_MONITOR].monitor_fd;
		feedback_receive(tag - TAG_MONITOR);
	}
	ring_watch(fd, tag);
}

/*
 * As of when an event is handled: a message when it came, what is due at its
 * time; for all else the clock is asked.
 */
static int64_t time_of(const struct ring_event *event, int64_t due_ns)
{
	if (event->kind == RING_TIME)
		return due_ns;
	return event->kind == RING_DATA ? requests_last_ns() : clock_now_ns();
}

/* Whatever happened since, in order; returns whether it is time to end. */
static bool handle_events(int64_t due_ns)
{
	bool is_told_to_end = false;
	struct ring_event event;

	while (ring_next(&event)) {
		int64_t t_ns = time_of(&event, due_ns);

		if (t_ns > aodvd.now_ns)
			aodvd.now_ns = t_ns;
		aodv_core_advance(aodvd.core, aodvd.now_ns);
		if (event.kind == RING_DATA || event.kind == RING_FAILED)
			handle_message(&event);
		else if (event.kind == RING_READABLE && event.tag == TAG_SIGNAL)
			is_told_to_end = true;
		else if (event.kind == RING_READABLE)
			handle_readable(event.tag);
	}
	return is_told_to_end;
}

static void watch_all(int signals)
{
	ring_watch(signals, TAG_SIGNAL);
	ring_watch(aodvd.route_fd, TAG_ROUTES);
	if (aodvd.neighbour_fd >= 0)
		ring_watch(aodvd.neighbour_fd, TAG_NEIGHBOURS);
	for (unsigned int i = 0; i < aodvd.interfaces; i++) {
		if (aodvd.interface[i].monitor_fd >= 0)
			ring_watch(aodvd.interface[i].monitor_fd,
				   TAG_MONITOR + i);
		control_watch(i, TAG_CONTROL + i);
	}
	ring_watch(aodvd.tun_fd, TAG_TUN);
	ring_do();
}

static void run(void)
{
	bool is_told_to_end;
	int64_t next_ns;

	do {
		next_ns = aodv_core_next_ns(aodvd.core);
		ring_set_time(next_ns);
		ring_wait();
		aodvd.counts.wakeups++;
		is_told_to_end = handle_events(next_ns);
	} while (!is_told_to_end);
}

static void open_all(void)
{
	sysctls_check();
	ring_open_or_die("waiting for messages and times");
	routes_open();
	tun_open();
	usage_open();
	requests_open();
	for (unsigned int i = 0; i < aodvd.interfaces; i++)
		aodvd.interface[i].control_fd = control_open(i);
	events_open();
	aodvd.now_ns = clock_now_ns();
	aodvd.core = aodv_core_new(&aodvd.config, &ops, NULL, aodvd.now_ns);
	if (!aodvd.core)
		die_errno("calloc", "memory", NULL);
	routes_default_to_tun();
}

int main(int argc, char **argv)
{
	int signals;

	probe_start("aodvd");
	options_read(argc, argv);
	signals = signals_open();
	open_all();
	watch_all(signals);
	say_ready();
	run();
	routes_remove_all();
	buffer_end();
	ring_close_or_die();
	close_or_die(aodvd.tun_fd);
	events_close();
	totals_write();
	aodv_core_free(aodvd.core);
	return EXIT_OK;
}
