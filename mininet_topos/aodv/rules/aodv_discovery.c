/* Searches for routes: rings, waits, limits, local repair (6.3, 6.4, 6.12). */
#include "aodv_state.h"

#define MOST_TTL_HOPS 255

struct aodv_discovery *discovery_find(struct aodv_core *core,
				      uint32_t destination)
{
	for (unsigned int i = 0; i < core->discoveries; i++)
		if (core->discovery[i].destination == destination)
			return &core->discovery[i];
	return NULL;
}

static void discovery_event(struct aodv_core *core, enum aodv_event_kind kind,
			    const struct aodv_discovery *discovery)
{
	struct aodv_event event = {
	    .kind = kind,
	    .t_ns = core->now_ns,
	    .destination = discovery->destination,
	    .ttl_hops = discovery->ttl_hops,
	    .rreqs = discovery->rreqs,
	    .repair = discovery->repair,
	    .duration_ns = core->now_ns - discovery->started_ns,
	};

	core->ops->event(core->ctx, &event);
}

static unsigned int ring(const struct aodv_core *core, unsigned int ttl_hops)
{
	if (ttl_hops > core->config.ttl_threshold_hops ||
	    ttl_hops > core->config.net_diameter_hops)
		return core->config.net_diameter_hops;
	return ttl_hops;
}

static uint32_t originator(const struct aodv_core *core,
			   const struct aodv_discovery *discovery)
{
	if (is_own(core, discovery->source))
		return discovery->source;
	return core->config.interface[0].address;
}

static void send_rreq(struct aodv_core *core,
		      const struct aodv_discovery *discovery)
{
	const struct aodv_route *known =
	    route_find(core, discovery->destination);
	struct aodv_rreq rreq = {
	    .gratuitous = core->config.gratuitous,
	    .destination_only = core->config.destination_only,
	    .unknown_seq = !known || !known->seq_valid,
	    .id = ++core->rreq_id,
	    .destination = discovery->destination,
	    .originator = originator(core, discovery),
	    .originator_seq = ++core->own_seq,
	};
	uint8_t bytes[AODV_MOST_BYTES];
	size_t length;

	if (!rreq.unknown_seq)
		rreq.destination_seq = known->seq;
	length = aodv_build_rreq(&rreq, bytes);
	rreq_remember(core, rreq.originator, rreq.id);
	core->counts.rreqs_originated++;
	for (unsigned int i = 0; i < core->config.interfaces; i++)
		broadcast_own(core, AODV_KIND_RREQ, i, discovery->ttl_hops,
			      bytes, length);
}

/* How long to wait for a reply to the request that is sent now. */
static int64_t wait_ns(const struct aodv_core *core,
		       struct aodv_discovery *discovery)
{
	unsigned int hops =
	    discovery->ttl_hops + core->config.timeout_buffer_hops;

	if (discovery->repair)
		return core->config.net_traversal_ns;
	if (discovery->ttl_hops < core->config.net_diameter_hops)
		return 2 * core->config.node_traversal_ns * hops;
	discovery->wait_ns = discovery->full_rreqs == 0
				 ? core->config.net_traversal_ns
				 : 2 * discovery->wait_ns;
	return discovery->wait_ns;
}

/* Sends the request, or leaves it till the limit or the reboot allows it. */
static void attempt(struct aodv_core *core, struct aodv_discovery *discovery)
{
	int64_t allowed_ns =
	    later(limit_next_ns(&core->rreq_limit, core->now_ns),
		  core->silent_until_ns);

	if (allowed_ns > core->now_ns) {
		if (!discovery->awaiting_limit)
			core->counts.rreqs_delayed_by_limit++;
		discovery->awaiting_limit = true;
		discovery->due_ns = allowed_ns;
		return;
	}
	discovery->awaiting_limit = false;
	limit_count(&core->rreq_limit, core->now_ns);
	discovery->due_ns = core->now_ns + wait_ns(core, discovery);
	discovery->rreqs++;
	if (discovery->ttl_hops >= core->config.net_diameter_hops)
		discovery->full_rreqs++;
	send_rreq(core, discovery);
	discovery_event(core, AODV_DISCOVERY_RING, discovery);
}

static struct aodv_discovery *start(struct aodv_core *core,
				    const struct aodv_discovery *with)
{
	struct aodv_discovery *discovery;

	if (core->discoveries == AODV_MOST_DISCOVERIES) {
		drop(core, AODV_DROP_FULL);
		return NULL;
	}
	discovery = &core->discovery[core->discoveries++];
	*discovery = *with;
	discovery->started_ns = core->now_ns;
	discovery_event(core, AODV_DISCOVERY_STARTED, discovery);
	attempt(core, discovery);
	return discovery;
}

void aodv_core_want_route(struct aodv_core *core, int64_t now_ns,
			  uint32_t source, uint32_t destination)
{
	struct aodv_discovery with = {
	    .destination = destination,
	    .source = source,
	    .ttl_hops = core->config.ttl_start_hops,
	};
	const struct aodv_route *known;

	aodv_core_advance(core, now_ns);
	if (!is_unicast(destination) || is_own(core, destination)) {
		core->ops->give_up(core->ctx, destination, false);
		return;
	}
	known = route_find(core, destination);
	if (known && known->valid) {
		core->ops->release(core->ctx, destination);
		return;
	}
	if (discovery_find(core, destination))
		return;
	/* Section 6.4: from where it was last known. */
	if (known && known->hops)
		with.ttl_hops = known->hops + core->config.ttl_increment_hops;
	with.ttl_hops = ring(core, with.ttl_hops);
	core->counts.discoveries_started++;
	if (!start(core, &with))
		core->ops->give_up(core->ctx, destination, false);
}

