/* The kernel's routes and neighbours, over rtnetlink. */
#include "aodvd.h"
#include "probe_common.h"
#include "probe_ring.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

/* In /etc/iproute2 nobody has this number: routes with it are ours. */
#define ROUTE_PROTOCOL 191
#define REPLY_BYTES 32768

struct route_request {
	struct nlmsghdr header;
	struct rtmsg route;
	char attributes[160];
};

/* Which destinations have a route, so that all are removed at the end. */
static uint32_t installed[AODV_MOST_ROUTES];
static unsigned int installed_count;

static int netlink_open(uint32_t groups)
{
	struct sockaddr_nl address = {
	    .nl_family = AF_NETLINK,
	    .nl_groups = groups,
	};
	int fd = socket_or_die(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK,
			       NETLINK_ROUTE, "a routing socket");

	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		die_errno("bind(AF_NETLINK)", "a routing socket", NULL);
	return fd;
}

/* Only a neighbour that did not answer wakes the daemon. */
static void only_failed_neighbours(int fd)
{
	uint32_t state_offset = (uint32_t)(sizeof(struct nlmsghdr) +
					   offsetof(struct ndmsg, ndm_state));
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, state_offset),
	    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NUD_FAILED, 1, 0),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};

	filter_or_die(fd, code, sizeof(code) / sizeof(code[0]));
}

void routes_open(void)
{
	aodvd.route_fd = netlink_open(0);
	aodvd.query_fd = netlink_open(0);
	aodvd.neighbour_fd = -1;
	if (option_neighbour_table()) {
		aodvd.neighbour_fd = netlink_open(RTMGRP_NEIGH);
		only_failed_neighbours(aodvd.neighbour_fd);
	}
}

static void add_attribute(struct route_request *request, unsigned short type,
			  uint32_t value)
{
	struct rtattr attribute = {
	    .rta_len = RTA_LENGTH(sizeof(value)),
	    .rta_type = type,
	};
	char *end = (char *)request + request->header.nlmsg_len;

	memcpy(end, &attribute, sizeof(attribute));
	memcpy(end + RTA_LENGTH(0), &value, sizeof(value));
	request->header.nlmsg_len += RTA_SPACE(sizeof(value));
}

/* What the study's hosts want of their routes besides the way. */
static void add_metrics(struct route_request *request)
{
	char *end = (char *)request + request->header.nlmsg_len;

	request->header.nlmsg_len += route_metrics_write(end);
}

static struct route_request request_of(uint16_t type, uint16_t flags,
				       uint32_t destination)
{
	struct route_request request = {
	    .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
		       .nlmsg_type = type,
		       .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags)},
	    .route = {.rtm_family = AF_INET,
		      .rtm_dst_len = destination ? 32 : 0,
		      .rtm_table = option_table()
				       ? (unsigned char)option_table()
				       : RT_TABLE_MAIN,
		      .rtm_protocol = ROUTE_PROTOCOL,
		      .rtm_scope = RT_SCOPE_LINK,
		      .rtm_type = RTN_UNICAST},
	};

	if (destination)
		add_attribute(&request, RTA_DST, htonl(destination));
	return request;
}

/* The kernel answers only a mistake. */
static void request_send(const struct route_request *request)
{
	static struct route_request requests[RING_REQUESTS];
	static unsigned int next;
	struct route_request *one = &requests[next];

	next = (next + 1) % RING_REQUESTS;
	*one = *request;
	aodvd.counts.route_changes++;
	ring_send(aodvd.route_fd, one, one->header.nlmsg_len);
}

void routes_check(void)
{
	_Alignas(struct nlmsghdr) char reply[REPLY_BYTES];
	const struct nlmsghdr *header = (const void *)reply;
	const struct nlmsgerr *error = NLMSG_DATA(header);
	ssize_t length;

	ring_do();
	while ((length = recv(aodvd.route_fd, reply, sizeof(reply), 0)) > 0) {
		if ((size_t)length < NLMSG_LENGTH(sizeof(*error)) ||
		    header->nlmsg_type != NLMSG_ERROR || error->error == 0)
			continue;
		/* It went with its interface or address. */
		if (error->error == -ESRCH &&
		    error->msg.nlmsg_type == RTM_DELROUTE)
			continue;
		errno = -error->error;
		die_errno("rtnetlink", "a change of a route",
			  "does somebody else change routes here?");
	}
}

void routes_default_to_tun(void)
{
	struct route_request request =
	    request_of(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, 0);

	add_attribute(&request, RTA_OIF, aodvd.tun_index);
	add_attribute(&request, RTA_PREFSRC, htonl(aodvd.interface[0].address));
	add_attribute(&request, RTA_PRIORITY, (uint32_t)option_route_metric());
	/* A connection may begin before there is another route. */
	add_metrics(&request);
	request_send(&request);
	routes_check();
}

