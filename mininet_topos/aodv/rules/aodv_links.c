/* Neighbours: acknowledged replies, blacklist, hellos, lost links. */
#include "aodv_state.h"

static struct aodv_timed *find_timed(struct aodv_timed *list,
				     unsigned int count, uint32_t address)
{
	for (unsigned int i = 0; i < count; i++)
		if (list[i].address == address)
			return &list[i];
	return NULL;
}

static bool add_timed(struct aodv_timed *list, unsigned int *count,
		      uint32_t address, int64_t until_ns)
{
	struct aodv_timed *entry = find_timed(list, *count, address);

	if (!entry && *count == AODV_MOST_BLACKLISTED)
		return false;
	if (!entry)
		entry = &list[(*count)++];
	*entry = (struct aodv_timed){address, until_ns};
	return true;
}

bool is_blacklisted(const struct aodv_core *core, uint32_t neighbour)
{
	for (unsigned int i = 0; i < core->blacklisted; i++)
		if (core->blacklist[i].address == neighbour)
			return core->blacklist[i].until_ns > core->now_ns;
	return false;
}

static void blacklist(struct aodv_core *core, uint32_t neighbour)
{
	struct aodv_event event = {
	    .kind = AODV_LINK_BLACKLISTED,
	    .t_ns = core->now_ns,
	    .destination = neighbour,
	};

	for (unsigned int i = 0; i < core->blacklisted; i++)
		if (core->blacklist[i].until_ns <= core->now_ns)
			core->blacklist[i--] =
			    core->blacklist[--core->blacklisted];
	if (!add_timed(core->blacklist, &core->blacklisted, neighbour,
		       core->now_ns + core->config.blacklist_timeout_ns)) {
		drop(core, AODV_DROP_FULL);
		return;
	}
	core->ops->neighbour_unwatch(core->ctx, neighbour);
	core->counts.blacklistings++;
	core->ops->event(core->ctx, &event);
}

/* The first of several replies decides when an acknowledgement is overdue. */
void await_ack(struct aodv_core *core, uint32_t neighbour)
{
	if (find_timed(core->awaited_ack, core->awaited_acks, neighbour))
		return;
	if (!add_timed(core->awaited_ack, &core->awaited_acks, neighbour,
		       core->now_ns + core->config.next_hop_wait_ns))
		drop(core, AODV_DROP_FULL);
}

void ack_arrived(struct aodv_core *core, uint32_t neighbour)
{
	struct aodv_timed *awaited =
	    find_timed(core->awaited_ack, core->awaited_acks, neighbour);

	if (awaited)
		*awaited = core->awaited_ack[--core->awaited_acks];
}

void aodv_core_reply_failed(struct aodv_core *core, int64_t now_ns,
			    uint32_t neighbour)
{
	aodv_core_advance(core, now_ns);
	ack_arrived(core, neighbour);
	blacklist(core, neighbour);
}

/*
 * Section 6.9: a hello makes or prolongs the route. Its number is the latest,
 * unless a later one is known (section 6.1).
 */
void hello_arrived(struct aodv_core *core, struct aodv_route *neighbour,
		   const struct aodv_rrep *hello)
{
	int64_t interval_ns = core->config.hello_interval_ns, until_ns;

	if (hello->hello_interval_ms)
		interval_ns = hello->hello_interval_ms * AODV_NS_PER_MS;
	until_ns = core->now_ns + core->config.allowed_hello_loss * interval_ns;
	if (!neighbour->seq_valid ||
	    seq_newer(hello->destination_seq, neighbour->seq)) {
		neighbour->seq = hello->destination_seq;
		neighbour->seq_valid = true;
	}
	neighbour->until_ns = later(neighbour->until_ns, until_ns);
	if (core->config.hello)
		neighbour->hello_until_ns = until_ns;
}

/* Only who is part of an active route says hello. */
static bool is_part_of_a_route(struct aodv_core *core)
{
	int64_t since_ns = core->now_ns - core->config.active_route_timeout_ns;

	core->ops->read_usage(core->ctx);
	for (unsigned int i = 0; i < core->routes; i++) {
		const struct aodv_route *route = &core->route[i];

		if (route->valid &&
		    (route->precursors ||
		     (route->used_ns && route->used_ns > since_ns)))
			return true;
	}
	return false;
}

static void say_hello(struct aodv_core *core)
{
	for (unsigned int i = 0; i < core->config.interfaces; i++) {
		uint32_t own = core->config.interface[i].address;
		int64_t lifetime_ns = core->config.allowed_hello_loss *
				      core->config.hello_interval_ns;
		struct aodv_rrep hello = {
		    .destination = own,
		    .destination_seq = core->own_seq,
		    .originator = own,
		    .lifetime_ms = (uint32_t)(lifetime_ns / AODV_NS_PER_MS),
		    .hello_interval_ms =
			(uint32_t)(core->config.hello_interval_ns /
				   AODV_NS_PER_MS),
		};
		uint8_t bytes[AODV_MOST_BYTES];

		broadcast_own(core, AODV_KIND_HELLO, i, 1, bytes,
			      aodv_build_rrep(&hello, bytes));
	}
}

static void hellos_advance(struct aodv_core *core)
{
	int64_t interval_ns = core->config.hello_interval_ns;

	if (core->now_ns < core->next_hello_ns)
		return;
	if (core->now_ns - core->last_broadcast_ns >=
		interval_ns - core->config.jitter_ns &&
	    core->now_ns >= core->silent_until_ns && is_part_of_a_route(core))
		say_hello(core);
	core->next_hello_ns =
	    core->now_ns + interval_ns - draw_ns(core, core->config.jitter_ns);
}

void links_advance(struct aodv_core *core)
{
	for (unsigned int i = 0; i < core->awaited_acks; i++) {
		if (core->awaited_ack[i].until_ns > core->now_ns)
			continue;
		blacklist(core, core->awaited_ack[i].address);
		core->awaited_ack[i--] =
		    core->awaited_ack[--core->awaited_acks];
	}
	if (!core->config.hello)
		return;
	for (unsigned int i = 0; i < core->routes; i++) {
		const struct aodv_route *route = &core->route[i];

		if (!route->hello_until_ns ||
		    route->hello_until_ns > core->now_ns)
			continue;
		core->route[i].hello_until_ns = 0;
		link_lost(core, route->destination, AODV_CAUSE_HELLO, 0, 0);
	}
	hellos_advance(core);
}

int64_t links_next_ns(const struct aodv_core *core)
{
	int64_t next_ns = AODV_NEVER_NS;

	for (unsigned int i = 0; i < core->awaited_acks; i++)
		if (core->awaited_ack[i].until_ns < next_ns)
			next_ns = core->awaited_ack[i].until_ns;
	if (!core->config.hello)
		return next_ns;
	if (core->next_hello_ns < next_ns)
		next_ns = core->next_hello_ns;
	for (unsigned int i = 0; i < core->routes; i++)
		if (core->route[i].hello_until_ns &&
		    core->route[i].hello_until_ns < next_ns)
			next_ns = core->route[i].hello_until_ns;
	return next_ns;
}
