/*
 * The life of a sender, but for the protocol itself: when it starts, how long
 * and how much it writes, what it reports. UDP uses the first part only.
 *
 * Times: connect at epoch + start; stop writing at epoch + start + duration;
 * then up to drain for what is still on its way. Without an epoch the start
 * of the program is the epoch.
 */
#ifndef PROBE_SENDER_H
#define PROBE_SENDER_H

#include "probe_options.h"

#define MAX_MESSAGE_BYTES 1048576
#define MAX_TIME_NS (UINT64_C(1000000) * (uint64_t)NS_PER_S)
#define MAX_RATE_BPS UINT64_C(10000000000)

struct sender_settings {
	struct address_list hosts;
	struct address_list binds;
	struct probe_integer port;
	struct probe_integer epoch_ns;
	struct probe_seconds start;
	struct probe_seconds duration;
	struct probe_integer count;
	struct probe_integer bytes;
	struct probe_integer message_bytes;
	struct probe_seconds drain;
	struct probe_integer rate_bps;
	const char *messages;
};

/* One sender per process: the option tables fill this. */
extern struct sender_settings sender;
extern const struct probe_option sender_options[];
/* What TCP and SCTP have and UDP has not. */
extern const struct probe_option stream_sender_options[];

struct send_run {
	int64_t start_ns;
	int64_t stop_ns; /* INT64_MAX: no --duration-s */
	uint64_t left_bytes;
	uint64_t sent_bytes;
	uint64_t sent_messages;
	/* How often connecting failed, and when it was first tried. */
	uint64_t failed_connects;
	int64_t connect_start_ns;
	int64_t connected_ns;
	int64_t first_write_ns;
	/* When the message to be handed over next was ready. */
	int64_t ready_ns;
	/* How it ended: a word for the totals, NULL while it runs. */
	const char *end;
};

/* What the tables cannot say of TCP and SCTP; dies with status 2. */
void sender_check_options(void);
/* Sleeps until the start. False when SIGTERM came first. */
bool sender_wait_for_start(struct send_run *run);
/*
 * Connects, from here on with the deadline of --duration-s armed. An attempt
 * returns a socket, or -1 with errno and nothing open. With a deadline, a
 * receiver that cannot be reached is asked again every second until then, as
 * an application does: the kernel itself gives up after some minutes, and TCP
 * at once when a router says that there is no way. -1: run->end says why.
 */
int sender_connect(struct send_run *run, int (*attempt)(void));
/* Closes the socket of an attempt; returns -1, and errno is as it was. */
int sender_attempt_failed(int fd);
/* Prints "connected"; the first write must follow at once. */
void sender_connect_ends(struct send_run *run);
void sender_count(struct send_run *run, size_t sent_bytes);
/*
 * Time from a start until so many units of some bits are due at a rate,
 * rounded down, free of drift. rate_bps is at most MAX_RATE_BPS.
 */
int64_t sender_due_after_ns(uint64_t units, uint64_t unit_bits,
			    uint64_t rate_bps);
/*
 * Whether messages must be handed over one at a time: they are due at a rate,
 * or their times are recorded.
 */
bool sender_hands_over_singly(void);
/* When the next message is ready: now without a rate. It is remembered. */
int64_t sender_message_due_ns(struct send_run *run);
/* Sleeps until the next message is due; false when a signal came first. */
bool sender_await_message(struct send_run *run);
/* To be called when the kernel has taken a message whole. */
void sender_message_accepted(struct send_run *run);
/*
 * Judges a failed write or read, with errno: EINTR leaves the run going, a
 * peer that went away ends it, anything else dies.
 */
void sender_call_failed(struct send_run *run, const char *where);
/* Starts the drain's deadline. */
void sender_drain_begins(void);
/* Gives run->end its word if it has none. */
void sender_drain_ends(struct send_run *run);
/* Ends the connection at once if data are left that nobody will wait for. */
void sender_close(int fd, const struct send_run *run);
void sender_begin_totals(const struct send_run *run);

#endif
