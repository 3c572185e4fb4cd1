/* What happened, line by line, and how often: JSON for reports. */
#include "aodvd.h"
#include "probe_common.h"
#include "probe_json.h"

#include <inttypes.h>
#include <stdio.h>

#define EVENT_BUFFER_BYTES (1 << 18)

static const char *const event_names[AODV_EVENTS] = {
    [AODV_ROUTE_ADDED] = "route_added",
    [AODV_ROUTE_CHANGED] = "route_changed",
    [AODV_ROUTE_BROKEN] = "route_broken",
    [AODV_ROUTE_EXPIRED] = "route_expired",
    [AODV_ROUTE_DELETED] = "route_deleted",
    [AODV_DISCOVERY_STARTED] = "discovery_started",
    [AODV_DISCOVERY_RING] = "discovery_ring",
    [AODV_DISCOVERY_FOUND] = "discovery_found",
    [AODV_DISCOVERY_FAILED] = "discovery_failed",
    [AODV_RERR_SENT] = "rerr_sent",
    [AODV_LINK_BROKEN] = "link_broken",
    [AODV_LINK_BLACKLISTED] = "link_blacklisted",
};

static const char *const cause_names[AODV_CAUSES] = {
    [AODV_CAUSE_FEEDBACK] = "feedback",
    [AODV_CAUSE_NEIGHBOUR_TABLE] = "neighbour_table",
    [AODV_CAUSE_HELLO] = "hello",
};

static const char *const kind_names[AODV_KINDS] = {
    [AODV_KIND_RREQ] = "rreq",	 [AODV_KIND_RREP] = "rrep",
    [AODV_KIND_RERR] = "rerr",	 [AODV_KIND_RREP_ACK] = "rrep_ack",
    [AODV_KIND_HELLO] = "hello",
};

static const char *const control_drop_names[AODV_DROPS] = {
    [AODV_DROP_TRUNCATED] = "truncated",
    [AODV_DROP_LENGTH] = "wrong_length",
    [AODV_DROP_TYPE] = "unknown_type",
    [AODV_DROP_EXTENSION] = "unknown_extension",
    [AODV_DROP_NO_DESTINATIONS] = "no_destinations",
    [AODV_DROP_HOPS] = "hop_count",
    [AODV_DROP_ADDRESS] = "wrong_address",
    [AODV_DROP_PREFIX] = "subnet",
    [AODV_DROP_DUPLICATE] = "duplicate",
    [AODV_DROP_OWN] = "own",
    [AODV_DROP_BLACKLISTED] = "blacklisted",
    [AODV_DROP_TTL] = "ttl",
    [AODV_DROP_NO_REVERSE_ROUTE] = "no_reverse_route",
    [AODV_DROP_STALE] = "stale",
    [AODV_DROP_WAITING_AFTER_REBOOT] = "waiting_after_reboot",
    [AODV_DROP_FULL] = "table_full",
};

static const char *const packet_drop_names[BUFFER_DROPS] = {
    [BUFFER_DROP_FULL] = "buffer_full",
    [BUFFER_DROP_AGE] = "buffer_age",
    [BUFFER_DROP_NO_ROUTE] = "no_route",
    [BUFFER_DROP_REPAIR_FAILED] = "repair_failed",
    [BUFFER_DROP_TRANSIT] = "transit_no_route",
    [BUFFER_DROP_NOT_IPV4] = "not_ipv4",
    [BUFFER_DROP_SEND_ERROR] = "send_error",
    [BUFFER_DROP_ENDED] = "ended",
};

static FILE *file;

void events_open(void)
{
	static char buffer[EVENT_BUFFER_BYTES];

	if (!option_events())
		return;
	file = fopen(option_events(), "we");
	if (!file)
		die_errno(option_events(), "a file to write to", NULL);
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
}

void events_close(void)
{
	if (file && fclose(file) != 0)
		die_errno(option_events(), "all events written", NULL);
	file = NULL;
}

static void address_out(const char *key, uint32_t address)
{
	fprintf(file, ",\"%s\":\"%u.%u.%u.%u\"", key, address >> 24,
		address >> 16 & 0xff, address >> 8 & 0xff, address & 0xff);
}

static void route_out(const struct aodv_event *event)
{
	address_out("next_hop", event->next_hop);
	fprintf(file, ",\"hops\":%u,\"seq\":", event->hops);
	if (event->seq_valid)
		fprintf(file, "%" PRIu32, event->seq);
	else
		fputs("null", file);
}

