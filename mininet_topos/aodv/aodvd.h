/*
 * What the parts of the daemon share: its interfaces, its sockets, its
 * counts.
 *
 * Invariants: one thread that sleeps in ring_wait() until something arrives or
 * is due; nothing polls, so an idle daemon costs nothing in virtual time; what
 * it made (routes, the TUN device) is gone when it ends.
 */
#ifndef AODVD_H
#define AODVD_H

#include "aodv_core.h"
#include "probe_options.h"

#include <net/if.h>

/* An option of the daemon whose value is a whole number. */
#define COUNT(option, place, least, most, words)                               \
	{.name = option,                                                       \
	 .kind = OPTION_INTEGER,                                               \
	 .to.integer = place,                                                  \
	 .min = least,                                                         \
	 .max = most,                                                          \
	 .help = words}

struct aodvd_interface {
	char name[IFNAMSIZ];
	unsigned int index;
	uint32_t address;
	/* Port 654, bound to the interface. */
	int control_fd;
	/* Counts who uses which route; -1 without. */
	int usage_fd;
	/* The monitor interface on the same radio; -1 without. */
	int monitor_fd;
};

enum buffer_drop {
	BUFFER_DROP_FULL,
	BUFFER_DROP_AGE,
	BUFFER_DROP_NO_ROUTE,
	BUFFER_DROP_REPAIR_FAILED,
	BUFFER_DROP_TRANSIT,
	BUFFER_DROP_NOT_IPV4,
	BUFFER_DROP_SEND_ERROR,
	BUFFER_DROP_ENDED,
	BUFFER_DROPS,
};

struct aodvd_counts {
	uint64_t buffered;
	uint64_t reinjected;
	uint64_t salvaged;
	uint64_t unreachables_sent;
	uint64_t dropped[BUFFER_DROPS];
	uint64_t failed_frames;
	uint64_t control_send_errors;
	uint64_t route_changes;
	uint64_t usage_reads;
	uint64_t usage_flows;
	uint64_t requests_filtered;
	uint64_t wakeups;
};

struct aodvd {
	struct aodv_core *core;
	struct aodv_config config;
	/* Of what is being handled; the clock is a system call. */
	int64_t now_ns;
	unsigned int interfaces;
	struct aodvd_interface interface[AODV_MOST_INTERFACES];
	struct aodvd_counts counts;
	unsigned int tun_index;
	int tun_fd;
	int raw_fd;
	int route_fd;
	int neighbour_fd;
	int query_fd;
	int usage_map_fd;
};

extern struct aodvd aodvd;

/* aodvd_options.c */
void options_read(int argc, char **argv);
bool option_salvage(void);
bool option_host_unreachable(void);
const char *option_tun_name(void);
const char *option_events(void);
uint64_t option_route_metric(void);
/* 0: the main table, and packets without a mark. */
uint64_t option_table(void);
uint64_t option_buffer_packets(void);
uint64_t option_buffer_per_destination(void);
int64_t option_buffer_age_ns(void);
uint64_t option_ready_fd(void);
bool option_ready_is_set(void);
bool option_neighbour_table(void);
bool option_request_filter(void);

/* socket_filter.c */
struct sock_filter;
void filter_or_die(int fd, struct sock_filter *code, unsigned short steps);

/* control_socket.c */
int control_open(unsigned int at);
void control_send(unsigned int at, uint32_t to, unsigned int ttl_hops,
		  const uint8_t *bytes, size_t length);
void control_watch(unsigned int at, unsigned int tag);
struct ring_event;
void control_receive(unsigned int at, const struct ring_event *event);

/* kernel_routes.c */
void routes_open(void);
void routes_default_to_tun(void);
void routes_set(uint32_t destination, uint32_t next_hop, unsigned int at);
void routes_clear(uint32_t destination);
/* Dies when the kernel has refused a change; those asked for are done. */
void routes_check(void);
void routes_remove_all(void);
void neighbours_receive(void);
/* Who has this MAC address there; 0: nobody that is known. */
uint32_t neighbour_of_mac(unsigned int index, const uint8_t *mac);

/* route_metrics.c */
extern const struct probe_option route_metric_options[];
/* Writes the attribute of the metrics asked for; returns its bytes, or 0. */
uint32_t route_metrics_write(char *at);

/* packet_buffer.c */
void tun_open(void);
void tun_receive(void);
void buffer_release(uint32_t destination);
void buffer_give_up(uint32_t destination, bool repair);
/* A packet that was on its way and did not arrive. */
void buffer_salvage(const uint8_t *packet, size_t length);
void buffer_end(void);

/* usage_filter.c */
void usage_open(void);
void usage_read(void);

/* request_filter.c */
void requests_open(void);
/* false: there is no such filter. */
bool requests_attach(int fd, unsigned int interface);
/* When the latest message came, or what the clock says. */
int64_t requests_last_ns(void);
void requests_seen(uint32_t originator, uint32_t id, int64_t until_ns);
/* Counts what was filtered since the last time. */
void requests_count(void);
void neighbour_watch(uint32_t address, unsigned int interface);
void neighbour_unwatch(uint32_t address);
void neighbours_heard(void);

/* link_feedback.c */
int feedback_open(const char *monitor);
void feedback_receive(unsigned int at);

/* event_lines.c */
void events_open(void);
void events_write(void *ctx, const struct aodv_event *event);
void events_close(void);
void totals_write(void);

#endif
