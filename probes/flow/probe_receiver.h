/*
 * The life of a receiver, but for the protocol itself: where it listens, how
 * it says that it is ready, what it measures.
 */
#ifndef PROBE_RECEIVER_H
#define PROBE_RECEIVER_H

#include "probe_meter.h"
#include "probe_options.h"

struct receiver_settings {
	struct address_list binds;
	struct probe_integer port;
	struct probe_integer ready_fd;
	struct probe_integer epoch_ns;
	struct probe_seconds interval;
	struct probe_seconds window_from;
	struct probe_seconds duration;
	const char *messages;
};

/* One receiver per process: the option tables fill this. */
extern struct receiver_settings receiver;
extern const struct probe_option receiver_options[];
/* What TCP and SCTP have and UDP has not. */
extern const struct probe_option stream_receiver_options[];

/* The family of --bind, or IPv4. */
int receiver_family(void);
/* Binds to the one --bind address, or to all. */
void receiver_bind_or_die(int fd);
/* Prints "ready" and writes one byte to --ready-fd. */
void receiver_report_ready(int fd);
/*
 * Waits for one connection, closes the listening socket and arms the meter.
 * Returns -1 when SIGTERM came first.
 */
int receiver_accept(int listen_fd, struct goodput_meter *meter,
		    bool counts_messages);
/* Arms the meter; arrival_ns is the epoch unless --epoch-ns was given. */
void receiver_start_meter(struct goodput_meter *meter, int64_t arrival_ns,
			  bool counts_messages);

#endif
