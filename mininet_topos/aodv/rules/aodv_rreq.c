/* Route requests that arrive: reverse routes, replies, forwarding. */
#include "aodv_state.h"

#include <string.h>

/* Sections 6.2 and 6.5: only fresher or shorter news change the route. */
static struct aodv_route *reverse_route(struct aodv_core *core,
					const struct aodv_rreq *rreq,
					unsigned int interface, uint32_t from)
{
	struct aodv_route *route = route_get(core, rreq->originator);
	unsigned int hops = rreq->hops;
	int64_t least_ns = core->now_ns + 2 * core->config.net_traversal_ns -
			   2 * hops * core->config.node_traversal_ns;
	bool fresher, as_fresh;

	/* So far away that the formula ends in the past. */
	least_ns = later(least_ns, core->now_ns);
	if (!route) {
		drop(core, AODV_DROP_FULL);
		return NULL;
	}
	fresher =
	    !route->seq_valid || seq_newer(rreq->originator_seq, route->seq);
	as_fresh = route->seq_valid && rreq->originator_seq == route->seq;
	if (fresher || (as_fresh && (!route->valid || hops < route->hops))) {
		route->seq = rreq->originator_seq;
		route->seq_valid = true;
		route_activate(core, route, from, interface, hops,
			       route->valid ? later(route->until_ns, least_ns)
					    : least_ns);
	}
	if (!route->valid)
		return NULL;
	route->until_ns = later(route->until_ns, least_ns);
	return route;
}

static uint32_t remaining_ms(const struct aodv_core *core,
			     const struct aodv_route *route)
{
	int64_t left_ns = route->until_ns - core->now_ns;

	return left_ns > 0 ? (uint32_t)(left_ns / AODV_NS_PER_MS) : 0;
}

/* Section 6.6.1. */
static void reply_as_destination(struct aodv_core *core,
				 const struct aodv_rreq *rreq,
				 const struct aodv_route *reverse)
{
	struct aodv_rrep rrep = {
	    .destination = rreq->destination,
	    .originator = rreq->originator,
	    .lifetime_ms =
		(uint32_t)(core->config.my_route_timeout_ns / AODV_NS_PER_MS),
	};

	/* Also what 6.1 and 6.13 ask: never below what others have heard. */
	if (!rreq->unknown_seq &&
	    seq_newer(rreq->destination_seq, core->own_seq))
		core->own_seq = rreq->destination_seq;
	rrep.destination_seq = core->own_seq;
	core->counts.rreps_as_destination++;
	send_rrep(core, &rrep, reverse);
}

/* Section 6.6.3: the destination learns the way back as well. */
static void reply_gratuitously(struct aodv_core *core,
			       const struct aodv_rreq *rreq,
			       const struct aodv_route *forward,
			       const struct aodv_route *reverse)
{
	struct aodv_rrep rrep = {
	    .hops = (uint8_t)reverse->hops,
	    .destination = rreq->originator,
	    .destination_seq = rreq->originator_seq,
	    .originator = rreq->destination,
	    .lifetime_ms = remaining_ms(core, reverse),
	};

	core->counts.rreps_gratuitous++;
	send_rrep(core, &rrep, forward);
}

/* Section 6.6.2. */
static void reply_as_intermediate(struct aodv_core *core,
				  const struct aodv_rreq *rreq,
				  struct aodv_route *forward,
				  struct aodv_route *reverse, uint32_t from)
{
	struct aodv_rrep rrep = {
	    .hops = (uint8_t)forward->hops,
	    .destination = rreq->destination,
	    .destination_seq = forward->seq,
	    .originator = rreq->originator,
	};

	core->ops->read_usage(core->ctx);
	rrep.lifetime_ms = remaining_ms(core, forward);
	route_add_precursor(forward, from);
	route_add_precursor(reverse, forward->next_hop);
	core->counts.rreps_as_intermediate++;
	send_rrep(core, &rrep, reverse);
	if (rreq->gratuitous)
		reply_gratuitously(core, rreq, forward, reverse);
}

