/*
 * Sends messages over one SCTP association, as fast as the kernel takes them
 * or at a rate, shuts it down in order and reports what the kernel counted.
 *
 * Messages are handed over in batches with sendmmsg() on a blocking socket:
 * the kernel waits for room inside the call, so that a full send buffer costs
 * no system call per SACK. Every message is taken whole or not at all.
 */
#include "message_log.h"
#include "probe_json.h"
#include "probe_paths.h"
#include "probe_sctp.h"
#include "probe_sender.h"
#include "probe_stop.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BATCH_MESSAGES 64
/* After which a send buffer that was full is tried again. */
#define TRY_AGAIN_NS NS_PER_MS
/* Bulk data is tried again once there is room, and paths looked at so often. */
#define ROOM_OR_LOOK_NS (20 * NS_PER_MS)

static struct probe_integer streams = {true, 1};
static bool unordered;

static const struct probe_option own_options[] = {
    {.name = "host",
     .kind = OPTION_ADDRESSES,
     .required = true,
     .to.addresses = &sender.hosts,
     .help = "numeric address of the receiver; the first is the primary"},
    {.name = "bind",
     .kind = OPTION_ADDRESSES,
     .to.addresses = &sender.binds,
     .help = "numeric local address"},
    {.name = "streams",
     .kind = OPTION_INTEGER,
     .to.integer = &streams,
     .min = 1,
     .max = MAX_STREAMS,
     .help = "outgoing streams, used in turn"},
    {.name = "unordered",
     .kind = OPTION_FLAG,
     .to.flag = &unordered,
     .help = "send every message unordered"},
    {0},
};

static const struct probe_options options = {
    "Sends over one SCTP association, for a time or for an amount.",
    {own_options, sender_options, stream_sender_options, sctp_options,
     path_options},
};

struct batch {
	struct mmsghdr messages[BATCH_MESSAGES];
	struct iovec payloads[BATCH_MESSAGES];
	union {
		char bytes[CMSG_SPACE(sizeof(struct sctp_sndinfo))];
		struct cmsghdr align;
	} controls[BATCH_MESSAGES];
};

static int connect_to_peer(void)
{
	struct sctp_initmsg init = {
	    .sinit_num_ostreams = (uint16_t)streams.value,
	};
	int fd = sctp_socket_or_die(sender.hosts.at[0].addr.ss_family, &init);
	struct sockaddr *peers =
	    sctp_pack_addresses(&sender.hosts, (uint16_t)sender.port.value);
	int result;

	sctp_bind_or_die(fd, &sender.binds, 0);
	sctp_subscribe_or_die(fd, SCTP_ASSOC_CHANGE);
	if (sender.hosts.count > 1)
		paths_watch_or_die(fd);
	result = sctp_connectx(fd, peers, (int)sender.hosts.count, NULL);
	free(peers); /* which leaves errno as it is */
	return result == 0 ? fd : sender_attempt_failed(fd);
}

static void check_streams(int fd)
{
	unsigned int granted = sctp_status_or_die(fd).sstat_outstrms;
	char wanted[32], got[32];

	if (granted >= streams.value)
		return;
	snprintf(wanted, sizeof(wanted), "%u", (unsigned int)streams.value);
	snprintf(got, sizeof(got), "%u", granted);
	die_run("--streams", wanted, got,
		"does the receiver accept fewer with its --streams?");
}

static struct sctp_sndinfo *message_info(struct batch *batch, unsigned int i)
{
	return (struct sctp_sndinfo *)(void *)CMSG_DATA(
	    &batch->controls[i].align);
}

static struct batch *new_batch(char *payload)
{
	struct batch *batch = calloc_or_die(1, sizeof(*batch));

	for (unsigned int i = 0; i < BATCH_MESSAGES; i++) {
		struct msghdr *header = &batch->messages[i].msg_hdr;
		struct cmsghdr *control = &batch->controls[i].align;

		batch->payloads[i].iov_base = payload;
		header->msg_iov = &batch->payloads[i];
		header->msg_iovlen = 1;
		header->msg_control = control;
		header->msg_controllen = sizeof(batch->controls[i].bytes);
		control->cmsg_level = IPPROTO_SCTP;
		control->cmsg_type = SCTP_SNDINFO;
		control->cmsg_len = CMSG_LEN(sizeof(struct sctp_sndinfo));
		if (unordered)
			message_info(batch, i)->snd_flags = SCTP_UNORDERED;
	}
	return batch;
}

/* Gives the next messages their stream and length; returns how many. */
static unsigned int fill_batch(struct batch *batch, const struct send_run *run)
{
	unsigned int most = sender_hands_over_singly() ? 1 : BATCH_MESSAGES;
	uint64_t left_bytes = run->left_bytes;
	unsigned int i;

	for (i = 0; i < most && left_bytes > 0; i++) {
		uint64_t number = run->sent_messages + i;
		size_t length = sender.message_bytes.value;

		if (length > left_bytes)
			length = left_bytes;
		left_bytes -= length;
		batch->payloads[i].iov_len = length;
		message_info(batch, i)->snd_sid =
		    (uint16_t)(number % streams.value);
		if (message_log_is_open())
			message_info(batch, i)->snd_ppid =
			    htonl(FIRST_PPID | (uint32_t)number);
	}
	return i;
}

/* Hands over what is due; false when the send buffer has no room for it. */
static bool hand_over(int fd, struct batch *batch, struct send_run *run,
		      int flags)
{
	unsigned int ask = fill_batch(batch, run);
	int sent = sendmmsg(fd, batch->messages, ask, MSG_NOSIGNAL | flags);

	if (sent < 0 && (flags & MSG_DONTWAIT) && errno == EAGAIN)
		return false;
	if (sent < 0)
		sender_call_failed(run, "sendmmsg");
	for (int i = 0; i < sent; i++) {
		sender_count(run, batch->messages[i].msg_len);
		sender_message_accepted(run);
	}
	return true;
}

