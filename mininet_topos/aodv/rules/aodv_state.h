/*
 * What the parts of the state machine share; nobody else includes it.
 *
 * Invariants: a valid route has a next hop and is in the kernel, an invalid
 * one is not; a route's until_ns is when it expires while it is valid and
 * when it is deleted once it is not (section 6.11); only route_activate()
 * and route_invalidate() change which it is.
 */
#ifndef AODV_STATE_H
#define AODV_STATE_H

#include "aodv_core.h"

#define AODV_NS_PER_S INT64_C(1000000000)
#define AODV_NS_PER_MS INT64_C(1000000)
#define AODV_MOST_PRECURSORS 64

struct aodv_route {
	uint32_t destination;
	uint32_t next_hop;
	unsigned int interface;
	uint32_t seq;
	bool seq_valid;
	bool valid;
	bool repairable;
	unsigned int hops;
	int64_t until_ns;
	/* When it carried a packet last; 0: never. */
	int64_t used_ns;
	/* Till when a neighbour that said hello must be heard again; 0: none.
	 */
	int64_t hello_until_ns;
	int64_t repairable_until_ns;
	unsigned int precursors;
	uint32_t precursor[AODV_MOST_PRECURSORS];
};

struct aodv_seen {
	uint32_t originator;
	uint32_t id;
	int64_t until_ns;
};

struct aodv_timed {
	uint32_t address;
	int64_t until_ns;
};

struct aodv_discovery {
	uint32_t destination;
	uint32_t source;
	/* A local repair (section 6.12), and how far away it was before. */
	bool repair;
	unsigned int hops_before;
	unsigned int ttl_hops;
	/* How many were sent, and how many of them to the whole network. */
	unsigned int rreqs;
	unsigned int full_rreqs;
	int64_t wait_ns;
	int64_t started_ns;
	/* The end of the wait, or when the next may be sent. */
	int64_t due_ns;
	bool awaiting_limit;
};

struct aodv_delayed {
	int64_t due_ns;
	enum aodv_kind kind;
	unsigned int interface;
	unsigned int ttl_hops;
	size_t length;
	uint8_t bytes[AODV_MOST_BYTES];
};

/* The times of the last so many that were allowed. */
struct aodv_limit {
	unsigned int per_s;
	unsigned int at;
	unsigned int known;
	int64_t t_ns[AODV_MOST_PER_S];
};

struct aodv_core {
	struct aodv_config config;
	const struct aodv_ops *ops;
	void *ctx;
	int64_t now_ns;
	uint64_t random;
	uint32_t own_seq;
	uint32_t rreq_id;
	/* Section 6.13; 0 when the node may take part. */
	int64_t silent_until_ns;
	int64_t next_hello_ns;
	int64_t last_broadcast_ns;
	unsigned int routes;
	unsigned int seen;
	unsigned int seen_next;
	unsigned int blacklisted;
	unsigned int awaited_acks;
	unsigned int discoveries;
	unsigned int delayed;
	struct aodv_route route[AODV_MOST_ROUTES];
	struct aodv_seen seen_at[AODV_MOST_SEEN];
	struct aodv_timed blacklist[AODV_MOST_BLACKLISTED];
	struct aodv_timed awaited_ack[AODV_MOST_BLACKLISTED];
	struct aodv_discovery discovery[AODV_MOST_DISCOVERIES];
	struct aodv_delayed delayed_at[AODV_MOST_DELAYED];
	struct aodv_limit rreq_limit;
	struct aodv_limit rerr_limit;
	struct aodv_counts counts;
};

/* Signed 32-bit comparison (section 6.1). */
static inline bool seq_newer(uint32_t one, uint32_t other)
{
	return (int32_t)(one - other) > 0;
}

static inline int64_t later(int64_t one, int64_t other)
{
	return one > other ? one : other;
}

/* aodv_table.c */
bool is_own(const struct aodv_core *core, uint32_t address);
/* Whether another router on this node has the address. */
bool is_of_another(const struct aodv_core *core, uint32_t address);
bool is_unicast(uint32_t address);
struct aodv_route *route_find(struct aodv_core *core, uint32_t destination);
struct aodv_route *route_valid(struct aodv_core *core, uint32_t destination);
/* NULL when the table is full of valid routes. */
struct aodv_route *route_get(struct aodv_core *core, uint32_t destination);
struct aodv_unreachable unreachable_of(const struct aodv_route *route);
void route_delete(struct aodv_core *core, struct aodv_route *route);
void route_activate(struct aodv_core *core, struct aodv_route *route,
		    uint32_t next_hop, unsigned int interface,
		    unsigned int hops, int64_t until_ns);
