/*
 * AODV (RFC 3561) as a state machine: events go in with their time, what is
 * to be done comes out through struct aodv_ops.
 *
 * Invariants: no I/O, no clock and no randomness of its own (times are given,
 * jitter comes from a seeded generator), so equal events give equal actions
 * to the byte; addresses are in host order, times CLOCK_MONOTONIC in
 * nanoseconds and never decreasing; every table has a bound, so that no
 * neighbour can make it grow without end.
 */
#ifndef AODV_CORE_H
#define AODV_CORE_H

#include "aodv_packet.h"

#define AODV_BROADCAST UINT32_MAX
#define AODV_NEVER_NS INT64_MAX
#define AODV_MOST_INTERFACES 8
#define AODV_MOST_ROUTES 1024
#define AODV_MOST_SEEN 4096
#define AODV_MOST_BLACKLISTED 256
#define AODV_MOST_DISCOVERIES 256
#define AODV_MOST_DELAYED 256
#define AODV_MOST_PER_S 1000
/* More than a message carries, extensions of somebody else's included. */
#define AODV_MOST_RREQ_BYTES 256

struct aodv_interface {
	uint32_t address;
};

/* Section 10, in nanoseconds and plain numbers. */
struct aodv_config {
	unsigned int interfaces;
	struct aodv_interface interface[AODV_MOST_INTERFACES];
	/* Addresses of this node that another router on it has. */
	unsigned int others;
	uint32_t other[AODV_MOST_INTERFACES];
	int64_t active_route_timeout_ns;
	int64_t my_route_timeout_ns;
	int64_t delete_period_ns;
	int64_t node_traversal_ns;
	int64_t net_traversal_ns;
	int64_t path_discovery_ns;
	int64_t blacklist_timeout_ns;
	int64_t next_hop_wait_ns;
	int64_t hello_interval_ns;
	/* Broadcasts that answer another wait up to so long. */
	int64_t jitter_ns;
	unsigned int allowed_hello_loss;
	unsigned int net_diameter_hops;
	unsigned int rreq_retries;
	unsigned int rreq_per_s;
	unsigned int rerr_per_s;
	unsigned int timeout_buffer_hops;
	unsigned int ttl_start_hops;
	unsigned int ttl_increment_hops;
	unsigned int ttl_threshold_hops;
	unsigned int local_add_ttl_hops;
	unsigned int max_repair_ttl_hops;
	bool hello;
	bool local_repair;
	bool destination_only;
	bool gratuitous;
	bool ask_rrep_ack;
	bool rebooted;
	uint64_t seed;
};

enum aodv_drop {
	AODV_DROP_TRUNCATED,
	AODV_DROP_LENGTH,
	AODV_DROP_TYPE,
	AODV_DROP_EXTENSION,
	AODV_DROP_NO_DESTINATIONS,
	AODV_DROP_HOPS,
	AODV_DROP_ADDRESS,
	AODV_DROP_PREFIX,
	AODV_DROP_DUPLICATE,
	AODV_DROP_OWN,
	AODV_DROP_BLACKLISTED,
	AODV_DROP_TTL,
	AODV_DROP_NO_REVERSE_ROUTE,
	AODV_DROP_STALE,
	AODV_DROP_WAITING_AFTER_REBOOT,
	AODV_DROP_FULL,
	AODV_DROPS,
};

/* As what a message is counted: hellos apart from other replies. */
enum aodv_kind {
	AODV_KIND_RREQ,
	AODV_KIND_RREP,
	AODV_KIND_RERR,
	AODV_KIND_RREP_ACK,
	AODV_KIND_HELLO,
	AODV_KINDS,
};

enum aodv_cause {
	AODV_CAUSE_FEEDBACK,
	AODV_CAUSE_NEIGHBOUR_TABLE,
	AODV_CAUSE_HELLO,
	AODV_CAUSES,
};

enum aodv_event_kind {
	AODV_ROUTE_ADDED,
	AODV_ROUTE_CHANGED,
	AODV_ROUTE_BROKEN,
	AODV_ROUTE_EXPIRED,
	AODV_ROUTE_DELETED,
	AODV_DISCOVERY_STARTED,
	AODV_DISCOVERY_RING,
	AODV_DISCOVERY_FOUND,
	AODV_DISCOVERY_FAILED,
	AODV_RERR_SENT,
	AODV_LINK_BROKEN,
	AODV_LINK_BLACKLISTED,
	AODV_EVENTS,
};

struct aodv_event {
	enum aodv_event_kind kind;
	int64_t t_ns;
	uint32_t destination;
	uint32_t next_hop;
	unsigned int hops;
	uint32_t seq;
	bool seq_valid;
	bool repair;
	unsigned int ttl_hops;
	/* Of a discovery so far. */
	int64_t duration_ns;
	unsigned int rreqs;
	unsigned int destinations;
	enum aodv_cause cause;
	bool broadcast;
};

