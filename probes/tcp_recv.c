/*
 * Accepts one TCP connection, reads it to its end and reports the bytes that
 * really arrived, per interval and in all. TCP marks no messages: those
 * counts are null.
 */
#include "message_log.h"
#include "probe_json.h"
#include "probe_receiver.h"
#include "probe_stop.h"
#include "probe_tcp.h"
#include "probe_tick.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static struct probe_integer message_bytes;

static const struct probe_option own_options[] = {
    {.name = "bind",
     .kind = OPTION_ADDRESS,
     .to.addresses = &receiver.binds,
     .help = "numeric local address; not given: all IPv4 addresses"},
    {.name = "message-bytes",
     .kind = OPTION_INTEGER,
     .to.integer = &message_bytes,
     .min = 1,
     .max = UINT32_MAX,
     .help = "payload bytes of a message, for --messages: TCP marks none"},
    {0},
};

static const struct probe_options options = {
    "Receives one TCP connection to its end.",
    {own_options, receiver_options, stream_receiver_options, tcp_options},
};

static int listen_for_peer(void)
{
	int fd = tcp_socket_or_die(receiver_family());

	setsockopt_int_or_die(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	receiver_bind_or_die(fd);
	listen_or_die(fd);
	receiver_report_ready(fd);
	return fd;
}

/* A message is delivered when its last byte has been read. */
static void record_messages(uint64_t before_bytes, uint64_t got_bytes,
			    int64_t now_ns)
{
	uint64_t size_bytes = message_bytes.value;

	if (!message_log_is_open())
		return;
	for (uint64_t number = before_bytes / size_bytes;
	     number < (before_bytes + got_bytes) / size_bytes; number++)
		message_log_delivered_or_die(now_ns, number, size_bytes, 0, 0);
}

/*
 * Reads once; returns what read() does. Inside the window the read goes on
 * until the buffer is full or the interval ends: the kernel still takes every
 * segment from the receive queue as it comes, but the process is not woken
 * for each, which in a virtual-time lab is most of a receiver's cost. Nobody
 * looks at the bytes: the kernel counts and discards them (MSG_TRUNC).
 */
static ssize_t read_once(int fd, struct goodput_meter *meter,
			 int64_t *boundary_ns)
{
	static char buffer[256 * 1024];
	ssize_t got;

	if (*boundary_ns == NO_TIME_NS || tick_passed()) {
		int64_t now_ns = clock_now_ns();

		*boundary_ns = NO_TIME_NS;
		if (!message_log_is_open() && meter_takes_bulk(meter, now_ns) &&
		    tcp_window_clamp_is_steady()) {
			*boundary_ns = meter_boundary_ns(meter, now_ns);
			tick_at_or_die(*boundary_ns);
		}
	}
	if (*boundary_ns != NO_TIME_NS) {
		got = recv(fd, buffer, sizeof(buffer), MSG_WAITALL | MSG_TRUNC);
		if (got > 0)
			meter_add_before(meter, *boundary_ns, (uint64_t)got, 0);
		return got;
	}
	got = read(fd, buffer, sizeof(buffer));
	if (got > 0) {
		int64_t now_ns = clock_now_ns();

		record_messages(meter->bytes, (uint64_t)got, now_ns);
		meter_add(meter, now_ns, (uint64_t)got, 0);
		tcp_hold_window_clamp(fd);
	}
	return got;
}

static const char *read_to_end(int fd, struct goodput_meter *meter)
{
	int64_t boundary_ns = NO_TIME_NS;

	while (!stop_requested()) {
		ssize_t got = read_once(fd, meter, &boundary_ns);

		if (got == 0)
			return "eof";
		if (got < 0 && errno == ECONNRESET)
			return "reset";
		if (got < 0 && errno != EINTR)
			die_errno("read", "bytes or an end of file", NULL);
	}
	return "sigterm";
}

int main(int argc, char **argv)
{
	struct goodput_meter meter;
	const char *end = "sigterm";
	int fd;

	probe_start("tcp_recv");
	options_parse(&options, argc, argv);
	tcp_check_receiver_options();
	if (receiver.messages != NULL && !message_bytes.is_set)
		die_usage("--messages", "--message-bytes beside it", "none");
	options_report(&options);
	stop_start_or_die();
	fd = receiver_accept(listen_for_peer(), &meter, false);
	if (fd >= 0) {
		tcp_hold_window_clamp(fd);
		tcp_report_effective(fd);
		end = read_to_end(fd, &meter);
	}
	message_log_close_or_die();
	meter_begin_totals(&meter);
	json_text("end", end);
	if (fd >= 0)
		tcp_report_receiver_totals(fd);
	else
		tcp_report_receiver_nulls();
	json_end_flush();
	if (fd >= 0)
		close_or_die(fd);
	return EXIT_OK;
}
