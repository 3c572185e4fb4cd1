/* The daemon's options, and RFC 3561's parameters (section 10) of them. */
#include "aodvd.h"
#include "probe_json.h"
#include "probe_options.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define MOST_S (1000000 * (uint64_t)NS_PER_S)

static const char *interface_names, *monitor_names, *other_addresses;
static const char *tun_name = "aodv0", *events_file;
static bool hello, local_repair, destination_only, gratuitous, rrep_ack,
    rebooted, salvage, host_unreachable, no_neighbour_table, no_request_filter;
static struct probe_seconds active_route_timeout, my_route_timeout,
    delete_period, blacklist_timeout, net_traversal;
static struct probe_seconds node_traversal = {true, 40 * NS_PER_MS},
			    hello_interval = {true, NS_PER_S},
			    jitter = {true, 10 * NS_PER_MS},
			    buffer_age = {true, 30 * NS_PER_S};
static struct probe_integer allowed_hello_loss = {true, 2},
			    net_diameter = {true, 35}, rreq_retries = {true, 2},
			    rreq_limit = {true, 10}, rerr_limit = {true, 10},
			    timeout_buffer = {true, 2}, ttl_start,
			    ttl_increment = {true, 2},
			    ttl_threshold = {true, 7},
			    local_add_ttl = {true, 2}, max_repair_ttl,
			    route_metric = {true, 4096},
			    buffer_packets = {true, 64}, per_destination, table,
			    seed = {true, 1}, ready_fd;

#define SECONDS(option, place, least, words)                                   \
	{.name = option,                                                       \
	 .kind = OPTION_SECONDS,                                               \
	 .to.seconds = place,                                                  \
	 .min = least,                                                         \
	 .max = MOST_S,                                                        \
	 .help = words}
#define FLAG(option, place, words)                                             \
	{.name = option, .kind = OPTION_FLAG, .to.flag = place, .help = words}
#define WORD(option, place, words)                                             \
	{.name = option, .kind = OPTION_TEXT, .to.text = place, .help = words}

static const struct probe_option protocol_options[] = {
    SECONDS("active-route-timeout-s", &active_route_timeout, 1,
	    "3 s; 10 s with --monitors, as section 10 asks"),
    SECONDS("my-route-timeout-s", &my_route_timeout, 1,
	    "2 * active route timeout, and no less than\n      "
	    "2 * path discovery time"),
    SECONDS("delete-period-s", &delete_period, 1,
	    "5 * the longer of active route timeout and hello interval"),
    SECONDS("node-traversal-s", &node_traversal, 1000000, "of one hop"),
    SECONDS("net-traversal-s", &net_traversal, 1000000,
	    "2 * node traversal * net diameter"),
    SECONDS("blacklist-timeout-s", &blacklist_timeout, 1,
	    "what a search may take, by section 10"),
    COUNT("net-diameter-hops", &net_diameter, 1, 255, "TTL of a full search"),
    COUNT("rreq-retries", &rreq_retries, 0, 16, "of a full search"),
    COUNT("rreq-limit-per-s", &rreq_limit, 1, AODV_MOST_PER_S,
	  "requests of its own"),
    COUNT("rerr-limit-per-s", &rerr_limit, 1, AODV_MOST_PER_S, "errors sent"),
    COUNT("timeout-buffer-hops", &timeout_buffer, 0, 255,
	  "hops that a ring's time is longer"),
    COUNT("ttl-start-hops", &ttl_start, 1, 255,
	  "first ring; 1, or 2 with "
	  "--hello"),
    COUNT("ttl-increment-hops", &ttl_increment, 1, 255, "from ring to ring"),
    COUNT("ttl-threshold-hops", &ttl_threshold, 0, 255, "the last ring"),
    FLAG("destination-only", &destination_only, "only it may answer (D flag)"),
    FLAG("gratuitous", &gratuitous, "tell it the way back (G flag)"),
    FLAG("rrep-ack", &rrep_ack, "replies ask for acknowledgement (A flag)"),
    FLAG("rebooted", &rebooted, "begin as section 6.13 says"),
    FLAG("local-repair", &local_repair, "section 6.12"),
    COUNT("local-add-ttl-hops", &local_add_ttl, 0, 255, "to a repair's ring"),
    COUNT("max-repair-ttl-hops", &max_repair_ttl, 0, 255, "0.3 * net diameter"),
    FLAG("hello", &hello, "say hello, and miss it (section 6.9)"),
    SECONDS("hello-interval-s", &hello_interval, 1000000, "between hellos"),
    COUNT("allowed-hello-loss", &allowed_hello_loss, 1, 255,
	  "hellos that may be missed"),
    {0},
};