void route_invalidate(struct aodv_core *core, struct aodv_route *route,
		      enum aodv_event_kind why);
void route_add_precursor(struct aodv_route *route, uint32_t neighbour);
struct aodv_route *neighbour_heard(struct aodv_core *core, uint32_t neighbour,
				   unsigned int interface);
void event_of_route(struct aodv_core *core, enum aodv_event_kind kind,
		    const struct aodv_route *route);
bool rreq_seen(struct aodv_core *core, uint32_t originator, uint32_t id);
void rreq_remember(struct aodv_core *core, uint32_t originator, uint32_t id);

/* aodv_links.c */
bool is_blacklisted(const struct aodv_core *core, uint32_t neighbour);
void await_ack(struct aodv_core *core, uint32_t neighbour);
void ack_arrived(struct aodv_core *core, uint32_t neighbour);
void links_advance(struct aodv_core *core);
int64_t links_next_ns(const struct aodv_core *core);
void hello_arrived(struct aodv_core *core, struct aodv_route *neighbour,
		   const struct aodv_rrep *hello);

/* aodv_send.c */
void drop(struct aodv_core *core, enum aodv_drop why);
void drop_fault(struct aodv_core *core, enum aodv_fault fault);
int64_t draw_ns(struct aodv_core *core, int64_t below_ns);
/* When the next is allowed; not later than now: go on. */
int64_t limit_next_ns(const struct aodv_limit *limit, int64_t now_ns);
void limit_count(struct aodv_limit *limit, int64_t now_ns);
void unicast(struct aodv_core *core, enum aodv_kind kind,
	     unsigned int interface, uint32_t to, const uint8_t *bytes,
	     size_t length);
void broadcast(struct aodv_core *core, enum aodv_kind kind,
	       unsigned int interface, unsigned int ttl_hops,
	       const uint8_t *bytes, size_t length);
void broadcast_own(struct aodv_core *core, enum aodv_kind kind,
		   unsigned int interface, unsigned int ttl_hops,
		   const uint8_t *bytes, size_t length);
void broadcast_later(struct aodv_core *core, enum aodv_kind kind,
		     unsigned int interface, unsigned int ttl_hops,
		     const uint8_t *bytes, size_t length);
void delayed_advance(struct aodv_core *core);
int64_t delayed_next_ns(const struct aodv_core *core);

/* aodv_rreq.c, aodv_rrep.c, aodv_rerr.c */
void receive_rreq(struct aodv_core *core, unsigned int interface, uint32_t from,
		  unsigned int ttl_hops, const uint8_t *bytes, size_t length);
void receive_rrep(struct aodv_core *core, unsigned int interface, uint32_t from,
		  bool was_broadcast, const uint8_t *bytes, size_t length);
void send_rrep(struct aodv_core *core, struct aodv_rrep *rrep,
	       const struct aodv_route *towards);
void receive_rerr(struct aodv_core *core, uint32_t from, const uint8_t *bytes,
		  size_t length);
/* Sends what is named in rerr to the precursors of each. */
void send_rerr(struct aodv_core *core, const struct aodv_rerr *rerr);
void link_lost(struct aodv_core *core, uint32_t neighbour,
	       enum aodv_cause cause, uint32_t source, uint32_t destination);
void send_rerr_for_packet(struct aodv_core *core, uint32_t source,
			  uint32_t destination);
void rerr_without_repair(struct aodv_core *core, uint32_t destination);
void rerr_longer_way(struct aodv_core *core, const struct aodv_route *route);

/* aodv_discovery.c */
struct aodv_discovery *discovery_find(struct aodv_core *core,
				      uint32_t destination);
bool repair_start(struct aodv_core *core, struct aodv_route *route,
		  uint32_t source);
/* A route became valid: what waits for it can go. */
void discovery_route_up(struct aodv_core *core, struct aodv_route *route);
void discoveries_advance(struct aodv_core *core);
int64_t discoveries_next_ns(const struct aodv_core *core);

#endif
