/*
 * SCTP socket options: asked for before the association, read back after it.
 *
 * All probes use one-to-one sockets (SOCK_STREAM): one association each, so
 * association ids are zero throughout. On a listening socket the options are
 * set before listen(): an association takes over its endpoint's settings when
 * the INIT arrives, long before accept().
 */
#ifndef PROBE_SCTP_H
#define PROBE_SCTP_H

#include "probe_options.h"

#include <netinet/in.h>
#include <netinet/sctp.h>

#define MAX_STREAMS 65535

struct sctp_settings {

	struct probe_integer sack_delay_ms;
	struct probe_integer sack_freq_packets;
	struct probe_integer max_burst_packets;
	struct probe_integer rto_initial_ms;
	struct probe_integer rto_min_ms;
	struct probe_integer rto_max_ms;
	struct probe_integer maxseg_bytes;
	struct probe_integer hb_interval_ms;
	struct probe_integer sndbuf_bytes;
	struct probe_integer rcvbuf_bytes;
	bool hb_disable;
	bool nodelay;
};

/* One association per process: the option table fills this. */
extern struct sctp_settings sctp_asked;
extern const struct probe_option sctp_options[];

/* What the option table cannot say; dies with status 2. */
void sctp_check_options(void);
/*
 * An SCTP socket with all options applied; dies with 4 without SCTP. What is
 * zero in init is left to the kernel.
 */
int sctp_socket_or_die(int family, const struct sctp_initmsg *init);
/* Binds to all of the addresses, or to none if the list is empty. */
void sctp_bind_or_die(int fd, const struct address_list *list, uint16_t port);
/*
 * The addresses one after another as the sctp_*x() calls want them. The
 * caller frees the result.
 */
struct sockaddr *sctp_pack_addresses(const struct address_list *list,
				     uint16_t port);
void sctp_subscribe_or_die(int fd, uint16_t event_type);

struct sctp_status sctp_status_or_die(int fd);
/* Prints "effective". */
void sctp_report_effective(int fd);

/* The association's counters; they are gone with the association. */
struct sctp_snapshot {
	bool is_known;
	struct sctp_assoc_stats stats;
	struct sctp_status status;
};

/* Keeps the older snapshot if the association no longer exists. */
void sctp_take_snapshot(int fd, struct sctp_snapshot *snapshot);
/* Adds the counters, or nulls, to the open "totals" event. */
void sctp_report_snapshot(const struct sctp_snapshot *snapshot);

#endif