/* Section 6.12; source is where the packet that was lost came from. */
bool repair_start(struct aodv_core *core, struct aodv_route *route,
		  uint32_t source)
{
	const struct aodv_route *back = route_find(core, source);
	unsigned int half_way = back ? back->hops / 2 : 0;
	/* MIN_REPAIR_TTL is the last known number of hops (section 10). */
	unsigned int ttl_hops = half_way > route->hops ? half_way : route->hops;
	struct aodv_discovery with = {
	    .destination = route->destination,
	    .source = source,
	    .repair = true,
	    .hops_before = route->hops,
	    .ttl_hops = ttl_hops + core->config.local_add_ttl_hops,
	};

	if (with.ttl_hops > core->config.net_diameter_hops)
		with.ttl_hops = core->config.net_diameter_hops;
	if (discovery_find(core, route->destination))
		return true;
	core->counts.repairs_started++;
	return start(core, &with) != NULL;
}

enum aodv_verdict aodv_core_transit(struct aodv_core *core, int64_t now_ns,
				    uint32_t source, uint32_t destination)
{
	const struct aodv_discovery *search;
	struct aodv_route *route;

	aodv_core_advance(core, now_ns);
	/* It came while the route was on its way into the kernel. */
	route = route_find(core, destination);
	if (route && route->valid)
		return AODV_SEND_IT;
	search = discovery_find(core, destination);
	if (search && search->repair)
		return AODV_KEEP_IT;
	if (route && route->repairable &&
	    route->repairable_until_ns > core->now_ns) {
		route->repairable = false;
		if (repair_start(core, route, source))
			return AODV_KEEP_IT;
	}
	/* Section 6.13: somebody still sends over a node that has forgotten. */
	if (core->now_ns < core->silent_until_ns)
		core->silent_until_ns =
		    core->now_ns + core->config.delete_period_ns;
	send_rerr_for_packet(core, source, destination);
	return AODV_DROP_IT;
}

static void discovery_remove(struct aodv_core *core,
			     struct aodv_discovery *discovery)
{
	*discovery = core->discovery[--core->discoveries];
}

void discovery_route_up(struct aodv_core *core, struct aodv_route *route)
{
	struct aodv_discovery *search =
	    discovery_find(core, route->destination);
	bool longer;

	if (!search)
		return;
	discovery_event(core, AODV_DISCOVERY_FOUND, search);
	longer = search->repair && route->hops > search->hops_before;
	if (search->repair)
		core->counts.repairs_found++;
	else
		core->counts.discoveries_found++;
	discovery_remove(core, search);
	if (longer)
		rerr_longer_way(core, route);
	core->ops->release(core->ctx, route->destination);
}

static void fail(struct aodv_core *core, struct aodv_discovery *discovery)
{
	uint32_t destination = discovery->destination;
	bool repair = discovery->repair;

	discovery_event(core, AODV_DISCOVERY_FAILED, discovery);
	if (repair)
		core->counts.repairs_failed++;
	else
		core->counts.discoveries_failed++;
	discovery_remove(core, discovery);
	if (repair)
		rerr_without_repair(core, destination);
	core->ops->give_up(core->ctx, destination, repair);
}

/*
 * So many requests go to the whole network: RREQ_RETRIES after smaller rings
 * (section 10 counts them so), one more when the first went there at once
 * (section 6.3).
 */
static bool is_exhausted(const struct aodv_core *core,
			 const struct aodv_discovery *discovery)
{
	bool had_rings = discovery->rreqs > discovery->full_rreqs;
	unsigned int most = core->config.rreq_retries + (had_rings ? 0 : 1);

	if (discovery->repair)
		return true;
	if (had_rings && most == 0)
		return discovery->ttl_hops + core->config.ttl_increment_hops >
		       core->config.ttl_threshold_hops;
	return discovery->full_rreqs >= most;
}

static void waited(struct aodv_core *core, struct aodv_discovery *discovery)
{
	if (discovery->awaiting_limit) {
		attempt(core, discovery);
		return;
	}
	if (is_exhausted(core, discovery)) {
		fail(core, discovery);
		return;
	}
	discovery->ttl_hops =
	    ring(core, discovery->ttl_hops + core->config.ttl_increment_hops);
	attempt(core, discovery);
}

/* Who waits longest goes first; a failed one makes the search begin anew. */
void discoveries_advance(struct aodv_core *core)
{
	struct aodv_discovery *first;

	do {
		first = NULL;
		for (unsigned int i = 0; i < core->discoveries; i++) {
			struct aodv_discovery *search = &core->discovery[i];

			if (search->due_ns <= core->now_ns &&
			    (!first || search->due_ns < first->due_ns))
				first = search;
		}
		if (first)
			waited(core, first);
	} while (first);
}

int64_t discoveries_next_ns(const struct aodv_core *core)
{
	int64_t next_ns = AODV_NEVER_NS;

	for (unsigned int i = 0; i < core->discoveries; i++)
		if (core->discovery[i].due_ns < next_ns)
			next_ns = core->discovery[i].due_ns;
	return next_ns;
}