static bool goes_on(const struct send_run *run)
{
	return run->end == NULL && run->left_bytes > 0 && !stop_requested();
}

static void judge_association_change(const struct sctp_assoc_change *change,
				     struct send_run *run)
{
	if (change->sac_state == SCTP_SHUTDOWN_COMP)
		run->end = "drained";
	else if (change->sac_state == SCTP_COMM_LOST)
		run->end = "peer_reset";
}

/* Takes one notification and acts on it; true when all data is acked. */
static bool take_notification(int fd, struct send_run *run, int flags)
{
	union sctp_notification note = {0};
	struct iovec part = {.iov_base = &note, .iov_len = sizeof(note)};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t got = recvmsg(fd, &header, flags);

	if (got < 0 && (flags & MSG_DONTWAIT) && errno == EAGAIN)
		return false;
	if (got < 0)
		sender_call_failed(run, "recvmsg");
	else if (got == 0)
		run->end = "peer_reset";
	else if (!(header.msg_flags & MSG_NOTIFICATION))
		return false;
	else if (note.sn_header.sn_type == SCTP_SENDER_DRY_EVENT)
		return true;
	else if (note.sn_header.sn_type == SCTP_ASSOC_CHANGE)
		judge_association_change(&note.sn_assoc_change, run);
	else if (note.sn_header.sn_type == SCTP_PEER_ADDR_CHANGE)
		paths_take_change(fd, &note.sn_paddr_change);
	return false;
}

/*
 * Waits for word of the kernel until a time, and takes it; then looks. Events
 * are POLLIN, and POLLOUT to wait for room as well.
 */
static void await_word(int fd, struct send_run *run, int64_t until_ns,
		       short events)
{
	struct pollfd word = {.fd = fd, .events = events};
	int64_t left_ns = until_ns - clock_now_ns();
	struct timespec timeout = {0};

	if (left_ns > 0)
		timeout = (struct timespec){(time_t)(left_ns / NS_PER_S),
					    (long)(left_ns % NS_PER_S)};
	if (ppoll(&word, 1, &timeout, NULL) > 0 && word.revents != POLLOUT)
		take_notification(fd, run, MSG_DONTWAIT);
	paths_look(fd, false);
}

/*
 * Over several paths: the kernel's word of a path is taken when it comes, so
 * nothing else is waited for inside a call. Room that the kernel tells of and
 * does not give is not asked for again at once.
 */
static void write_over_paths(int fd, struct batch *batch, struct send_run *run)
{
	bool waits_for_room = false;

	while (goes_on(run)) {
		int64_t due_ns = sender_message_due_ns(run);

		if (clock_now_ns() < due_ns) {
			await_word(fd, run, due_ns, POLLIN);
		} else if (hand_over(fd, batch, run, MSG_DONTWAIT)) {
			waits_for_room = false;
		} else if (waits_for_room || sender.rate_bps.is_set) {
			waits_for_room = false;
			await_word(fd, run, clock_now_ns() + TRY_AGAIN_NS,
				   POLLIN);
		} else {
			waits_for_room = true;
			await_word(fd, run, clock_now_ns() + ROOM_OR_LOOK_NS,
				   POLLIN | POLLOUT);
		}
	}
}

static void write_until_stop(int fd, struct send_run *run)
{
	char *payload = calloc_or_die(1, sender.message_bytes.value);
	struct batch *batch = new_batch(payload);

	paths_look(fd, true);
	if (paths_are_watched())
		write_over_paths(fd, batch, run);
	while (goes_on(run)) {
		if (sender_await_message(run))
			hand_over(fd, batch, run, 0);
	}
	free(batch);
	free(payload);
}

/*
 * First until every message is acknowledged: the last moment at which the
 * association still has counters, and all of them are final. Then SHUTDOWN,
 * which goes out at the same instant as it would without the first wait, and
 * until the association is gone.
 */
static void drain(int fd, struct send_run *run, struct sctp_snapshot *snapshot)
{
	bool all_acked = false;

	sender_drain_begins();
	sctp_subscribe_or_die(fd, SCTP_SENDER_DRY_EVENT);
	while (!all_acked && run->end == NULL && !stop_requested())
		all_acked = take_notification(fd, run, 0);
	sctp_take_snapshot(fd, snapshot);
	paths_look(fd, true);
	if (all_acked && shutdown(fd, SHUT_WR) != 0)
		sender_call_failed(run, "shutdown");
	while (run->end == NULL && !stop_requested())
		take_notification(fd, run, 0);
	sender_drain_ends(run);
}

int main(int argc, char **argv)
{
	struct sctp_snapshot snapshot = {0};
	struct send_run run;
	int fd = -1;

	probe_start("sctp_send");
	options_parse(&options, argc, argv);
	sender_check_options();
	sctp_check_options();
	options_report(&options);
	stop_start_or_die();
	if (sender_wait_for_start(&run))
		fd = sender_connect(&run, connect_to_peer);
	if (fd >= 0) {
		sctp_report_effective(fd);
		check_streams(fd);
		sender_connect_ends(&run);
		write_until_stop(fd, &run);
		sctp_take_snapshot(fd, &snapshot);
		if (run.end == NULL && !stop_by_sigterm())
			drain(fd, &run, &snapshot);
		sender_drain_ends(&run);
		sender_close(fd, &run);
	}
	sender_begin_totals(&run);
	sctp_report_snapshot(&snapshot);
	json_end_flush();
	return EXIT_OK;
}
