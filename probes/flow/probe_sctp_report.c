/* What the kernel says about an SCTP association. */
#include "probe_buffers.h"
#include "probe_json.h"
#include "probe_paths.h"
#include "probe_sctp.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <time.h>

static void getsockopt_or_die(int fd, int name, void *value, socklen_t length,
			      const char *words)
{
	if (getsockopt(fd, SOL_SCTP, name, value, &length) != 0)
		die_errno("getsockopt", words,
			  "does the association still exist?");
}

/*
 * The kernel hands out srtt and the observed RTO as it keeps them: in ticks
 * of its own, whose length only the coarse clock's resolution tells.
 */
static uint64_t ticks_to_ms(uint64_t ticks)
{
	struct timespec tick;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0)
		die_errno("clock_getres", "the length of a kernel tick", NULL);
	return ticks * (uint64_t)tick.tv_nsec / (uint64_t)NS_PER_MS;
}

static void report_addresses(const char *key, struct sockaddr *packed,
			     int count)
{
	const char *next = (const char *)packed;

	json_array_begin(key);
	for (int i = 0; i < count; i++) {
		const struct sockaddr *addr = (const void *)next;
		char text[INET6_ADDRSTRLEN];
		const void *number =
		    addr->sa_family == AF_INET
			? (const void *)&((const struct sockaddr_in *)addr)
			      ->sin_addr
			: &((const struct sockaddr_in6 *)addr)->sin6_addr;

		json_array_text(
		    inet_ntop(addr->sa_family, number, text, sizeof(text)));
		next += sctp_getaddrlen(addr->sa_family);
	}
	json_array_end();
}

static void report_ends(int fd)
{
	struct sockaddr *packed = NULL;
	int count = sctp_getladdrs(fd, 0, &packed);

	if (count < 0)
		die_errno("sctp_getladdrs", "local addresses", NULL);
	report_addresses("local_addresses", packed, count);
	sctp_freeladdrs(packed);
	count = sctp_getpaddrs(fd, 0, &packed);
	if (count < 0)
		die_errno("sctp_getpaddrs", "peer addresses", NULL);
	report_addresses("peer_addresses", packed, count);
	sctp_freepaddrs(packed);
}

static void report_timers(int fd)
{
	struct sctp_sack_info sack = {0};
	struct sctp_rtoinfo rto = {0};
	struct sctp_paddrparams params = {0};

	getsockopt_or_die(fd, SCTP_DELAYED_SACK, &sack, sizeof(sack),
			  "SCTP_DELAYED_SACK");
	getsockopt_or_die(fd, SCTP_RTOINFO, &rto, sizeof(rto), "SCTP_RTOINFO");
	getsockopt_or_die(fd, SCTP_PEER_ADDR_PARAMS, &params, sizeof(params),
			  "SCTP_PEER_ADDR_PARAMS");
	json_unsigned("sack_delay_ms", sack.sack_delay);
	json_unsigned("sack_freq_packets", sack.sack_freq);
	json_unsigned("rto_initial_ms", rto.srto_initial);
	json_unsigned("rto_min_ms", rto.srto_min);
	json_unsigned("rto_max_ms", rto.srto_max);
	if (params.spp_flags & SPP_HB_ENABLE)
		json_unsigned("hb_interval_ms", params.spp_hbinterval);
	else
		json_null("hb_interval_ms");
}

static uint32_t assoc_value_or_die(int fd, int name, const char *words)
{
	struct sctp_assoc_value value = {0};

	getsockopt_or_die(fd, name, &value, sizeof(value), words);
	return value.assoc_value;
}

struct sctp_status sctp_status_or_die(int fd)
{
	struct sctp_status status = {0};

	getsockopt_or_die(fd, SCTP_STATUS, &status, sizeof(status),
			  "SCTP_STATUS");
	return status;
}

