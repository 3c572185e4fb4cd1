/* SCTP socket options before the association, and addresses. */
#include "probe_sctp.h"

#include "probe_buffers.h"
#include "probe_paths.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sctp_settings sctp_asked;

#define INTEGER(option, member, least, most, words)                            \
	{.name = (option),                                                     \
	 .kind = OPTION_INTEGER,                                               \
	 .to.integer = &sctp_asked.member,                                     \
	 .min = (least),                                                       \
	 .max = (most),                                                        \
	 .help = (words)}

const struct probe_option sctp_options[] = {
    INTEGER("sack-delay-ms", sack_delay_ms, 1, 500,
	    "SCTP_DELAYED_SACK: longest delay of a SACK"),
    INTEGER("sack-freq-packets", sack_freq_packets, 1, INT32_MAX,
	    "SCTP_DELAYED_SACK: a SACK every so many packets; 1 switches "
	    "the\n      delay off"),
    INTEGER("max-burst-packets", max_burst_packets, 0, INT32_MAX,
	    "SCTP_MAX_BURST; 0 is no limit"),
    INTEGER("rto-initial-ms", rto_initial_ms, 1, INT32_MAX,
	    "SCTP_RTOINFO: initial retransmission timeout"),
    INTEGER("rto-min-ms", rto_min_ms, 1, INT32_MAX,
	    "SCTP_RTOINFO: least retransmission timeout"),
    INTEGER("rto-max-ms", rto_max_ms, 1, INT32_MAX,
	    "SCTP_RTOINFO: greatest retransmission timeout"),
    INTEGER("maxseg-bytes", maxseg_bytes, 1, UINT16_MAX,
	    "SCTP_MAXSEG: most payload of one DATA chunk"),
    INTEGER("hb-interval-ms", hb_interval_ms, 1, INT32_MAX,
	    "SCTP_PEER_ADDR_PARAMS: heartbeat interval"),
    INTEGER("sndbuf-bytes", sndbuf_bytes, 1, MAX_BUFFER_BYTES,
	    "SO_SNDBUF; the kernel doubles it"),
    INTEGER("rcvbuf-bytes", rcvbuf_bytes, 1, MAX_BUFFER_BYTES,
	    "SO_RCVBUF; the kernel doubles it and offers half of that"),
    {.name = "hb-disable",
     .kind = OPTION_FLAG,
     .to.flag = &sctp_asked.hb_disable,
     .help = "send no heartbeats"},
    {.name = "nodelay",
     .kind = OPTION_FLAG,
     .to.flag = &sctp_asked.nodelay,
     .help = "SCTP_NODELAY: do not hold back small messages"},
    {0},
};

void sctp_check_options(void)
{
	if (sctp_asked.hb_disable && sctp_asked.hb_interval_ms.is_set)
		die_usage("--hb-disable, --hb-interval-ms", "one of them",
			  "both");
}

static void set_rto(int fd)
{
	/* The kernel leaves alone what is zero here. */
	struct sctp_rtoinfo rto = {
	    .srto_initial = (uint32_t)sctp_asked.rto_initial_ms.value,
	    .srto_min = (uint32_t)sctp_asked.rto_min_ms.value,
	    .srto_max = (uint32_t)sctp_asked.rto_max_ms.value,
	};

	if (rto.srto_initial || rto.srto_min || rto.srto_max)
		setsockopt_or_die(fd, SOL_SCTP, SCTP_RTOINFO, &rto, sizeof(rto),
				  "--rto-*-ms (SCTP_RTOINFO)");
}

static void set_delayed_sack(int fd)
{
	/* The kernel leaves alone what is zero here. */
	struct sctp_sack_info sack = {
	    .sack_delay = (uint32_t)sctp_asked.sack_delay_ms.value,
	    .sack_freq = (uint32_t)sctp_asked.sack_freq_packets.value,
	};

	if (sack.sack_delay || sack.sack_freq)
		setsockopt_or_die(fd, SOL_SCTP, SCTP_DELAYED_SACK, &sack,
				  sizeof(sack), "--sack-* (SCTP_DELAYED_SACK)");
}

