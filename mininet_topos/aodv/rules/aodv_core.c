/* The state machine as a whole: begin, messages in, time. */
#include "aodv_core.h"
#include "aodv_state.h"

#include <stdlib.h>

struct aodv_core *aodv_core_new(const struct aodv_config *config,
				const struct aodv_ops *ops, void *ctx,
				int64_t now_ns)
{
	struct aodv_core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->config = *config;
	core->ops = ops;
	core->ctx = ctx;
	core->now_ns = now_ns;
	core->random = config->seed;
	core->rreq_limit.per_s = config->rreq_per_s;
	core->rerr_limit.per_s = config->rerr_per_s;
	/* Long ago: nothing was sent yet. */
	core->last_broadcast_ns = now_ns - 3600 * AODV_NS_PER_S;
	core->next_hello_ns = now_ns + config->hello_interval_ns -
			      draw_ns(core, config->jitter_ns);
	if (config->rebooted)
		core->silent_until_ns = now_ns + config->delete_period_ns;
	return core;
}

void aodv_core_free(struct aodv_core *core)
{
	free(core);
}

const struct aodv_counts *aodv_core_counts(const struct aodv_core *core)
{
	return &core->counts;
}

uint32_t aodv_core_own_seq(const struct aodv_core *core)
{
	return core->own_seq;
}

void aodv_core_set_own_seq(struct aodv_core *core, uint32_t seq)
{
	core->own_seq = seq;
}

/* Every valid route that ran out, unless packets took it since. */
static void routes_advance(struct aodv_core *core)
{
	bool any = false;

	for (unsigned int i = 0; i < core->routes && !any; i++)
		any = core->route[i].valid &&
		      core->route[i].until_ns <= core->now_ns;
	if (any)
		core->ops->read_usage(core->ctx);
	for (unsigned int i = 0; i < core->routes; i++) {
		struct aodv_route *route = &core->route[i];

		if (route->until_ns > core->now_ns)
			continue;
		if (!route->valid) {
			if (discovery_find(core, route->destination))
				continue;
			route_delete(core, route);
			i--;
			continue;
		}
		/* Section 6.1: the path expires. */
		if (route->seq_valid)
			route->seq++;
		route_invalidate(core, route, AODV_ROUTE_EXPIRED);
		route->precursors = 0;
	}
}

void aodv_core_advance(struct aodv_core *core, int64_t now_ns)
{
	core->now_ns = later(core->now_ns, now_ns);
	core->ops->read_heard(core->ctx);
	/* A neighbour not heard is a lost link, even when its route ends now.
	 */
	links_advance(core);
	routes_advance(core);
	discoveries_advance(core);
	delayed_advance(core);
}

int64_t aodv_core_next_ns(const struct aodv_core *core)
{
	int64_t next_ns = links_next_ns(core), other_ns;

	other_ns = discoveries_next_ns(core);
	next_ns = other_ns < next_ns ? other_ns : next_ns;
	other_ns = delayed_next_ns(core);
	next_ns = other_ns < next_ns ? other_ns : next_ns;
	for (unsigned int i = 0; i < core->routes; i++) {
		const struct aodv_route *route = &core->route[i];

		/* What is invalid can be deleted whenever one is awake. */
		if (route->valid && route->until_ns < next_ns)
			next_ns = route->until_ns;
	}
	return next_ns;
}

static void prolong(struct aodv_core *core, uint32_t destination, int64_t t_ns)
{
	struct aodv_route *route = route_valid(core, destination);

	if (!route)
		return;
	route->used_ns = later(route->used_ns, t_ns);
	route->until_ns =
	    later(route->until_ns, t_ns + core->config.active_route_timeout_ns);
}

static void prolong_way(struct aodv_core *core, uint32_t destination,
			int64_t t_ns)
{
	const struct aodv_route *route = route_valid(core, destination);

	prolong(core, destination, t_ns);
	if (route && route->next_hop != destination)
		prolong(core, route->next_hop, t_ns);
}

