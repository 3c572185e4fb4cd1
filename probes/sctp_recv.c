/*
 * Accepts one SCTP association, reads it to its end and reports the bytes and
 * messages that really arrived, per interval, per stream and in all.
 *
 * Messages are taken in batches with recvmmsg(). Inside the window a batch goes
 * on until it is full or its interval has ended; the kernel still takes every
 * message from the receive queue as it comes, but the process is not woken for
 * each. Elsewhere the call returns as soon as one message is there, together
 * with those a filled gap has released at the same instant.
 */
#include "message_log.h"
#include "probe_json.h"
#include "probe_paths.h"
#include "probe_receiver.h"
#include "probe_sctp.h"
#include "probe_stop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_MESSAGES 64
/* A longer message arrives in parts and is counted at its last. */
#define PART_BYTES 65536
/* Far more than the last packet of a shutdown needs, lost and repeated. */
#define LINGER_S 120

static struct probe_integer streams;

static const struct probe_option own_options[] = {
    {.name = "bind",
     .kind = OPTION_ADDRESSES,
     .to.addresses = &receiver.binds,
     .help = "numeric local address; not given: all IPv4 addresses"},
    {.name = "streams",
     .kind = OPTION_INTEGER,
     .to.integer = &streams,
     .min = 1,
     .max = MAX_STREAMS,
     .help = "most incoming streams that are accepted"},
    {0},
};

static const struct probe_options options = {
    "Receives one SCTP association to its end.",
    {own_options, receiver_options, stream_receiver_options, sctp_options},
};

struct batch {
	struct mmsghdr messages[BATCH_MESSAGES];
	struct iovec parts[BATCH_MESSAGES];
	union {
		char bytes[CMSG_SPACE(sizeof(struct sctp_rcvinfo))];
		struct cmsghdr align;
	} controls[BATCH_MESSAGES];
	struct sockaddr_storage sources[BATCH_MESSAGES];
	char payloads[BATCH_MESSAGES][PART_BYTES];
};

struct reception {
	struct goodput_meter meter;
	uint64_t unordered_messages;
	uint64_t *stream_bytes;
	/* Of the message of which the last part has not come yet. */
	uint64_t part_bytes;
	unsigned int streams;
	/* Of several addresses, the one that the last message came from. */
	char source[INET6_ADDRSTRLEN];
	struct sctp_snapshot snapshot;
	/* "shutdown", "abort" or "sigterm"; NULL while it runs. */
	const char *end;
};

static int listen_for_peer(void)
{
	struct sctp_initmsg init = {
	    .sinit_max_instreams = (uint16_t)streams.value,
	};
	int fd = sctp_socket_or_die(receiver_family(), &init);

	sctp_subscribe_or_die(fd, SCTP_ASSOC_CHANGE);
	sctp_subscribe_or_die(fd, SCTP_SHUTDOWN_EVENT);
	if (receiver.binds.count)
		sctp_bind_or_die(fd, &receiver.binds,
				 (uint16_t)receiver.port.value);
	else
		receiver_bind_or_die(fd);
	listen_or_die(fd);
	receiver_report_ready(fd);
	return fd;
}

static void count_streams(int fd, struct reception *reception)
{
	reception->streams = sctp_status_or_die(fd).sstat_instrms;
	reception->stream_bytes =
	    calloc_or_die(reception->streams, sizeof(uint64_t));
}

static void take_notification(int fd, const void *payload, size_t length,
			      struct reception *reception)
{
	const union sctp_notification *note = payload;

	if (length < sizeof(note->sn_header))
		return;
	if (note->sn_header.sn_type == SCTP_SHUTDOWN_EVENT) {
		/* All data is here and the association still has counters. */
		sctp_take_snapshot(fd, &reception->snapshot);
		reception->end = "shutdown";
	} else if (note->sn_header.sn_type == SCTP_ASSOC_CHANGE &&
		   note->sn_assoc_change.sac_state == SCTP_COMM_LOST) {
		reception->end = "abort";
	}
}

