/* Messages out: at once or after a drawn delay, counted, and so many a s. */
#include "aodv_state.h"

#include <string.h>

void drop(struct aodv_core *core, enum aodv_drop why)
{
	core->counts.dropped[why]++;
}

void drop_fault(struct aodv_core *core, enum aodv_fault fault)
{
	static const enum aodv_drop drops[] = {
	    [AODV_TRUNCATED] = AODV_DROP_TRUNCATED,
	    [AODV_WRONG_LENGTH] = AODV_DROP_LENGTH,
	    [AODV_UNKNOWN_TYPE] = AODV_DROP_TYPE,
	    [AODV_UNKNOWN_EXTENSION] = AODV_DROP_EXTENSION,
	    [AODV_NO_DESTINATIONS] = AODV_DROP_NO_DESTINATIONS,
	};

	drop(core, drops[fault]);
}

/* SplitMix64: a whole number of ns from 0 up to, not including, below_ns. */
int64_t draw_ns(struct aodv_core *core, int64_t below_ns)
{
	uint64_t bits;

	if (below_ns <= 0)
		return 0;
	core->random += UINT64_C(0x9e3779b97f4a7c15);
	bits = core->random;
	bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
	bits ^= bits >> 31;
	return (int64_t)(bits % (uint64_t)below_ns);
}

int64_t limit_next_ns(const struct aodv_limit *limit, int64_t now_ns)
{
	if (limit->known < limit->per_s)
		return now_ns;
	/* at is where the oldest of the last per_s stands. */
	return limit->t_ns[limit->at] + AODV_NS_PER_S;
}

void limit_count(struct aodv_limit *limit, int64_t now_ns)
{
	limit->t_ns[limit->at] = now_ns;
	limit->at = (limit->at + 1) % limit->per_s;
	if (limit->known < limit->per_s)
		limit->known++;
}

static void count_sent(struct aodv_core *core, enum aodv_kind kind,
		       size_t length)
{
	core->counts.sent[kind]++;
	core->counts.sent_bytes[kind] += length;
}

void unicast(struct aodv_core *core, enum aodv_kind kind,
	     unsigned int interface, uint32_t to, const uint8_t *bytes,
	     size_t length)
{
	count_sent(core, kind, length);
	core->ops->send(core->ctx, interface, to,
			core->config.net_diameter_hops, bytes, length);
}

void broadcast(struct aodv_core *core, enum aodv_kind kind,
	       unsigned int interface, unsigned int ttl_hops,
	       const uint8_t *bytes, size_t length)
{
	core->last_broadcast_ns = core->now_ns;
	count_sent(core, kind, length);
	core->ops->send(core->ctx, interface, AODV_BROADCAST, ttl_hops, bytes,
			length);
}

/* Neighbours that heard the same must not all answer at once. */
void broadcast_later(struct aodv_core *core, enum aodv_kind kind,
		     unsigned int interface, unsigned int ttl_hops,
		     const uint8_t *bytes, size_t length)
{
	struct aodv_delayed *delayed;

	if (core->config.jitter_ns == 0) {
		broadcast(core, kind, interface, ttl_hops, bytes, length);
		return;
	}
	if (core->delayed == AODV_MOST_DELAYED) {
		drop(core, AODV_DROP_FULL);
		return;
	}
	delayed = &core->delayed_at[core->delayed++];
	delayed->due_ns = core->now_ns + draw_ns(core, core->config.jitter_ns);
	delayed->kind = kind;
	delayed->interface = interface;
	delayed->ttl_hops = ttl_hops;
	delayed->length = length;
	memcpy(delayed->bytes, bytes, length);
}

/*
 * What this node itself has to say goes out on its first interface at once and
 * on each other after a drawn delay: two radios of one place and one channel
 * that begin at one instant destroy each other's.
 */
void broadcast_own(struct aodv_core *core, enum aodv_kind kind,
		   unsigned int interface, unsigned int ttl_hops,
		   const uint8_t *bytes, size_t length)
{
	if (interface == 0)
		broadcast(core, kind, interface, ttl_hops, bytes, length);
	else
		broadcast_later(core, kind, interface, ttl_hops, bytes, length);
}

static struct aodv_delayed *first_delayed(struct aodv_core *core)
{
	struct aodv_delayed *first = NULL;

	for (unsigned int i = 0; i < core->delayed; i++)
		if (!first || core->delayed_at[i].due_ns < first->due_ns)
			first = &core->delayed_at[i];
	return first;
}

void delayed_advance(struct aodv_core *core)
{
	struct aodv_delayed *first;

	while ((first = first_delayed(core)) && first->due_ns <= core->now_ns) {
		broadcast(core, first->kind, first->interface, first->ttl_hops,
			  first->bytes, first->length);
		*first = core->delayed_at[--core->delayed];
	}
}

int64_t delayed_next_ns(const struct aodv_core *core)
{
	int64_t next_ns = AODV_NEVER_NS;

	for (unsigned int i = 0; i < core->delayed; i++)
		if (core->delayed_at[i].due_ns < next_ns)
			next_ns = core->delayed_at[i].due_ns;
	return next_ns;
}
