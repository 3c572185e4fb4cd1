/*
 * Drives the state machine without a network, for tests: one command a line
 * on stdin, what it does as JSON lines on stdout, "done" after each command.
 *
 *	NAME NUMBER			a member of struct aodv_config
 *	interface ADDRESS		one more interface
 *	start T
 *	receive T INTERFACE FROM BROADCAST TTL HEX
 *	want T SOURCE DESTINATION
 *	transit T SOURCE DESTINATION
 *	used T SOURCE DESTINATION	told when the machine asks next
 *	heard T NEIGHBOUR ORIGINATOR	a request that was seen; told next
 *	break T NEIGHBOUR CAUSE SOURCE DESTINATION
 *	reply_failed T NEIGHBOUR
 *	advance T
 *	route T DESTINATION
 *	own_seq T NUMBER
 *	counts T
 */
#include "aodv_core.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LINE_BYTES 9000
#define MOST_MESSAGE_BYTES 4096
#define MOST_USES 64

struct use {
	uint32_t source;
	uint32_t destination;
	int64_t t_ns;
};

static struct aodv_config config;
static struct aodv_core *core;
static struct use uses[MOST_USES];
static unsigned int uses_count;
/* What a filter kept from the machine: source is the neighbour. */
static struct use heard[MOST_USES];
static unsigned int heard_count;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "aodv_core_drive: wanted a command, got %s\n", what);
	exit(2);
}

static uint32_t address(const char *text)
{
	struct in_addr number;

	if (!text || inet_pton(AF_INET, text, &number) != 1)
		die(text ? text : "nothing");
	return ntohl(number.s_addr);
}

static const char *word(void)
{
	const char *next = strtok(NULL, " \n");

	if (!next)
		die("too few words");
	return next;
}

static int64_t number(void)
{
	return strtoll(word(), NULL, 10);
}

static void address_out(const char *key, uint32_t value)
{
	printf(",\"%s\":\"%u.%u.%u.%u\"", key, value >> 24, value >> 16 & 0xff,
	       value >> 8 & 0xff, value & 0xff);
}

static void op_send(void *ctx, unsigned int interface, uint32_t to,
		    unsigned int ttl_hops, const uint8_t *bytes, size_t length)
{
	(void)ctx;
	printf("{\"do\":\"send\",\"interface\":%u,\"ttl\":%u", interface,
	       ttl_hops);
	address_out("to", to);
	printf(",\"hex\":\"");
	for (size_t i = 0; i < length; i++)
		printf("%02x", bytes[i]);
	printf("\"}\n");
}

static void op_route_set(void *ctx, uint32_t destination, uint32_t next_hop,
			 unsigned int interface)
{
	(void)ctx;
	printf("{\"do\":\"route_set\",\"interface\":%u", interface);
	address_out("destination", destination);
	address_out("next_hop", next_hop);
	printf("}\n");
}

static void one_address(const char *what, uint32_t destination)
{
	printf("{\"do\":\"%s\"", what);
	address_out("destination", destination);
	printf("}\n");
}

static void op_route_clear(void *ctx, uint32_t destination)
{
	(void)ctx;
	one_address("route_clear", destination);
}

static void op_release(void *ctx, uint32_t destination)
{
	(void)ctx;
	one_address("release", destination);
}

static void op_give_up(void *ctx, uint32_t destination, bool repair)
{
	(void)ctx;
	one_address(repair ? "give_up_repair" : "give_up", destination);
}

static void op_read_usage(void *ctx)
{
	(void)ctx;
	for (unsigned int i = 0; i < uses_count; i++)
		aodv_core_used(core, uses[i].source, uses[i].destination,
			       uses[i].t_ns);
	uses_count = 0;
}

static void op_read_heard(void *ctx)
{
	(void)ctx;
	for (unsigned int i = 0; i < heard_count; i++)
		aodv_core_heard(core, heard[i].source, heard[i].t_ns);
	heard_count = 0;
}

static void op_request_seen(void *ctx, uint32_t originator, uint32_t id,
			    int64_t until_ns)
{
	(void)ctx;
	printf("{\"do\":\"seen\",\"id\":%" PRIu32 ",\"until_ns\":%" PRId64, id,
	       until_ns);
	address_out("originator", originator);
	printf("}\n");
}

static void op_neighbour_watch(void *ctx, uint32_t neighbour,
			       unsigned int interface)
{
	(void)ctx;
	(void)interface;
	one_address("watch", neighbour);
}

static void op_neighbour_unwatch(void *ctx, uint32_t neighbour)
{
	(void)ctx;
	one_address("unwatch", neighbour);
}

