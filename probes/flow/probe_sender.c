/* The protocol-independent life of a TCP or SCTP sender. */
#include "probe_sender.h"

#include "message_log.h"
#include "probe_json.h"
#include "probe_stop.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/* After which a receiver that could not be reached is asked again. */
#define CONNECT_AGAIN_NS NS_PER_S

struct sender_settings sender = {
    .start = {true, 0},
    .message_bytes = {true, 1448},
    .drain = {true, 120 * NS_PER_S},
};

const struct probe_option sender_options[] = {
    {.name = "port",
     .kind = OPTION_INTEGER,
     .required = true,
     .to.integer = &sender.port,
     .min = 1,
     .max = UINT16_MAX,
     .help = "port of the receiver"},
    {.name = "epoch-ns",
     .kind = OPTION_INTEGER,
     .to.integer = &sender.epoch_ns,
     .max = INT64_MAX / 2,
     .help = "CLOCK_MONOTONIC time that is time zero of the experiment; "
	     "not given:\n      the start of this program"},
    {.name = "start-s",
     .kind = OPTION_SECONDS,
     .to.seconds = &sender.start,
     .max = MAX_TIME_NS,
     .help = "connect this long after the epoch"},
    {.name = "duration-s",
     .kind = OPTION_SECONDS,
     .to.seconds = &sender.duration,
     .min = 1,
     .max = MAX_TIME_NS,
     .help = "stop writing this long after --start-s"},
    {.name = "count",
     .kind = OPTION_INTEGER,
     .to.integer = &sender.count,
     .min = 1,
     .max = UINT32_MAX,
     .help = "stop after this many messages"},
    {.name = "message-bytes",
     .kind = OPTION_INTEGER,
     .to.integer = &sender.message_bytes,
     .min = 1,
     .max = MAX_MESSAGE_BYTES,
     .help = "payload bytes of a message"},
    {0},
};

const struct probe_option stream_sender_options[] = {
    {.name = "bytes",
     .kind = OPTION_INTEGER,
     .to.integer = &sender.bytes,
     .min = 1,
     .max = INT64_MAX,
     .help = "stop after this many bytes (the last message may be short)"},
    {.name = "drain-s",
     .kind = OPTION_SECONDS,
     .to.seconds = &sender.drain,
     .max = MAX_TIME_NS,
     .help = "wait at most this long for the peer to have everything"},
    {.name = "rate-bps",
     .kind = OPTION_INTEGER,
     .to.integer = &sender.rate_bps,
     .min = 1,
     .max = MAX_RATE_BPS,
     .help = "hand over messages one by one at this rate of their bits; not "
	     "given:\n      as fast as the kernel takes them"},
    {.name = "messages",
     .kind = OPTION_TEXT,
     .to.text = &sender.messages,
     .help = "record in this file when each message was handed over"},
    {0},
};

void sender_check_options(void)
{
	if (!sender.duration.is_set && !sender.count.is_set &&
	    !sender.bytes.is_set)
		die_usage("--duration-s, --count, --bytes", "at least one",
			  "none");
	if (sender.count.is_set && sender.bytes.is_set)
		die_usage("--count, --bytes", "one of them", "both");
}

static uint64_t asked_bytes(void)
{
	if (sender.bytes.is_set)
		return sender.bytes.value;
	if (sender.count.is_set)
		return sender.count.value * sender.message_bytes.value;
	return UINT64_MAX;
}

bool sender_wait_for_start(struct send_run *run)
{
	int64_t epoch_ns = sender.epoch_ns.is_set
			       ? (int64_t)sender.epoch_ns.value
			       : clock_now_ns();

	*run = (struct send_run){
	    .start_ns = epoch_ns + sender.start.ns,
	    .stop_ns = INT64_MAX,
	    .left_bytes = asked_bytes(),
	    .connect_start_ns = NO_TIME_NS,
	    .connected_ns = NO_TIME_NS,
	};
	message_log_open_or_die(sender.messages);
	if (sender.duration.is_set)
		run->stop_ns = run->start_ns + sender.duration.ns;
	while (!stop_requested()) {
		if (sleep_until_ns(run->start_ns))
			return true;
	}
	run->end = "sigterm";
	return false;
}

/* Whether a path may be there a moment later, with errno of a connect. */
static bool is_unreachable(int error)
{
	return error == ETIMEDOUT || error == EHOSTUNREACH ||
	       error == ENETUNREACH;
}

int sender_attempt_failed(int fd)
{
	int error = errno;

	close_or_die(fd);
	errno = error;
	return -1;
}

