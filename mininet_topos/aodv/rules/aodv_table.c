/* The route table, its precursors, and which requests were seen already. */
#include "aodv_state.h"

#include <string.h>

bool is_own(const struct aodv_core *core, uint32_t address)
{
	for (unsigned int i = 0; i < core->config.interfaces; i++)
		if (core->config.interface[i].address == address)
			return true;
	return false;
}

bool is_of_another(const struct aodv_core *core, uint32_t address)
{
	for (unsigned int i = 0; i < core->config.others; i++)
		if (core->config.other[i] == address)
			return true;
	return false;
}

/* Neither 0.x, loopback, multicast nor what lies above it. */
bool is_unicast(uint32_t address)
{
	uint32_t first = address >> 24;

	return first != 0 && first != 127 && first < 224;
}

void event_of_route(struct aodv_core *core, enum aodv_event_kind kind,
		    const struct aodv_route *route)
{
	struct aodv_event event = {
	    .kind = kind,
	    .t_ns = core->now_ns,
	    .destination = route->destination,
	    .next_hop = route->next_hop,
	    .hops = route->hops,
	    .seq = route->seq,
	    .seq_valid = route->seq_valid,
	};

	core->ops->event(core->ctx, &event);
}

struct aodv_route *route_find(struct aodv_core *core, uint32_t destination)
{
	for (unsigned int i = 0; i < core->routes; i++)
		if (core->route[i].destination == destination)
			return &core->route[i];
	return NULL;
}

struct aodv_route *route_valid(struct aodv_core *core, uint32_t destination)
{
	struct aodv_route *route = route_find(core, destination);

	return route && route->valid ? route : NULL;
}

/* What an error says of it: number 0 where none is known (section 6.11, ii). */
struct aodv_unreachable unreachable_of(const struct aodv_route *route)
{
	return (struct aodv_unreachable){
	    .destination = route->destination,
	    .seq = route->seq_valid ? route->seq : 0,
	};
}

/* The invalid route that would be deleted first makes room. */
static bool make_room(struct aodv_core *core)
{
	struct aodv_route *oldest = NULL;

	for (unsigned int i = 0; i < core->routes; i++) {
		struct aodv_route *route = &core->route[i];

		if (!route->valid &&
		    (!oldest || route->until_ns < oldest->until_ns))
			oldest = route;
	}
	if (oldest)
		route_delete(core, oldest);
	return oldest != NULL;
}

struct aodv_route *route_get(struct aodv_core *core, uint32_t destination)
{
	struct aodv_route *route = route_find(core, destination);

	if (route)
		return route;
	if (core->routes == AODV_MOST_ROUTES && !make_room(core))
		return NULL;
	route = &core->route[core->routes++];
	*route = (struct aodv_route){
	    .destination = destination,
	    .until_ns = core->now_ns + core->config.delete_period_ns,
	};
	return route;
}

/* Moves the last one into its place: pointers to routes end here. */
void route_delete(struct aodv_core *core, struct aodv_route *route)
{
	event_of_route(core, AODV_ROUTE_DELETED, route);
	*route = core->route[--core->routes];
}

void route_activate(struct aodv_core *core, struct aodv_route *route,
		    uint32_t next_hop, unsigned int interface,
		    unsigned int hops, int64_t until_ns)
{
	bool was_valid = route->valid;
	bool moved = !was_valid || route->next_hop != next_hop ||
		     route->interface != interface;
	bool changed = moved || route->hops != hops;

	route->valid = true;
	route->repairable = false;
	route->next_hop = next_hop;
	route->interface = interface;
	route->until_ns = until_ns;
	if (changed)
		core->ops->neighbour_unwatch(core->ctx, route->destination);
	if (moved)
		core->ops->route_set(core->ctx, route->destination, next_hop,
				     interface);
	route->hops = hops;
	if (!was_valid) {
		route->used_ns = 0;
		event_of_route(core, AODV_ROUTE_ADDED, route);
		discovery_route_up(core, route);
	} else if (changed) {
		event_of_route(core, AODV_ROUTE_CHANGED, route);
	}
}

void route_invalidate(struct aodv_core *core, struct aodv_route *route,
		      enum aodv_event_kind why)
{
	route->valid = false;
	route->hello_until_ns = 0;
	route->until_ns = core->now_ns + core->config.delete_period_ns;
	if (why == AODV_ROUTE_EXPIRED)
		core->counts.routes_expired++;
	else
		core->counts.routes_broken++;
	core->ops->neighbour_unwatch(core->ctx, route->destination);
	core->ops->route_clear(core->ctx, route->destination);
	event_of_route(core, why, route);
}

void route_add_precursor(struct aodv_route *route, uint32_t neighbour)
{
	for (unsigned int i = 0; i < route->precursors; i++)
		if (route->precursor[i] == neighbour)
			return;
	if (route->precursors < AODV_MOST_PRECURSORS)
		route->precursor[route->precursors++] = neighbour;
}

/*
 * A message came straight from this neighbour: there is a route of one hop
 * to it, whose sequence number remains what it was (sections 6.2, 6.5, 6.7).
 */
struct aodv_route *neighbour_heard(struct aodv_core *core, uint32_t neighbour,
				   unsigned int interface)
{
	int64_t until_ns = core->now_ns + core->config.active_route_timeout_ns;
	struct aodv_route *route = route_get(core, neighbour);

	if (!route)
		return NULL;
	if (route->valid && route->next_hop == neighbour)
		until_ns = later(until_ns, route->until_ns);
	route_activate(core, route, neighbour, interface, 1, until_ns);
	if (route->hello_until_ns)
		route->hello_until_ns =
		    later(route->hello_until_ns,
			  core->now_ns + core->config.allowed_hello_loss *
					     core->config.hello_interval_ns);
	if (!is_blacklisted(core, neighbour))
		core->ops->neighbour_watch(core->ctx, neighbour, interface);
	return route;
}

bool rreq_seen(struct aodv_core *core, uint32_t originator, uint32_t id)
{
	for (unsigned int i = 0; i < core->seen; i++) {
		const struct aodv_seen *seen = &core->seen_at[i];

		if (seen->id == id && seen->originator == originator &&
		    seen->until_ns > core->now_ns)
			return true;
	}
	return false;
}

/* A free place, one that is over, or the oldest: places go round. */
void rreq_remember(struct aodv_core *core, uint32_t originator, uint32_t id)
{
	struct aodv_seen *place = NULL;

	for (unsigned int i = 0; i < core->seen && !place; i++)
		if (core->seen_at[i].until_ns <= core->now_ns)
			place = &core->seen_at[i];
	if (!place && core->seen < AODV_MOST_SEEN) {
		place = &core->seen_at[core->seen++];
	} else if (!place) {
		place = &core->seen_at[core->seen_next];
		core->seen_next = (core->seen_next + 1) % AODV_MOST_SEEN;
	}
	*place = (struct aodv_seen){
	    .originator = originator,
	    .id = id,
	    .until_ns = core->now_ns + core->config.path_discovery_ns,
	};
	core->ops->request_seen(core->ctx, originator, id, place->until_ns);
}
