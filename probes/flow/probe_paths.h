/*
 * The paths of an SCTP association: how long each is believed to work, which
 * of them do, and what the kernel says of them while the association lasts.
 *
 * Lines: "path_change", as the kernel tells of one (SCTP_PEER_ADDR_CHANGE);
 * "path", a look at one path: when its state or its back-off changed, at least
 * once a second, and in the end. A back-off is a retransmission timeout that
 * grew by half or more from one look to the next: the kernel doubles it each
 * time it expires, up to its maximum, and counts the errors for itself.
 */
#ifndef PROBE_PATHS_H
#define PROBE_PATHS_H

#include "probe_options.h"

#include <netinet/in.h>
#include <netinet/sctp.h>

struct path_settings {
	struct probe_integer path_max_retrans;
	struct probe_integer assoc_max_retrans;
	struct probe_integer pf_max_retrans;
	struct probe_integer ps_max_retrans;
};

/* The option table fills this; a probe without the table asks for nothing. */
extern struct path_settings paths_asked;
extern const struct probe_option path_options[];

/* Before the association; asks nothing of the kernel that was not asked for. */
void paths_apply_or_die(int fd);
/* Adds the thresholds to the open "effective" event, if any was asked for. */
void paths_report_effective(int fd);
/* From here on the kernel tells of changes, and paths are looked at. */
void paths_watch_or_die(int fd);
bool paths_are_watched(void);
/* Prints what is new of each path; all of it with everything. */
void paths_look(int fd, bool everything);
/* Prints a change the kernel told of, and looks. */
void paths_take_change(int fd, const struct sctp_paddr_change *change);
/* "10.0.0.1" */
const char *paths_address_text(const struct sockaddr_storage *addr);

#endif