static void op_event(void *ctx, const struct aodv_event *event)
{
	(void)ctx;
	printf("{\"do\":\"event\",\"kind\":%d,\"t_ns\":%" PRId64
	       ",\"ttl\":%u,\"rreqs\":%u,\"duration_ns\":%" PRId64,
	       event->kind, event->t_ns, event->ttl_hops, event->rreqs,
	       event->duration_ns);
	address_out("destination", event->destination);
	printf("}\n");
}

static const struct aodv_ops ops = {
    .send = op_send,
    .route_set = op_route_set,
    .route_clear = op_route_clear,
    .release = op_release,
    .give_up = op_give_up,
    .read_usage = op_read_usage,
    .read_heard = op_read_heard,
    .request_seen = op_request_seen,
    .neighbour_watch = op_neighbour_watch,
    .neighbour_unwatch = op_neighbour_unwatch,
    .event = op_event,
};

#define MEMBER(name, type)                                                     \
	{#name, offsetof(struct aodv_config, name), sizeof(type)}

static const struct {
	const char *name;
	size_t offset;
	size_t bytes;
} members[] = {
    MEMBER(active_route_timeout_ns, int64_t),
    MEMBER(my_route_timeout_ns, int64_t),
    MEMBER(delete_period_ns, int64_t),
    MEMBER(node_traversal_ns, int64_t),
    MEMBER(net_traversal_ns, int64_t),
    MEMBER(path_discovery_ns, int64_t),
    MEMBER(blacklist_timeout_ns, int64_t),
    MEMBER(next_hop_wait_ns, int64_t),
    MEMBER(hello_interval_ns, int64_t),
    MEMBER(jitter_ns, int64_t),
    MEMBER(allowed_hello_loss, unsigned int),
    MEMBER(net_diameter_hops, unsigned int),
    MEMBER(rreq_retries, unsigned int),
    MEMBER(rreq_per_s, unsigned int),
    MEMBER(rerr_per_s, unsigned int),
    MEMBER(timeout_buffer_hops, unsigned int),
    MEMBER(ttl_start_hops, unsigned int),
    MEMBER(ttl_increment_hops, unsigned int),
    MEMBER(ttl_threshold_hops, unsigned int),
    MEMBER(local_add_ttl_hops, unsigned int),
    MEMBER(max_repair_ttl_hops, unsigned int),
    MEMBER(hello, bool),
    MEMBER(local_repair, bool),
    MEMBER(destination_only, bool),
    MEMBER(gratuitous, bool),
    MEMBER(ask_rrep_ack, bool),
    MEMBER(rebooted, bool),
    MEMBER(seed, uint64_t),
};

static bool set_member(const char *name)
{
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		char *place = (char *)&config + members[i].offset;
		int64_t value;
		unsigned int small;
		bool flag;

		if (strcmp(members[i].name, name) != 0)
			continue;
		value = number();
		small = (unsigned int)value;
		flag = value != 0;
		if (members[i].bytes == sizeof(value))
			memcpy(place, &value, sizeof(value));
		else if (members[i].bytes == sizeof(small))
			memcpy(place, &small, sizeof(small));
		else
			memcpy(place, &flag, sizeof(flag));
		return true;
	}
	return false;
}

static void receive(int64_t t_ns)
{
	unsigned int interface = (unsigned int)number();
	uint32_t from = address(word());
	bool broadcast = number() != 0;
	unsigned int ttl_hops = (unsigned int)number();
	const char *hex = word();
	size_t length = strcmp(hex, "-") == 0 ? 0 : strlen(hex) / 2;
	/* Exactly as long as the message: what is read beyond it is seen. */
	uint8_t *bytes = malloc(length ? length : 1);

	if (!bytes || length > MOST_MESSAGE_BYTES)
		die("a message too long");
	for (size_t i = 0; i < length; i++)
		if (sscanf(hex + 2 * i, "%2hhx", &bytes[i]) != 1)
			die(hex);
	aodv_core_receive(core, t_ns, interface, from, broadcast, ttl_hops,
			  bytes, length);
	free(bytes);
}

static void use(int64_t t_ns)
{
	if (uses_count == MOST_USES)
		die("too many uses");
	uses[uses_count].source = address(word());
	uses[uses_count].destination = address(word());
	uses[uses_count++].t_ns = t_ns;
}

static void hear(int64_t t_ns)
{
	if (heard_count == MOST_USES)
		die("too many requests");
	heard[heard_count].source = address(word());
	heard[heard_count++].t_ns = t_ns;
	aodv_core_requests_heard(core, address(word()), 1);
}

static void transit(int64_t t_ns)
{
	static const char *const verdicts[] = {"drop", "keep", "send"};
	uint32_t source = address(word()), destination = address(word());

	printf("{\"do\":\"verdict\",\"verdict\":\"%s\"}\n",
	       verdicts[aodv_core_transit(core, t_ns, source, destination)]);
}