/* When the messages of a batch arrived: all but the last before a boundary. */
struct arrival {
	int64_t boundary_ns;
	int64_t last_ns;
};

static void record_message(const struct sctp_rcvinfo *info, int64_t t_ns,
			   uint64_t bytes)
{
	uint32_t ppid = ntohl(info->rcv_ppid);

	if (ppid < FIRST_PPID)
		die_run("--messages", "messages with their numbers",
			"one without", "give the sender --messages as well");
	message_log_delivered_or_die(
	    t_ns, ppid - FIRST_PPID, bytes, info->rcv_sid,
	    info->rcv_flags & SCTP_UNORDERED ? MESSAGE_UNORDERED : 0);
}

/* With several addresses it matters over which path a message came. */
static bool has_paths(void)
{
	return receiver.binds.count > 1;
}

/* Prints where messages come from, each time that is from elsewhere. */
static void note_source(const struct sockaddr_storage *source, int64_t t_ns,
			struct reception *reception)
{
	const char *now = paths_address_text(source);

	if (strcmp(now, reception->source) == 0)
		return;
	snprintf(reception->source, sizeof(reception->source), "%s", now);
	json_begin("data_from");
	json_time_ns("t_ns", t_ns);
	json_text("address", now);
	json_end();
}

static void take_message(struct mmsghdr *message, int64_t t_ns,
			 int64_t boundary_ns, struct reception *reception)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(&message->msg_hdr);
	bool is_last_part = message->msg_hdr.msg_flags & MSG_EOR;
	struct sctp_rcvinfo *info;

	if (control == NULL || control->cmsg_type != SCTP_RCVINFO)
		die_run("recvmmsg", "SCTP_RCVINFO with each message", "none",
			NULL);
	info = (struct sctp_rcvinfo *)(void *)CMSG_DATA(control);
	if (info->rcv_sid >= reception->streams)
		die_run("recvmmsg", "a stream below instreams", "a higher one",
			NULL);
	if (has_paths())
		note_source(message->msg_hdr.msg_name, t_ns, reception);
	if (t_ns != NO_TIME_NS)
		meter_add(&reception->meter, t_ns, message->msg_len,
			  is_last_part);
	else
		meter_add_before(&reception->meter, boundary_ns,
				 message->msg_len, is_last_part);
	reception->stream_bytes[info->rcv_sid] += message->msg_len;
	reception->part_bytes += message->msg_len;
	if (!is_last_part)
		return;
	if (info->rcv_flags & SCTP_UNORDERED)
		reception->unordered_messages++;
	if (message_log_is_open())
		record_message(info, t_ns, reception->part_bytes);
	reception->part_bytes = 0;
}

static void take_batch(int fd, struct batch *batch, int count,
		       const struct arrival *arrival,
		       struct reception *reception)
{
	for (int i = 0; i < count && reception->end == NULL; i++) {
		struct mmsghdr *message = &batch->messages[i];

		if (message->msg_hdr.msg_flags & MSG_NOTIFICATION)
			take_notification(fd, batch->payloads[i],
					  message->msg_len, reception);
		else if (message->msg_len == 0)
			/* End of file without word of how it came about. */
			reception->end = "shutdown";
		else
			take_message(message,
				     i == count - 1 ||
					     arrival->boundary_ns == NO_TIME_NS
					 ? arrival->last_ns
					 : NO_TIME_NS,
				     arrival->boundary_ns, reception);
	}
}

static void prepare_batch(struct batch *batch, int used)
{
	for (int i = 0; i < used; i++) {
		struct msghdr *header = &batch->messages[i].msg_hdr;

		batch->parts[i].iov_base = batch->payloads[i];
		batch->parts[i].iov_len = PART_BYTES;
		header->msg_iov = &batch->parts[i];
		header->msg_iovlen = 1;
		header->msg_control = &batch->controls[i];
		header->msg_controllen = sizeof(batch->controls[i].bytes);
		header->msg_flags = 0;
		if (!has_paths())
			continue;
		header->msg_name = &batch->sources[i];
		header->msg_namelen = sizeof(batch->sources[i]);
	}
}