/*
 * Section 6.6 (ii). A route that leads back to where the request came from
 * answers nothing: who asks there has just lost it.
 */
static bool can_reply(const struct aodv_rreq *rreq,
		      const struct aodv_route *forward, uint32_t from)
{
	return forward && forward->seq_valid && !rreq->destination_only &&
	       forward->next_hop != from &&
	       (rreq->unknown_seq ||
		!seq_newer(rreq->destination_seq, forward->seq));
}

/* Section 6.5: on all interfaces, with the freshest number that is known. */
static void forward_rreq(struct aodv_core *core, struct aodv_rreq *rreq,
			 unsigned int ttl_hops, const uint8_t *bytes,
			 size_t length)
{
	const struct aodv_route *known = route_find(core, rreq->destination);
	uint8_t forwarded[AODV_MOST_RREQ_BYTES];

	if (ttl_hops <= 1) {
		drop(core, AODV_DROP_TTL);
		return;
	}
	if (known && known->seq_valid &&
	    (rreq->unknown_seq ||
	     seq_newer(known->seq, rreq->destination_seq))) {
		rreq->destination_seq = known->seq;
		rreq->unknown_seq = false;
	}
	memcpy(forwarded, bytes, length);
	aodv_build_rreq(rreq, forwarded);
	core->counts.rreqs_forwarded++;
	for (unsigned int i = 0; i < core->config.interfaces; i++)
		broadcast_later(core, AODV_KIND_RREQ, i, ttl_hops - 1,
				forwarded, length);
}

static void answer_or_forward(struct aodv_core *core, struct aodv_rreq *rreq,
			      struct aodv_route *reverse, uint32_t from,
			      unsigned int ttl_hops, const uint8_t *bytes,
			      size_t length)
{
	struct aodv_route *forward;

	if (core->now_ns < core->silent_until_ns) {
		drop(core, AODV_DROP_WAITING_AFTER_REBOOT);
		return;
	}
	if (is_own(core, rreq->destination)) {
		if (reverse)
			reply_as_destination(core, rreq, reverse);
		else
			drop(core, AODV_DROP_NO_REVERSE_ROUTE);
		return;
	}
	forward = route_valid(core, rreq->destination);
	if (reverse && can_reply(rreq, forward, from))
		reply_as_intermediate(core, rreq, forward, reverse, from);
	else
		forward_rreq(core, rreq, ttl_hops, bytes, length);
}

/*
 * What begins or ends at this node is no router's of it to pass on, whichever
 * of them it is for: a packet that came back here would be its own sender's.
 */
void receive_rreq(struct aodv_core *core, unsigned int interface, uint32_t from,
		  unsigned int ttl_hops, const uint8_t *bytes, size_t length)
{
	enum aodv_fault fault;
	struct aodv_rreq rreq;

	fault = aodv_parse_rreq(bytes, length, &rreq);
	if (fault != AODV_GOOD)
		drop_fault(core, fault);
	else if (length > AODV_MOST_RREQ_BYTES)
		drop(core, AODV_DROP_LENGTH);
	else if (!is_unicast(rreq.originator) || !is_unicast(rreq.destination))
		drop(core, AODV_DROP_ADDRESS);
	else if (is_blacklisted(core, from))
		drop(core, AODV_DROP_BLACKLISTED);
	else if (!neighbour_heard(core, from, interface))
		drop(core, AODV_DROP_FULL);
	else if (is_own(core, rreq.originator) ||
		 is_of_another(core, rreq.originator) ||
		 is_of_another(core, rreq.destination))
		drop(core, AODV_DROP_OWN);
	else if (rreq_seen(core, rreq.originator, rreq.id))
		drop(core, AODV_DROP_DUPLICATE);
	else if (rreq.hops == UINT8_MAX)
		drop(core, AODV_DROP_HOPS);
	else {
		rreq_remember(core, rreq.originator, rreq.id);
		rreq.hops++;
		answer_or_forward(core, &rreq,
				  reverse_route(core, &rreq, interface, from),
				  from, ttl_hops, bytes, length);
	}
}