/* Section 6.2: source, destination and the next hops towards both. */
void aodv_core_used(struct aodv_core *core, uint32_t source,
		    uint32_t destination, int64_t t_ns)
{
	prolong_way(core, source, t_ns);
	prolong_way(core, destination, t_ns);
}

/* As neighbour_heard() does with what wakes the daemon. */
void aodv_core_heard(struct aodv_core *core, uint32_t neighbour, int64_t t_ns)
{
	struct aodv_route *route = route_valid(core, neighbour);

	if (route && route->next_hop == neighbour)
		route->until_ns =
		    later(route->until_ns,
			  t_ns + core->config.active_route_timeout_ns);
}

void aodv_core_requests_heard(struct aodv_core *core, uint32_t originator,
			      uint64_t requests)
{
	core->counts.received[AODV_KIND_RREQ] += requests;
	core->counts.received_bytes[AODV_KIND_RREQ] +=
	    requests * AODV_RREQ_BYTES;
	core->counts.dropped[is_own(core, originator) ? AODV_DROP_OWN
						      : AODV_DROP_DUPLICATE] +=
	    requests;
}

static enum aodv_kind kind_of(const uint8_t *bytes, bool was_broadcast)
{
	switch (bytes[0]) {
	case AODV_RREP:
		return was_broadcast ? AODV_KIND_HELLO : AODV_KIND_RREP;
	case AODV_RERR:
		return AODV_KIND_RERR;
	case AODV_RREP_ACK:
		return AODV_KIND_RREP_ACK;
	default:
		return AODV_KIND_RREQ;
	}
}

static void receive_ack(struct aodv_core *core, unsigned int interface,
			uint32_t from, size_t length)
{
	enum aodv_fault fault = aodv_parse_rrep_ack(length);

	if (fault != AODV_GOOD) {
		drop_fault(core, fault);
		return;
	}
	if (!neighbour_heard(core, from, interface))
		drop(core, AODV_DROP_FULL);
	ack_arrived(core, from);
}

void aodv_core_receive(struct aodv_core *core, int64_t now_ns,
		       unsigned int interface, uint32_t from, bool broadcast,
		       unsigned int ttl_hops, const uint8_t *bytes,
		       size_t length)
{
	unsigned int type = aodv_type_of(bytes, length);

	aodv_core_advance(core, now_ns);
	if (type < AODV_RREQ || type > AODV_RREP_ACK) {
		drop(core, length ? AODV_DROP_TYPE : AODV_DROP_TRUNCATED);
		return;
	}
	core->counts.received[kind_of(bytes, broadcast)]++;
	core->counts.received_bytes[kind_of(bytes, broadcast)] += length;
	if (is_own(core, from)) {
		drop(core, AODV_DROP_OWN);
		return;
	}
	if (!is_unicast(from)) {
		drop(core, AODV_DROP_ADDRESS);
		return;
	}
	if (type == AODV_RREQ)
		receive_rreq(core, interface, from, ttl_hops, bytes, length);
	else if (type == AODV_RREP)
		receive_rrep(core, interface, from, broadcast, bytes, length);
	else if (type == AODV_RERR)
		receive_rerr(core, from, bytes, length);
	else
		receive_ack(core, interface, from, length);
}

bool aodv_core_route(const struct aodv_core *core, uint32_t destination,
		     struct aodv_route_view *view)
{
	for (unsigned int i = 0; i < core->routes; i++) {
		const struct aodv_route *route = &core->route[i];

		if (route->destination != destination)
			continue;
		*view = (struct aodv_route_view){
		    .next_hop = route->next_hop,
		    .interface = route->interface,
		    .seq = route->seq,
		    .seq_valid = route->seq_valid,
		    .valid = route->valid,
		    .repairable = route->repairable,
		    .hops = route->hops,
		    .until_ns = route->until_ns,
		    .precursors = route->precursors,
		};
		for (unsigned int at = 0; at < 8 && at < route->precursors;
		     at++)
			view->precursor[at] = route->precursor[at];
		return true;
	}
	return false;
}