static const struct probe_option daemon_options[] = {
    {.name = "interfaces",
     .kind = OPTION_TEXT,
     .required = true,
     .to.text = &interface_names,
     .help = "names with commas between them; the first one's address is\n"
	     "      the source of what nobody bound"},
    WORD("monitors", &monitor_names,
	 "monitor interfaces on the same radios, in the same order: link\n"
	 "      breaks are learnt from frames without acknowledgement"),
    FLAG("no-neighbour-table", &no_neighbour_table,
	 "do not take failed address resolution for a link break"),
    FLAG("no-request-filter", &no_request_filter,
	 "wake up for requests that were heard before, too"),
    WORD("tun", &tun_name,
	 "name of the device that what has no route goes "
	 "to"),
    COUNT("route-metric", &route_metric, 0, UINT32_MAX,
	  "of the default route to it"),
    COUNT("table", &table, 1, 252,
	  "of the routes, and the mark of packets that waited for one: a\n"
	  "      rule must lead both there; without, the main table"),
    WORD("other-addresses", &other_addresses,
	 "of this node, with commas: another daemon routes for them, and\n"
	 "      requests that begin or end there are not passed on"),
    COUNT("buffer-packets", &buffer_packets, 1, 100000,
	  "that may wait in all; the oldest goes first"),
    COUNT("buffer-packets-per-destination", &per_destination, 1, 100000,
	  "as many as in all"),
    SECONDS("buffer-age-s", &buffer_age, 1, "after which one is dropped"),
    FLAG("salvage", &salvage, "look for another route for a frame that failed"),
    FLAG("host-unreachable", &host_unreachable,
	 "send ICMP to who waits for a route that was not found"),
    SECONDS("jitter-s", &jitter, 0, "forwarded broadcasts wait up to so long"),
    COUNT("seed", &seed, 0, UINT64_MAX, "of the jitter"),
    WORD("events", &events_file, "file for JSON lines of what happens"),
    COUNT("ready-fd", &ready_fd, 3, 1000000, "gets one byte when ready"),
    {0},
};

static const struct probe_options options = {
    "Routes packets between nodes as AODV (RFC 3561) does.",
    {daemon_options, protocol_options, route_metric_options},
};

static void seconds_default(struct probe_seconds *option, int64_t ns)
{
	if (!option->is_set)
		*option = (struct probe_seconds){true, ns};
}

static void count_default(struct probe_integer *option, uint64_t value)
{
	if (!option->is_set)
		*option = (struct probe_integer){true, value};
}

/* What section 10 computes from other parameters. */
static void resolve(void)
{
	int64_t rings, path_discovery_ns, longer_ns;

	seconds_default(&active_route_timeout,
			(monitor_names ? 10 : 3) * NS_PER_S);
	count_default(&ttl_start, hello ? 2 : 1);
	count_default(&max_repair_ttl, net_diameter.value * 3 / 10);
	count_default(&per_destination, buffer_packets.value);
	seconds_default(&net_traversal,
			2 * node_traversal.ns * (int64_t)net_diameter.value);
	path_discovery_ns = 2 * net_traversal.ns;
	longer_ns = 2 * active_route_timeout.ns;
	if (longer_ns < 2 * path_discovery_ns)
		longer_ns = 2 * path_discovery_ns;
	seconds_default(&my_route_timeout, longer_ns);
	longer_ns = active_route_timeout.ns;
	if (longer_ns < hello_interval.ns)
		longer_ns = hello_interval.ns;
	seconds_default(&delete_period, 5 * longer_ns);
	rings = ttl_threshold.value > ttl_start.value
		    ? (int64_t)((ttl_threshold.value - ttl_start.value) /
				ttl_increment.value)
		    : 0;
	seconds_default(&blacklist_timeout,
			(rings + 1 + (int64_t)rreq_retries.value) *
			    net_traversal.ns);
}

static void check(void)
{
	if (my_route_timeout.ns < 4 * net_traversal.ns)
		die_usage("--my-route-timeout-s",
			  "at least 4 * net traversal (section 10)", "less");
	if (hello && active_route_timeout.ns <=
			 (int64_t)allowed_hello_loss.value * hello_interval.ns)
		die_usage("--active-route-timeout-s",
			  "more than allowed hello loss * hello interval "
			  "(section 10)",
			  "less");
	if (my_route_timeout.ns / NS_PER_MS > UINT32_MAX)
		die_usage("--my-route-timeout-s", "32 bits of ms", "more");
}

static void config_fill(struct aodv_config *config)
{
	*config = (struct aodv_config){
	    .active_route_timeout_ns = active_route_timeout.ns,
	    .my_route_timeout_ns = my_route_timeout.ns,
	    .delete_period_ns = delete_period.ns,
	    .node_traversal_ns = node_traversal.ns,
	    .net_traversal_ns = net_traversal.ns,
	    .path_discovery_ns = 2 * net_traversal.ns,
	    .blacklist_timeout_ns = blacklist_timeout.ns,
	    .next_hop_wait_ns = node_traversal.ns + 10 * NS_PER_MS,
	    .hello_interval_ns = hello_interval.ns,
	    .jitter_ns = jitter.ns,
	    .allowed_hello_loss = (unsigned int)allowed_hello_loss.value,
	    .net_diameter_hops = (unsigned int)net_diameter.value,
	    .rreq_retries = (unsigned int)rreq_retries.value,
	    .rreq_per_s = (unsigned int)rreq_limit.value,
	    .rerr_per_s = (unsigned int)rerr_limit.value,
	    .timeout_buffer_hops = (unsigned int)timeout_buffer.value,
	    .ttl_start_hops = (unsigned int)ttl_start.value,
	    .ttl_increment_hops = (unsigned int)ttl_increment.value,
	    .ttl_threshold_hops = (unsigned int)ttl_threshold.value,
	    .local_add_ttl_hops = (unsigned int)local_add_ttl.value,
	    .max_repair_ttl_hops = (unsigned int)max_repair_ttl.value,
	    .hello = hello,
	    .local_repair = local_repair,
	    .destination_only = destination_only,
	    .gratuitous = gratuitous,
	    .ask_rrep_ack = rrep_ack,
	    .rebooted = rebooted,
	    .seed = seed.value,
	};
}