struct aodv_counts {
	uint64_t sent[AODV_KINDS];
	uint64_t sent_bytes[AODV_KINDS];
	uint64_t received[AODV_KINDS];
	uint64_t received_bytes[AODV_KINDS];
	uint64_t dropped[AODV_DROPS];
	uint64_t rreqs_originated;
	uint64_t rreqs_forwarded;
	uint64_t rreqs_delayed_by_limit;
	uint64_t rreps_as_destination;
	uint64_t rreps_as_intermediate;
	uint64_t rreps_gratuitous;
	uint64_t rreps_forwarded;
	uint64_t rerrs_suppressed_by_limit;
	uint64_t discoveries_started;
	uint64_t discoveries_found;
	uint64_t discoveries_failed;
	uint64_t repairs_started;
	uint64_t repairs_found;
	uint64_t repairs_failed;
	uint64_t link_breaks[AODV_CAUSES];
	uint64_t routes_broken;
	uint64_t routes_expired;
	uint64_t blacklistings;
};

/* What the state machine has done for it; all are needed. */
struct aodv_ops {
	/* to is a neighbour or AODV_BROADCAST. */
	void (*send)(void *ctx, unsigned int interface, uint32_t to,
		     unsigned int ttl_hops, const uint8_t *bytes,
		     size_t length);
	void (*route_set)(void *ctx, uint32_t destination, uint32_t next_hop,
			  unsigned int interface);
	void (*route_clear)(void *ctx, uint32_t destination);
	/* What waits for the destination can go, or never will. */
	void (*release)(void *ctx, uint32_t destination);
	void (*give_up)(void *ctx, uint32_t destination, bool repair);
	/* Calls aodv_core_used() for all traffic since the last time. */
	void (*read_usage)(void *ctx);
	/*
	 * What requests_seen and neighbour_watch allowed to be kept from the
	 * state machine, told by aodv_core_heard(); asked before all else.
	 */
	void (*read_heard)(void *ctx);
	/*
	 * Till then this request says only that who sent it is there; and that
	 * does no more than prolong the route to a neighbour that is watched.
	 */
	void (*request_seen)(void *ctx, uint32_t originator, uint32_t id,
			     int64_t until_ns);
	void (*neighbour_watch)(void *ctx, uint32_t neighbour,
				unsigned int interface);
	void (*neighbour_unwatch)(void *ctx, uint32_t neighbour);
	void (*event)(void *ctx, const struct aodv_event *event);
};

struct aodv_core;

struct aodv_core *aodv_core_new(const struct aodv_config *config,
				const struct aodv_ops *ops, void *ctx,
				int64_t now_ns);
void aodv_core_free(struct aodv_core *core);
const struct aodv_counts *aodv_core_counts(const struct aodv_core *core);

/* A message on UDP port 654; ttl_hops as the IP header had it on arrival. */
void aodv_core_receive(struct aodv_core *core, int64_t now_ns,
		       unsigned int interface, uint32_t from, bool broadcast,
		       unsigned int ttl_hops, const uint8_t *bytes,
		       size_t length);
/* This node sends to destination and has no route; the packet is kept. */
void aodv_core_want_route(struct aodv_core *core, int64_t now_ns,
			  uint32_t source, uint32_t destination);
/* What becomes of a packet of another node's that has no route here. */
enum aodv_verdict {
	AODV_DROP_IT,
	/* The route is being repaired. */
	AODV_KEEP_IT,
	/* The route came up meanwhile. */
	AODV_SEND_IT,
};
enum aodv_verdict aodv_core_transit(struct aodv_core *core, int64_t now_ns,
				    uint32_t source, uint32_t destination);
/* A packet took the route at that time; only from within read_usage(). */
void aodv_core_used(struct aodv_core *core, uint32_t source,
		    uint32_t destination, int64_t t_ns);
/* A watched neighbour sent a request that was seen; from read_heard(). */
void aodv_core_heard(struct aodv_core *core, uint32_t neighbour, int64_t t_ns);
/* So many of them were the originator's; only they are counted here. */
void aodv_core_requests_heard(struct aodv_core *core, uint32_t originator,
			      uint64_t requests);
/*
 * No frame reaches the neighbour any more. The packet that showed it went
 * from source to destination, both 0 if there was none.
 */
void aodv_core_link_broken(struct aodv_core *core, int64_t now_ns,
			   uint32_t neighbour, enum aodv_cause cause,
			   uint32_t source, uint32_t destination);
/* A route reply did not reach the neighbour (section 6.8). */
void aodv_core_reply_failed(struct aodv_core *core, int64_t now_ns,
			    uint32_t neighbour);
/* Does what is due; AODV_NEVER_NS when nothing ever will be. */
void aodv_core_advance(struct aodv_core *core, int64_t now_ns);
int64_t aodv_core_next_ns(const struct aodv_core *core);

/* What a route entry says, for tests and reports; false: there is none. */
struct aodv_route_view {
	uint32_t next_hop;
	unsigned int interface;
	uint32_t seq;
	bool seq_valid;
	bool valid;
	bool repairable;
	unsigned int hops;
	int64_t until_ns;
	unsigned int precursors;
	uint32_t precursor[8];
};
bool aodv_core_route(const struct aodv_core *core, uint32_t destination,
		     struct aodv_route_view *view);
uint32_t aodv_core_own_seq(const struct aodv_core *core);
/* For tests: the own sequence number as it would be after a long time. */
void aodv_core_set_own_seq(struct aodv_core *core, uint32_t seq);

#endif