void routes_set(uint32_t destination, uint32_t next_hop, unsigned int at)
{
	struct route_request request =
	    request_of(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, destination);
	unsigned int place = 0;

	if (next_hop != destination) {
		request.route.rtm_scope = RT_SCOPE_UNIVERSE;
		request.route.rtm_flags = RTNH_F_ONLINK;
		add_attribute(&request, RTA_GATEWAY, htonl(next_hop));
	}
	add_attribute(&request, RTA_OIF, aodvd.interface[at].index);
	add_attribute(&request, RTA_PREFSRC, htonl(aodvd.interface[0].address));
	add_metrics(&request);
	request_send(&request);
	while (place < installed_count && installed[place] != destination)
		place++;
	if (place == installed_count)
		installed[installed_count++] = destination;
}

void routes_clear(uint32_t destination)
{
	struct route_request request = request_of(RTM_DELROUTE, 0, destination);

	request.route.rtm_scope = RT_SCOPE_NOWHERE;
	request_send(&request);
	for (unsigned int i = 0; i < installed_count; i++)
		if (installed[i] == destination)
			installed[i--] = installed[--installed_count];
}

/* The default route goes with the TUN device. */
void routes_remove_all(void)
{
	while (installed_count)
		routes_clear(installed[installed_count - 1]);
	routes_check();
}

/* Destination and MAC address of a neighbour message; NULL without. */
static const void *neighbour_attribute(const struct nlmsghdr *header,
				       unsigned short type, size_t bytes)
{
	const struct ndmsg *neighbour = NLMSG_DATA(header);
	const char *at =
	    (const char *)neighbour + NLMSG_ALIGN(sizeof(*neighbour));
	const char *end = (const char *)header + header->nlmsg_len;

	while (at + sizeof(struct rtattr) <= end) {
		const struct rtattr *attribute = (const void *)at;

		if (attribute->rta_len < sizeof(*attribute) ||
		    at + attribute->rta_len > end)
			return NULL;
		if (attribute->rta_type == type &&
		    attribute->rta_len >= RTA_LENGTH(bytes))
			return at + RTA_LENGTH(0);
		at += RTA_ALIGN(attribute->rta_len);
	}
	return NULL;
}

static bool is_neighbour(const struct nlmsghdr *header)
{
	return header->nlmsg_type == RTM_NEWNEIGH &&
	       header->nlmsg_len >= NLMSG_LENGTH(sizeof(struct ndmsg)) &&
	       ((const struct ndmsg *)NLMSG_DATA(header))->ndm_family ==
		   AF_INET;
}

void neighbours_receive(void)
{
	_Alignas(struct nlmsghdr) char message[REPLY_BYTES];
	const struct nlmsghdr *header = (const void *)message;
	ssize_t length;

	length = recv(aodvd.neighbour_fd, message, sizeof(message), 0);
	if (length <= 0)
		return;
	for (size_t left = (size_t)length; NLMSG_OK(header, left);
	     header = NLMSG_NEXT(header, left)) {
		const struct ndmsg *neighbour = NLMSG_DATA(header);
		const void *address;
		uint32_t number;

		if (!is_neighbour(header) ||
		    !(neighbour->ndm_state & NUD_FAILED))
			continue;
		address = neighbour_attribute(header, NDA_DST, sizeof(number));
		if (!address)
			continue;
		memcpy(&number, address, sizeof(number));
		aodv_core_link_broken(aodvd.core, aodvd.now_ns, ntohl(number),
				      AODV_CAUSE_NEIGHBOUR_TABLE, 0, 0);
	}
}

/* Sets found when the answer has the address; true at its end. */
static bool find_mac(const struct nlmsghdr *header, size_t left,
		     unsigned int index, const uint8_t *mac, uint32_t *found)
{
	for (; NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
		const struct ndmsg *neighbour = NLMSG_DATA(header);
		const void *address, *number;

		if (header->nlmsg_type == NLMSG_DONE ||
		    header->nlmsg_type == NLMSG_ERROR)
			return true;
		if (!is_neighbour(header) ||
		    neighbour->ndm_ifindex != (int)index)
			continue;
		address = neighbour_attribute(header, NDA_LLADDR, 6);
		number = neighbour_attribute(header, NDA_DST, sizeof(*found));
		if (address && number && memcmp(address, mac, 6) == 0)
			memcpy(found, number, sizeof(*found));
	}
	return false;
}

uint32_t neighbour_of_mac(unsigned int index, const uint8_t *mac)
{
	struct {
		struct nlmsghdr header;
		struct ndmsg neighbour;
	} request = {
	    .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ndmsg)),
		       .nlmsg_type = RTM_GETNEIGH,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
	    .neighbour = {.ndm_family = AF_INET},
	};
	_Alignas(struct nlmsghdr) char reply[REPLY_BYTES];
	uint32_t found = 0;
	ssize_t length;

	if (send(aodvd.query_fd, &request, request.header.nlmsg_len, 0) < 0)
		die_errno("send(AF_NETLINK)", "the neighbours", NULL);
	/* The kernel answers while it is asked. */
	while ((length = recv(aodvd.query_fd, reply, sizeof(reply), 0)) > 0)
		if (find_mac((const void *)reply, (size_t)length, index, mac,
			     &found))
			break;
	return ntohl(found);
}
