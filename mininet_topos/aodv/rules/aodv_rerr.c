/* Lost links and route errors: who must hear of what (section 6.11). */
#include "aodv_state.h"

struct hearers {
	unsigned int count;
	uint32_t neighbour[AODV_MOST_PRECURSORS];
	/* More than could be listed: all must hear it. */
	bool many;
};

static void add_hearers(struct hearers *hearers, const struct aodv_route *route)
{
	for (unsigned int i = 0; i < route->precursors; i++) {
		unsigned int at = 0;

		while (at < hearers->count &&
		       hearers->neighbour[at] != route->precursor[i])
			at++;
		if (at < hearers->count)
			continue;
		if (hearers->count == AODV_MOST_PRECURSORS)
			hearers->many = true;
		else
			hearers->neighbour[hearers->count++] =
			    route->precursor[i];
	}
}

static bool rerr_is_allowed(struct aodv_core *core)
{
	if (limit_next_ns(&core->rerr_limit, core->now_ns) > core->now_ns) {
		core->counts.rerrs_suppressed_by_limit++;
		return false;
	}
	limit_count(&core->rerr_limit, core->now_ns);
	return true;
}

static void rerr_event(struct aodv_core *core, const struct aodv_rerr *rerr,
		       bool was_broadcast)
{
	struct aodv_event event = {
	    .kind = AODV_RERR_SENT,
	    .t_ns = core->now_ns,
	    .destination = rerr->at[0].destination,
	    .seq = rerr->at[0].seq,
	    .seq_valid = true,
	    .destinations = rerr->count,
	    .repair = rerr->no_delete,
	    .broadcast = was_broadcast,
	};

	core->ops->event(core->ctx, &event);
}

static void rerr_to_all(struct aodv_core *core, const struct aodv_rerr *rerr,
			const bool *interfaces)
{
	uint8_t bytes[AODV_MOST_BYTES];
	size_t length = aodv_build_rerr(rerr, bytes);

	rerr_event(core, rerr, true);
	for (unsigned int i = 0; i < core->config.interfaces; i++)
		if (!interfaces || interfaces[i])
			broadcast_later(core, AODV_KIND_RERR, i, 1, bytes,
					length);
}

static void rerr_to_one(struct aodv_core *core, const struct aodv_rerr *rerr,
			const struct aodv_route *neighbour)
{
	uint8_t bytes[AODV_MOST_BYTES];

	rerr_event(core, rerr, false);
	unicast(core, AODV_KIND_RERR, neighbour->interface,
		neighbour->destination, bytes, aodv_build_rerr(rerr, bytes));
}

/* One: to it alone. More: broadcast where they are (section 6.14). */
static void rerr_to_hearers(struct aodv_core *core,
			    const struct aodv_rerr *rerr,
			    const struct hearers *hearers)
{
	bool interfaces[AODV_MOST_INTERFACES] = {false};
	const struct aodv_route *neighbour = NULL;
	bool unknown = hearers->many;

	for (unsigned int i = 0; i < hearers->count; i++) {
		neighbour = route_find(core, hearers->neighbour[i]);
		if (neighbour)
			interfaces[neighbour->interface] = true;
		else
			unknown = true;
	}
	if (hearers->count == 1 && neighbour && neighbour->valid &&
	    neighbour->next_hop == neighbour->destination)
		rerr_to_one(core, rerr, neighbour);
	else
		rerr_to_all(core, rerr, unknown ? NULL : interfaces);
}

static void send_part(struct aodv_core *core, const struct aodv_rerr *part,
		      const struct hearers *hearers)
{
	if (part->count && rerr_is_allowed(core))
		rerr_to_hearers(core, part, hearers);
}

/* In as many messages as it takes; each counts against the limit. */
void send_rerr(struct aodv_core *core, const struct aodv_rerr *rerr)
{
	struct aodv_rerr part = {.no_delete = rerr->no_delete};
	struct hearers hearers = {0};

	for (unsigned int i = 0; i < rerr->count; i++) {
		struct aodv_route *route =
		    route_find(core, rerr->at[i].destination);

		if (!route || !route->precursors)
			continue;
		if (part.count == AODV_MOST_SENT_UNREACHABLE) {
			send_part(core, &part, &hearers);
			part.count = 0;
			hearers = (struct hearers){0};
		}
		part.at[part.count++] = rerr->at[i];
		add_hearers(&hearers, route);
		/* An invalid route has no precursors (section 6.2). */
		if (!route->valid)
			route->precursors = 0;
	}
	send_part(core, &part, &hearers);
}

static void lose_route(struct aodv_core *core, struct aodv_route *route)
{
	if (route->seq_valid)
		route->seq++;
	route_invalidate(core, route, AODV_ROUTE_BROKEN);
}

/* Which of the routes over the neighbour the lost packet was for. */
static bool repairs(struct aodv_core *core, struct aodv_route *route,
		    uint32_t source, uint32_t destination)
{
	if (!core->config.local_repair || !destination ||
	    is_own(core, source) || !is_unicast(source) ||
	    route->hops > core->config.max_repair_ttl_hops)
		return false;
	if (route->destination == destination)
		return repair_start(core, route, source);
	/* Repaired once a packet comes for it, for as long as it was active. */
	route->repairable = true;
	route->repairable_until_ns =
	    core->now_ns + core->config.active_route_timeout_ns;
	return true;
}