static void set_heartbeat(int fd)
{
	struct sctp_paddrparams params = {
	    .spp_hbinterval = (uint32_t)sctp_asked.hb_interval_ms.value,
	    .spp_flags = sctp_asked.hb_disable ? SPP_HB_DISABLE : SPP_HB_ENABLE,
	};

	if (sctp_asked.hb_disable || sctp_asked.hb_interval_ms.is_set)
		setsockopt_or_die(fd, SOL_SCTP, SCTP_PEER_ADDR_PARAMS, &params,
				  sizeof(params),
				  "--hb-* (SCTP_PEER_ADDR_PARAMS)");
}

static void set_assoc_value(int fd, int name, const struct probe_integer *asked,
			    const char *words)
{
	struct sctp_assoc_value value = {
	    .assoc_value = (uint32_t)asked->value,
	};

	if (asked->is_set)
		setsockopt_or_die(fd, SOL_SCTP, name, &value, sizeof(value),
				  words);
}

int sctp_socket_or_die(int family, const struct sctp_initmsg *init)
{
	int fd =
	    socket_or_die(family, SOCK_STREAM, IPPROTO_SCTP, "an SCTP socket");

	buffers_apply_or_die(fd, &sctp_asked.sndbuf_bytes,
			     &sctp_asked.rcvbuf_bytes);
	setsockopt_or_die(fd, SOL_SCTP, SCTP_INITMSG, init, sizeof(*init),
			  "--streams (SCTP_INITMSG)");
	set_rto(fd);
	set_delayed_sack(fd);
	set_heartbeat(fd);
	paths_apply_or_die(fd);
	set_assoc_value(fd, SCTP_MAX_BURST, &sctp_asked.max_burst_packets,
			"--max-burst-packets (SCTP_MAX_BURST)");
	set_assoc_value(fd, SCTP_MAXSEG, &sctp_asked.maxseg_bytes,
			"--maxseg-bytes (SCTP_MAXSEG)");
	if (sctp_asked.nodelay)
		setsockopt_int_or_die(fd, SOL_SCTP, SCTP_NODELAY, 1,
				      "--nodelay (SCTP_NODELAY)");
	return fd;
}

struct sockaddr *sctp_pack_addresses(const struct address_list *list,
				     uint16_t port)
{
	char *packed =
	    calloc_or_die(MAX_ADDRESSES, sizeof(struct sockaddr_storage));
	size_t used_bytes = 0;

	for (unsigned int i = 0; i < list->count; i++) {
		struct sockaddr_storage addr = list->at[i].addr;

		address_set_port(&addr, port);
		memcpy(packed + used_bytes, &addr, address_length(&addr));
		used_bytes += address_length(&addr);
	}
	return (struct sockaddr *)packed;
}

void sctp_bind_or_die(int fd, const struct address_list *list, uint16_t port)
{
	struct sockaddr *packed;
	char where[64];

	if (list->count == 0)
		return;
	packed = sctp_pack_addresses(list, port);
	snprintf(where, sizeof(where), "sctp_bindx %u addresses port %u",
		 list->count, port);
	if (sctp_bindx(fd, packed, (int)list->count, SCTP_BINDX_ADD_ADDR) != 0)
		die_errno(where, "local addresses and a free port",
			  "are all addresses on interfaces of this namespace, "
			  "and the port's last user gone?");
	free(packed);
}

void sctp_subscribe_or_die(int fd, uint16_t event_type)
{
	struct sctp_event event = {.se_type = event_type, .se_on = 1};

	setsockopt_or_die(fd, SOL_SCTP, SCTP_EVENT, &event, sizeof(event),
			  "a notification (SCTP_EVENT)");
}