/* Takes the next name off a list with commas; false at its end. */
static bool next_name(const char **list, char *name)
{
	size_t length = strcspn(*list, ",");

	if (length == 0)
		return false;
	if (length >= IFNAMSIZ)
		die_usage("--interfaces, --monitors, --other-addresses",
			  "words of at most 15 letters", *list);
	memcpy(name, *list, length);
	name[length] = '\0';
	*list += length + ((*list)[length] == ',');
	return true;
}

static void others_find(void)
{
	const char *list = other_addresses;
	char name[IFNAMSIZ];
	struct in_addr address;

	while (list && next_name(&list, name)) {
		if (aodvd.config.others == AODV_MOST_INTERFACES)
			die_usage("--other-addresses", "at most 8", "more");
		if (inet_pton(AF_INET, name, &address) != 1)
			die_usage("--other-addresses", "IPv4 addresses", name);
		aodvd.config.other[aodvd.config.others++] =
		    ntohl(address.s_addr);
	}
}

/* A route to a whole subnet would take what must be asked for. */
static void address_find(struct aodvd_interface *interface)
{
	struct ifaddrs *all, *entry;

	if (getifaddrs(&all) != 0)
		die_errno("getifaddrs", "the addresses of this node", NULL);
	for (entry = all; entry; entry = entry->ifa_next) {
		const void *address = entry->ifa_addr;
		const void *mask = entry->ifa_netmask;

		if (strcmp(entry->ifa_name, interface->name) != 0 || !address ||
		    entry->ifa_addr->sa_family != AF_INET)
			continue;
		if (((const struct sockaddr_in *)mask)->sin_addr.s_addr !=
		    INADDR_NONE)
			die_run(interface->name, "an address with /32",
				"one with a shorter prefix",
				"a node knows no subnet: "
				"ip address add ADDRESS/32");
		interface->address = ntohl(
		    ((const struct sockaddr_in *)address)->sin_addr.s_addr);
		break;
	}
	freeifaddrs(all);
	if (!interface->address)
		die_run(interface->name, "an IPv4 address", "none",
			"ip address add ADDRESS/32 dev INTERFACE");
}

static void interfaces_find(void)
{
	const char *names = interface_names, *monitors = monitor_names;
	char name[IFNAMSIZ];

	while (next_name(&names, name)) {
		struct aodvd_interface *interface =
		    &aodvd.interface[aodvd.interfaces];

		if (aodvd.interfaces == AODV_MOST_INTERFACES)
			die_usage("--interfaces", "at most 8", "more");
		memcpy(interface->name, name, sizeof(name));
		interface->index = if_nametoindex(name);
		if (!interface->index)
			die_errno(name, "an interface of this namespace", NULL);
		address_find(interface);
		aodvd.config.interface[aodvd.interfaces].address =
		    interface->address;
		interface->monitor_fd = -1;
		if (monitors && next_name(&monitors, name))
			interface->monitor_fd = feedback_open(name);
		aodvd.interfaces++;
	}
	if (!aodvd.interfaces)
		die_usage("--interfaces", "at least one", "none");
	aodvd.config.interfaces = aodvd.interfaces;
}

void options_read(int argc, char **argv)
{
	options_parse(&options, argc, argv);
	resolve();
	check();
	config_fill(&aodvd.config);
	options_report(&options);
	others_find();
	interfaces_find();
}

bool option_salvage(void)
{
	return salvage;
}

bool option_host_unreachable(void)
{
	return host_unreachable;
}

const char *option_tun_name(void)
{
	return tun_name;
}

const char *option_events(void)
{
	return events_file;
}

uint64_t option_route_metric(void)
{
	return route_metric.value;
}

uint64_t option_table(void)
{
	return table.value;
}

uint64_t option_buffer_packets(void)
{
	return buffer_packets.value;
}

uint64_t option_buffer_per_destination(void)
{
	return per_destination.value;
}

int64_t option_buffer_age_ns(void)
{
	return buffer_age.ns;
}

uint64_t option_ready_fd(void)
{
	return ready_fd.value;
}

bool option_ready_is_set(void)
{
	return ready_fd.is_set;
}

bool option_neighbour_table(void)
{
	return !no_neighbour_table;
}

bool option_request_filter(void)
{
	return !no_request_filter;
}