void sctp_report_effective(int fd)
{
	struct sctp_status status = sctp_status_or_die(fd);
	int nodelay = 0;

	getsockopt_or_die(fd, SCTP_NODELAY, &nodelay, sizeof(nodelay),
			  "SCTP_NODELAY");
	json_begin("effective");
	json_bool("nodelay", nodelay != 0);
	buffers_report(fd);
	report_timers(fd);
	json_unsigned("max_burst_packets",
		      assoc_value_or_die(fd, SCTP_MAX_BURST, "SCTP_MAX_BURST"));
	json_unsigned("maxseg_bytes",
		      assoc_value_or_die(fd, SCTP_MAXSEG, "SCTP_MAXSEG"));
	json_unsigned("fragmentation_point_bytes",
		      status.sstat_fragmentation_point);
	json_unsigned("outstreams", status.sstat_outstrms);
	json_unsigned("instreams", status.sstat_instrms);
	json_unsigned("peer_rwnd_bytes", status.sstat_rwnd);
	json_unsigned("pathmtu_bytes", status.sstat_primary.spinfo_mtu);
	json_unsigned("cwnd_bytes", status.sstat_primary.spinfo_cwnd);
	json_unsigned("srtt_ms", ticks_to_ms(status.sstat_primary.spinfo_srtt));
	json_unsigned("rto_ms", status.sstat_primary.spinfo_rto);
	paths_report_effective(fd);
	report_ends(fd);
	json_end_flush();
}

void sctp_take_snapshot(int fd, struct sctp_snapshot *snapshot)
{
	struct sctp_snapshot now = {.is_known = true};
	socklen_t stats_bytes = sizeof(now.stats);
	socklen_t status_bytes = sizeof(now.status);

	/* EINVAL and its like: the association is gone. */
	if (getsockopt(fd, SOL_SCTP, SCTP_GET_ASSOC_STATS, &now.stats,
		       &stats_bytes) != 0 ||
	    getsockopt(fd, SOL_SCTP, SCTP_STATUS, &now.status, &status_bytes) !=
		0)
		return;
	/* Reading the counters starts the kernel's search for it anew. */
	if (now.stats.sas_maxrto < snapshot->stats.sas_maxrto)
		now.stats.sas_maxrto = snapshot->stats.sas_maxrto;
	*snapshot = now;
}

/* A counter of the totals; without an association it is null. */
static void report_counter(const char *key,
			   const struct sctp_snapshot *snapshot, uint64_t value)
{
	if (snapshot->is_known)
		json_unsigned(key, value);
	else
		json_null(key);
}

void sctp_report_snapshot(const struct sctp_snapshot *snapshot)
{
	const struct sctp_assoc_stats *stats = &snapshot->stats;
	const struct sctp_status *status = &snapshot->status;

	report_counter("retransmitted_chunks", snapshot, stats->sas_rtxchunks);
	report_counter("sacks_in", snapshot, stats->sas_isacks);
	report_counter("sacks_out", snapshot, stats->sas_osacks);
	report_counter("packets_in", snapshot, stats->sas_ipackets);
	report_counter("packets_out", snapshot, stats->sas_opackets);
	report_counter("ordered_chunks_in", snapshot, stats->sas_iodchunks);
	report_counter("ordered_chunks_out", snapshot, stats->sas_oodchunks);
	report_counter("unordered_chunks_in", snapshot, stats->sas_iuodchunks);
	report_counter("unordered_chunks_out", snapshot, stats->sas_ouodchunks);
	report_counter("control_chunks_in", snapshot, stats->sas_ictrlchunks);
	report_counter("control_chunks_out", snapshot, stats->sas_octrlchunks);
	report_counter("duplicate_chunks_in", snapshot, stats->sas_idupchunks);
	report_counter("out_of_sequence_tsns", snapshot,
		       stats->sas_outofseqtsns);
	report_counter("gap_acks_in", snapshot, stats->sas_gapcnt);
	report_counter("max_rto_ms", snapshot, ticks_to_ms(stats->sas_maxrto));
	report_counter("unacked_chunks", snapshot, status->sstat_unackdata);
	report_counter("peer_rwnd_bytes", snapshot, status->sstat_rwnd);
	report_counter("cwnd_bytes", snapshot,
		       status->sstat_primary.spinfo_cwnd);
	report_counter("srtt_ms", snapshot,
		       ticks_to_ms(status->sstat_primary.spinfo_srtt));
	report_counter("rto_ms", snapshot, status->sstat_primary.spinfo_rto);
}