void link_lost(struct aodv_core *core, uint32_t neighbour,
	       enum aodv_cause cause, uint32_t source, uint32_t destination)
{
	struct aodv_event event = {
	    .kind = AODV_LINK_BROKEN,
	    .t_ns = core->now_ns,
	    .destination = neighbour,
	    .cause = cause,
	};
	struct aodv_rerr rerr = {.count = 0};

	for (unsigned int i = 0; i < core->routes; i++) {
		struct aodv_route *route = &core->route[i];

		if (!route->valid || route->next_hop != neighbour)
			continue;
		if (event.destinations++ == 0)
			core->ops->event(core->ctx, &event);
		lose_route(core, route);
		if (repairs(core, route, source, destination))
			continue;
		if (rerr.count == AODV_MOST_SENT_UNREACHABLE) {
			send_rerr(core, &rerr);
			rerr.count = 0;
		}
		rerr.at[rerr.count++] = unreachable_of(route);
	}
	if (event.destinations)
		core->counts.link_breaks[cause]++;
	send_rerr(core, &rerr);
}

void aodv_core_link_broken(struct aodv_core *core, int64_t now_ns,
			   uint32_t neighbour, enum aodv_cause cause,
			   uint32_t source, uint32_t destination)
{
	aodv_core_advance(core, now_ns);
	link_lost(core, neighbour, cause, source, destination);
}

/* Case (ii): to the precursors, else to where the packet came from. */
void send_rerr_for_packet(struct aodv_core *core, uint32_t source,
			  uint32_t destination)
{
	struct aodv_route *route = route_find(core, destination);
	const struct aodv_route *back = route_valid(core, source);
	struct aodv_rerr rerr = {.count = 1};
	struct hearers hearers = {0};

	rerr.at[0].destination = destination;
	if (route) {
		rerr.at[0] = unreachable_of(route);
		route->until_ns = core->now_ns + core->config.delete_period_ns;
		add_hearers(&hearers, route);
		route->precursors = 0;
	}
	if (!hearers.count && back)
		hearers.neighbour[hearers.count++] = back->next_hop;
	if (!rerr_is_allowed(core))
		return;
	if (hearers.count && core->now_ns >= core->silent_until_ns)
		rerr_to_hearers(core, &rerr, &hearers);
	else
		rerr_to_all(core, &rerr, NULL);
}

/* Section 6.12: the repair found nothing. */
void rerr_without_repair(struct aodv_core *core, uint32_t destination)
{
	struct aodv_route *route = route_find(core, destination);
	struct aodv_rerr rerr = {.count = 1};

	if (!route)
		return;
	rerr.at[0] = unreachable_of(route);
	send_rerr(core, &rerr);
}

/* Section 6.12: repaired, but farther than before. */
void rerr_longer_way(struct aodv_core *core, const struct aodv_route *route)
{
	struct aodv_rerr rerr = {.no_delete = true, .count = 1};

	rerr.at[0] = unreachable_of(route);
	send_rerr(core, &rerr);
}

/*
 * Case (iii): what leads over who sent it is lost; others do not care. Number 0
 * is of one who has none, as in case (ii), so there is nothing to compare or to
 * copy: the own one grows, as for any path that breaks (section 6.1). If it was
 * a number that came round to 0, the own one was just below it and is not too
 * small then either: who has a route over this node has no greater one.
 */
static bool take_unreachable(struct aodv_core *core, uint32_t from,
			     struct aodv_unreachable *unreachable,
			     bool no_delete)
{
	struct aodv_route *route = route_valid(core, unreachable->destination);

	if (!route || route->next_hop != from)
		return false;
	if (no_delete)
		return true;
	if (unreachable->seq == 0) {
		lose_route(core, route);
		*unreachable = unreachable_of(route);
		return true;
	}
	if (route->seq_valid && seq_newer(route->seq, unreachable->seq)) {
		drop(core, AODV_DROP_STALE);
		return false;
	}
	route->seq = unreachable->seq;
	route->seq_valid = true;
	route_invalidate(core, route, AODV_ROUTE_BROKEN);
	return true;
}

void receive_rerr(struct aodv_core *core, uint32_t from, const uint8_t *bytes,
		  size_t length)
{
	struct aodv_rerr rerr, taken = {.count = 0};
	enum aodv_fault fault;

	fault = aodv_parse_rerr(bytes, length, &rerr);
	if (fault != AODV_GOOD) {
		drop_fault(core, fault);
		return;
	}
	taken.no_delete = rerr.no_delete;
	for (unsigned int i = 0; i < rerr.count; i++)
		if (take_unreachable(core, from, &rerr.at[i], rerr.no_delete))
			taken.at[taken.count++] = rerr.at[i];
	if (core->now_ns < core->silent_until_ns)
		drop(core, AODV_DROP_WAITING_AFTER_REBOOT);
	else
		send_rerr(core, &taken);
}