int sender_connect(struct send_run *run, int (*attempt)(void))
{
	int fd;

	if (run->stop_ns != INT64_MAX)
		stop_at_or_die(run->stop_ns);
	run->connect_start_ns = clock_now_ns();
	while ((fd = attempt()) < 0) {
		bool again = is_unreachable(errno);

		if (!again && !stop_requested())
			die_errno("connect", "a connection",
				  "was the receiver's ready line awaited?");
		run->failed_connects += again;
		if (stop_requested() || run->stop_ns == INT64_MAX ||
		    !sleep_until_ns(clock_now_ns() + CONNECT_AGAIN_NS)) {
			run->end =
			    stop_by_sigterm() ? "sigterm" : "unconnected";
			return -1;
		}
	}
	run->connected_ns = clock_now_ns();
	return fd;
}

void sender_connect_ends(struct send_run *run)
{
	run->first_write_ns = clock_now_ns();
	run->ready_ns = run->first_write_ns;
	json_begin("connected");
	json_time_ns("connect_start_t_ns", run->connect_start_ns);
	json_time_ns("connected_t_ns", run->connected_ns);
	json_time_ns("first_write_t_ns", run->first_write_ns);
	json_end_flush();
}

void sender_count(struct send_run *run, size_t sent_bytes)
{
	run->sent_bytes += sent_bytes;
	run->left_bytes -= sent_bytes;
}

int64_t sender_due_after_ns(uint64_t units, uint64_t unit_bits,
			    uint64_t rate_bps)
{
	uint64_t bits = units * unit_bits;
	uint64_t whole_s = bits / rate_bps;

	/* rate_bps <= MAX_RATE_BPS keeps the product below 2^64. */
	return (int64_t)(whole_s * (uint64_t)NS_PER_S +
			 bits % rate_bps * (uint64_t)NS_PER_S / rate_bps);
}

bool sender_hands_over_singly(void)
{
	return sender.rate_bps.is_set || message_log_is_open();
}

int64_t sender_message_due_ns(struct send_run *run)
{
	if (sender.rate_bps.is_set)
		run->ready_ns =
		    run->first_write_ns +
		    sender_due_after_ns(run->sent_messages,
					sender.message_bytes.value * 8,
					sender.rate_bps.value);
	return run->ready_ns;
}

bool sender_await_message(struct send_run *run)
{
	return !sender.rate_bps.is_set ||
	       sleep_until_ns(sender_message_due_ns(run));
}

void sender_message_accepted(struct send_run *run)
{
	int64_t accepted_ns;

	run->sent_messages++;
	if (!message_log_is_open())
		return;
	accepted_ns = clock_now_ns();
	message_log_sent_or_die(run->ready_ns, accepted_ns);
	/* Without a rate the next one is ready at once. */
	run->ready_ns = accepted_ns;
}

void sender_call_failed(struct send_run *run, const char *where)
{
	switch (errno) {
	case EINTR:
		return;
	case EPIPE:
	case ESHUTDOWN: /* SCTP: the peer began a shutdown. */
	case ECONNRESET:
	case ECONNABORTED:
	case ENOTCONN:
	case ESRCH: /* SCTP: the association was freed while we waited. */
		run->end = "peer_reset";
		return;
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
		run->end = "timed_out";
		return;
	default:
		die_errno(where, "a working connection", NULL);
	}
}

void sender_drain_begins(void)
{
	stop_at_or_die(clock_now_ns() + sender.drain.ns);
}

void sender_drain_ends(struct send_run *run)
{
	if (run->end == NULL && stop_by_sigterm())
		run->end = "sigterm";
	else if (run->end == NULL)
		run->end = stop_requested() ? "drain_timeout" : "drained";
}

void sender_close(int fd, const struct send_run *run)
{
	/* What is left would go on being sent for as long as it takes. */
	struct linger abort = {.l_onoff = 1, .l_linger = 0};

	if (run->end != NULL && strcmp(run->end, "drain_timeout") == 0)
		setsockopt_or_die(fd, SOL_SOCKET, SO_LINGER, &abort,
				  sizeof(abort), "SO_LINGER");
	close_or_die(fd);
}

void sender_begin_totals(const struct send_run *run)
{
	uint64_t message_bytes = sender.message_bytes.value;

	message_log_close_or_die();
	json_begin("totals");
	json_unsigned("sent_bytes", run->sent_bytes);
	/* The short last message of --bytes counts as one. */
	json_unsigned("messages", run->sent_bytes / message_bytes +
				      (run->left_bytes == 0 &&
				       run->sent_bytes % message_bytes));
	json_unsigned("failed_connects", run->failed_connects);
	if (run->connected_ns == NO_TIME_NS)
		json_null("connect_s");
	else
		json_seconds("connect_s",
			     run->connected_ns - run->connect_start_ns);
	json_text("end", run->end);
}