static void discovery_out(const struct aodv_event *event)
{
	fprintf(file,
		",\"ttl_hops\":%u,\"rreqs\":%u,\"duration_ns\":%" PRId64
		",\"repair\":%s",
		event->ttl_hops, event->rreqs, event->duration_ns,
		event->repair ? "true" : "false");
}

void events_write(void *ctx, const struct aodv_event *event)
{
	(void)ctx;
	if (!file)
		return;
	fprintf(file, "{\"t_ns\":%" PRId64 ",\"event\":\"%s\"", event->t_ns,
		event_names[event->kind]);
	address_out("destination", event->destination);
	if (event->kind <= AODV_ROUTE_DELETED)
		route_out(event);
	else if (event->kind <= AODV_DISCOVERY_FAILED)
		discovery_out(event);
	else if (event->kind == AODV_RERR_SENT)
		fprintf(file,
			",\"destinations\":%u,\"no_delete\":%s,"
			"\"broadcast\":%s",
			event->destinations, event->repair ? "true" : "false",
			event->broadcast ? "true" : "false");
	else if (event->kind == AODV_LINK_BROKEN)
		fprintf(file, ",\"cause\":\"%s\"", cause_names[event->cause]);
	fputs("}\n", file);
}

static void counts_out(const char *suffix, const char *const *names,
		       const uint64_t *counts, unsigned int number)
{
	char key[64];

	for (unsigned int i = 0; i < number; i++) {
		snprintf(key, sizeof(key), suffix, names[i]);
		json_unsigned(key, counts[i]);
	}
}

static void protocol_out(const struct aodv_counts *counts)
{
	counts_out("sent_%s_packets", kind_names, counts->sent, AODV_KINDS);
	counts_out("sent_%s_bytes", kind_names, counts->sent_bytes, AODV_KINDS);
	counts_out("received_%s_packets", kind_names, counts->received,
		   AODV_KINDS);
	counts_out("received_%s_bytes", kind_names, counts->received_bytes,
		   AODV_KINDS);
	counts_out("dropped_control_%s", control_drop_names, counts->dropped,
		   AODV_DROPS);
	counts_out("link_breaks_%s", cause_names, counts->link_breaks,
		   AODV_CAUSES);
	json_unsigned("rreqs_originated", counts->rreqs_originated);
	json_unsigned("rreqs_forwarded", counts->rreqs_forwarded);
	json_unsigned("rreqs_delayed_by_limit", counts->rreqs_delayed_by_limit);
	json_unsigned("rreps_as_destination", counts->rreps_as_destination);
	json_unsigned("rreps_as_intermediate", counts->rreps_as_intermediate);
	json_unsigned("rreps_gratuitous", counts->rreps_gratuitous);
	json_unsigned("rreps_forwarded", counts->rreps_forwarded);
	json_unsigned("rerrs_suppressed_by_limit",
		      counts->rerrs_suppressed_by_limit);
	json_unsigned("discoveries_started", counts->discoveries_started);
	json_unsigned("discoveries_found", counts->discoveries_found);
	json_unsigned("discoveries_failed", counts->discoveries_failed);
	json_unsigned("repairs_started", counts->repairs_started);
	json_unsigned("repairs_found", counts->repairs_found);
	json_unsigned("repairs_failed", counts->repairs_failed);
	json_unsigned("routes_broken", counts->routes_broken);
	json_unsigned("routes_expired", counts->routes_expired);
	json_unsigned("blacklistings", counts->blacklistings);
}

void totals_write(void)
{
	const struct aodvd_counts *counts = &aodvd.counts;

	requests_count();
	json_begin("totals");
	protocol_out(aodv_core_counts(aodvd.core));
	counts_out("dropped_packets_%s", packet_drop_names, counts->dropped,
		   BUFFER_DROPS);
	json_unsigned("buffered_packets", counts->buffered);
	json_unsigned("reinjected_packets", counts->reinjected);
	json_unsigned("salvaged_packets", counts->salvaged);
	json_unsigned("unreachables_sent", counts->unreachables_sent);
	json_unsigned("failed_frames", counts->failed_frames);
	json_unsigned("control_send_errors", counts->control_send_errors);
	json_unsigned("route_changes", counts->route_changes);
	json_unsigned("usage_reads", counts->usage_reads);
	json_unsigned("usage_flows", counts->usage_flows);
	json_unsigned("requests_filtered", counts->requests_filtered);
	json_unsigned("wakeups", counts->wakeups);
	json_text("end", "sigterm");
	json_end_flush();
}