static void route(void)
{
	struct aodv_route_view view;

	if (!aodv_core_route(core, address(word()), &view)) {
		printf("{\"do\":\"route\",\"known\":false}\n");
		return;
	}
	printf("{\"do\":\"route\",\"known\":true,\"interface\":%u,"
	       "\"seq\":%" PRIu32 ",\"seq_valid\":%d,\"valid\":%d,"
	       "\"repairable\":%d,\"hops\":%u,\"until_ns\":%" PRId64,
	       view.interface, view.seq, view.seq_valid, view.valid,
	       view.repairable, view.hops, view.until_ns);
	address_out("next_hop", view.next_hop);
	printf(",\"precursors\":[");
	for (unsigned int i = 0; i < view.precursors && i < 8; i++)
		printf("%s\"%u.%u.%u.%u\"", i ? "," : "",
		       view.precursor[i] >> 24, view.precursor[i] >> 16 & 0xff,
		       view.precursor[i] >> 8 & 0xff, view.precursor[i] & 0xff);
	printf("]}\n");
}

static void counts_out(void)
{
	const struct aodv_counts *counts = aodv_core_counts(core);

	printf("{\"do\":\"counts\",\"dropped\":[");
	for (unsigned int i = 0; i < AODV_DROPS; i++)
		printf("%s%" PRIu64, i ? "," : "", counts->dropped[i]);
	printf("],\"sent\":[");
	for (unsigned int i = 0; i < AODV_KINDS; i++)
		printf("%s%" PRIu64, i ? "," : "", counts->sent[i]);
	printf("],\"received\":[");
	for (unsigned int i = 0; i < AODV_KINDS; i++)
		printf("%s%" PRIu64, i ? "," : "", counts->received[i]);
	printf("],\"rerrs_suppressed\":%" PRIu64 ",\"rreqs_delayed\":%" PRIu64
	       ",\"blacklistings\":%" PRIu64 "}\n",
	       counts->rerrs_suppressed_by_limit,
	       counts->rreqs_delayed_by_limit, counts->blacklistings);
}

static void break_link(int64_t t_ns)
{
	uint32_t neighbour = address(word());
	enum aodv_cause cause = (enum aodv_cause)number();
	uint32_t source = address(word()), destination = address(word());

	aodv_core_link_broken(core, t_ns, neighbour, cause, source,
			      destination);
}

static void run_command(const char *name, int64_t t_ns)
{
	if (strcmp(name, "receive") == 0) {
		receive(t_ns);
	} else if (strcmp(name, "want") == 0) {
		uint32_t source = address(word());

		aodv_core_want_route(core, t_ns, source, address(word()));
	} else if (strcmp(name, "transit") == 0) {
		transit(t_ns);
	} else if (strcmp(name, "used") == 0) {
		use(t_ns);
	} else if (strcmp(name, "heard") == 0) {
		hear(t_ns);
	} else if (strcmp(name, "break") == 0) {
		break_link(t_ns);
	} else if (strcmp(name, "reply_failed") == 0) {
		aodv_core_reply_failed(core, t_ns, address(word()));
	} else if (strcmp(name, "advance") == 0) {
		aodv_core_advance(core, t_ns);
	} else if (strcmp(name, "route") == 0) {
		route();
	} else if (strcmp(name, "own_seq") == 0) {
		aodv_core_set_own_seq(core, (uint32_t)number());
	} else if (strcmp(name, "counts") == 0) {
		counts_out();
	} else {
		die(name);
	}
}

static void obey(char *line)
{
	const char *name = strtok(line, " \n");

	if (!name)
		die("an empty line");
	if (strcmp(name, "interface") == 0) {
		if (config.interfaces == AODV_MOST_INTERFACES)
			die("one interface too many");
		config.interface[config.interfaces++].address = address(word());
	} else if (strcmp(name, "other") == 0) {
		if (config.others == AODV_MOST_INTERFACES)
			die("one address too many");
		config.other[config.others++] = address(word());
	} else if (strcmp(name, "start") == 0) {
		core = aodv_core_new(&config, &ops, NULL, number());
		if (!core)
			die("no memory");
	} else if (core) {
		run_command(name, number());
	} else if (!set_member(name)) {
		die(name);
	}
}

int main(void)
{
	static char line[MOST_LINE_BYTES];

	while (fgets(line, sizeof(line), stdin)) {
		obey(line);
		if (!core)
			continue;
		printf("{\"do\":\"done\",\"next_ns\":%" PRId64
		       ",\"own_seq\":%" PRIu32 "}\n",
		       aodv_core_next_ns(core), aodv_core_own_seq(core));
		fflush(stdout);
	}
	if (core)
		aodv_core_free(core);
	return 0;
}
