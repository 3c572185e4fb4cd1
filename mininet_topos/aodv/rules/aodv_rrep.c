/* Route replies that arrive: forward routes, forwarding, acknowledgements. */
#include "aodv_state.h"

/* Section 6.7: towards is the route to who asked. */
void send_rrep(struct aodv_core *core, struct aodv_rrep *rrep,
	       const struct aodv_route *towards)
{
	uint8_t bytes[AODV_MOST_BYTES];

	rrep->ack_required = core->config.ask_rrep_ack;
	if (rrep->ack_required)
		await_ack(core, towards->next_hop);
	unicast(core, AODV_KIND_RREP, towards->interface, towards->next_hop,
		bytes, aodv_build_rrep(rrep, bytes));
}

static void send_rrep_ack(struct aodv_core *core, unsigned int interface,
			  uint32_t to)
{
	uint8_t bytes[AODV_RREP_ACK_BYTES];

	unicast(core, AODV_KIND_RREP_ACK, interface, to, bytes,
		aodv_build_rrep_ack(bytes));
}

/* The four cases of section 6.7; hops is the "New Hop Count". */
static bool brings_news(const struct aodv_route *route,
			const struct aodv_rrep *rrep)
{
	if (!route->seq_valid)
		return true;
	if (seq_newer(rrep->destination_seq, route->seq))
		return true;
	return rrep->destination_seq == route->seq &&
	       (!route->valid || rrep->hops < route->hops);
}

/* Returns the route to the destination if it was created or updated. */
static struct aodv_route *update_forward(struct aodv_core *core,
					 const struct aodv_rrep *rrep,
					 unsigned int interface, uint32_t from)
{
	struct aodv_route *route = route_get(core, rrep->destination);

	if (!route) {
		drop(core, AODV_DROP_FULL);
		return NULL;
	}
	if (!brings_news(route, rrep)) {
		drop(core, AODV_DROP_STALE);
		return NULL;
	}
	route->seq = rrep->destination_seq;
	route->seq_valid = true;
	route_activate(core, route, from, interface, rrep->hops,
		       core->now_ns + rrep->lifetime_ms * AODV_NS_PER_MS);
	return route;
}

static void forward_rrep(struct aodv_core *core, struct aodv_rrep *rrep,
			 struct aodv_route *forward)
{
	struct aodv_route *reverse = route_valid(core, rrep->originator);
	struct aodv_route *next_hop;

	if (core->now_ns < core->silent_until_ns) {
		drop(core, AODV_DROP_WAITING_AFTER_REBOOT);
		return;
	}
	if (!reverse) {
		drop(core, AODV_DROP_NO_REVERSE_ROUTE);
		return;
	}
	route_add_precursor(forward, reverse->next_hop);
	next_hop = route_find(core, forward->next_hop);
	if (next_hop)
		route_add_precursor(next_hop, reverse->next_hop);
	reverse->until_ns =
	    later(reverse->until_ns,
		  core->now_ns + core->config.active_route_timeout_ns);
	core->counts.rreps_forwarded++;
	send_rrep(core, rrep, reverse);
}

static void receive_reply(struct aodv_core *core, unsigned int interface,
			  uint32_t from, struct aodv_rrep *rrep)
{
	struct aodv_route *forward;

	if (rrep->ack_required && core->now_ns >= core->silent_until_ns)
		send_rrep_ack(core, interface, from);
	if (rrep->hops == UINT8_MAX) {
		drop(core, AODV_DROP_HOPS);
		return;
	}
	if (is_own(core, rrep->destination)) {
		drop(core, AODV_DROP_OWN);
		return;
	}
	rrep->hops++;
	forward = update_forward(core, rrep, interface, from);
	if (forward && !is_own(core, rrep->originator))
		forward_rrep(core, rrep, forward);
}

void receive_rrep(struct aodv_core *core, unsigned int interface, uint32_t from,
		  bool was_broadcast, const uint8_t *bytes, size_t length)
{
	struct aodv_route *neighbour;
	enum aodv_fault fault;
	struct aodv_rrep rrep;

	fault = aodv_parse_rrep(bytes, length, &rrep);
	if (fault != AODV_GOOD) {
		drop_fault(core, fault);
		return;
	}
	if (!is_unicast(rrep.destination) ||
	    (was_broadcast ? rrep.destination != from || rrep.hops != 0
			   : !is_unicast(rrep.originator))) {
		drop(core, AODV_DROP_ADDRESS);
		return;
	}
	if (rrep.prefix_bits) {
		drop(core, AODV_DROP_PREFIX);
		return;
	}
	neighbour = neighbour_heard(core, from, interface);
	if (!neighbour)
		drop(core, AODV_DROP_FULL);
	else if (was_broadcast)
		hello_arrived(core, neighbour, &rrep);
	else
		receive_reply(core, interface, from, &rrep);
}