/*
 * Waits for a batch that ends with the interval. The kernel looks at the
 * timeout after each message, so only the message that uses it up can lie
 * behind the boundary, and it has only just arrived.
 */
static int receive_bulk(int fd, struct batch *batch, int64_t now_ns,
			struct arrival *arrival)
{
	int64_t left_ns = arrival->boundary_ns - now_ns;
	struct timespec timeout = {(time_t)(left_ns / NS_PER_S),
				   (long)(left_ns % NS_PER_S)};
	int got = recvmmsg(fd, batch->messages, BATCH_MESSAGES, 0, &timeout);

	arrival->last_ns = NO_TIME_NS;
	if (timeout.tv_sec == 0 && timeout.tv_nsec == 0)
		arrival->last_ns = clock_now_ns();
	return got;
}

static int receive(int fd, struct batch *batch,
		   const struct goodput_meter *meter, struct arrival *arrival)
{
	int64_t now_ns = clock_now_ns();
	int got;

	arrival->boundary_ns = NO_TIME_NS;
	if (!message_log_is_open() && !has_paths() &&
	    meter_takes_bulk(meter, now_ns)) {
		arrival->boundary_ns = meter_boundary_ns(meter, now_ns);
		return receive_bulk(fd, batch, now_ns, arrival);
	}
	got =
	    recvmmsg(fd, batch->messages, BATCH_MESSAGES, MSG_WAITFORONE, NULL);
	arrival->last_ns = clock_now_ns();
	return got;
}

static void read_to_end(int fd, struct reception *reception)
{
	struct batch *batch = calloc_or_die(1, sizeof(*batch));
	struct arrival arrival;
	int got = BATCH_MESSAGES;

	while (reception->end == NULL && !stop_requested()) {
		prepare_batch(batch, got > 0 ? got : 0);
		got = receive(fd, batch, &reception->meter, &arrival);
		if (got >= 0)
			take_batch(fd, batch, got, &arrival, reception);
		else if (errno == ECONNRESET || errno == ETIMEDOUT)
			reception->end = "abort";
		else if (errno != EINTR)
			die_errno("recvmmsg", "messages or an end of file",
				  NULL);
	}
	free(batch);
}

static void report_totals(struct reception *reception)
{
	message_log_close_or_die();
	meter_begin_totals(&reception->meter);
	json_unsigned("unordered_messages", reception->unordered_messages);
	json_array_begin("stream_bytes");
	for (unsigned int i = 0; i < reception->streams; i++)
		json_array_unsigned(reception->stream_bytes[i]);
	json_array_end();
	json_text("end", reception->end ? reception->end : "sigterm");
	sctp_report_snapshot(&reception->snapshot);
	json_end_flush();
}

/*
 * After a shutdown, waits until the association is gone: until then it keeps
 * the port, and SCTP has no SO_REUSEADDR that would let the next probe have it.
 */
static void close_association(int fd, const struct reception *reception)
{
	struct linger linger = {.l_onoff = 1, .l_linger = LINGER_S};

	if (reception->end != NULL)
		setsockopt_or_die(fd, SOL_SOCKET, SO_LINGER, &linger,
				  sizeof(linger), "SO_LINGER");
	close_or_die(fd);
}

int main(int argc, char **argv)
{
	struct reception reception = {0};
	int fd;

	probe_start("sctp_recv");
	options_parse(&options, argc, argv);
	sctp_check_options();
	options_report(&options);
	stop_start_or_die();
	fd = receiver_accept(listen_for_peer(), &reception.meter, true);
	if (fd >= 0) {
		setsockopt_int_or_die(fd, SOL_SCTP, SCTP_RECVRCVINFO, 1,
				      "SCTP_RECVRCVINFO");
		count_streams(fd, &reception);
		sctp_report_effective(fd);
		read_to_end(fd, &reception);
		if (reception.end == NULL)
			sctp_take_snapshot(fd, &reception.snapshot);
	}
	report_totals(&reception);
	if (fd >= 0)
		close_association(fd, &reception);
	free(reception.stream_bytes);
	return EXIT_OK;
}
