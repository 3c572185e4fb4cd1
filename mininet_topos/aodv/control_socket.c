/* AODV's own packets: UDP port 654, one socket for each interface. */
#include "aodvd.h"
#include "probe_common.h"
#include "probe_ring.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <string.h>

#define IP_SOURCE_OFFSET 12
#define CONTROL_BYTES                                                          \
	(CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct in_pktinfo)))

/* The kernel hands a broadcast to its sender, too; that wakes nobody. */
static void ignore_own(int fd, uint32_t address)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		     (uint32_t)(SKF_NET_OFF + IP_SOURCE_OFFSET)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, address, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};

	filter_or_die(fd, code, sizeof(code) / sizeof(code[0]));
}

int control_open(unsigned int at)
{
	const struct aodvd_interface *interface = &aodvd.interface[at];
	int fd = socket_or_die(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_UDP,
			       "a UDP socket");

	setsockopt_or_die(fd, SOL_SOCKET, SO_BINDTODEVICE, interface->name,
			  (socklen_t)strlen(interface->name),
			  "a socket on one interface");
	setsockopt_int_or_die(fd, SOL_SOCKET, SO_BROADCAST, 1, "broadcasts");
	setsockopt_int_or_die(fd, IPPROTO_IP, IP_RECVTTL, 1, "TTLs");
	setsockopt_int_or_die(fd, IPPROTO_IP, IP_PKTINFO, 1, "destinations");
	if (!requests_attach(fd, at))
		ignore_own(fd, interface->address);
	bind_or_die(fd, address_any(AF_INET), "any", AODV_PORT);
	return fd;
}

static void add_header(struct msghdr *message, struct cmsghdr **header,
		       int type, const void *value, size_t length)
{
	*header =
	    *header ? CMSG_NXTHDR(message, *header) : CMSG_FIRSTHDR(message);
	(*header)->cmsg_level = IPPROTO_IP;
	(*header)->cmsg_type = type;
	(*header)->cmsg_len = CMSG_LEN(length);
	memcpy(CMSG_DATA(*header), value, length);
}

/* What ring_send_message() needs until the message has gone. */
struct sending {
	struct msghdr message;
	struct iovec data;
	struct sockaddr_in peer;
	_Alignas(struct cmsghdr) char space[CONTROL_BYTES];
	uint8_t bytes[AODV_MOST_BYTES];
};

/* Straight to a neighbour: what the routes say does not count. */
void control_send(unsigned int at, uint32_t to, unsigned int ttl_hops,
		  const uint8_t *bytes, size_t length)
{
	static struct sending sendings[RING_REQUESTS];
	static unsigned int next;
	const struct aodvd_interface *interface = &aodvd.interface[at];
	struct sending *one = &sendings[next];
	struct in_pktinfo from = {
	    .ipi_ifindex = (int)interface->index,
	    .ipi_spec_dst.s_addr = htonl(interface->address),
	};
	struct cmsghdr *header = NULL;
	int ttl = (int)ttl_hops;

	next = (next + 1) % RING_REQUESTS;
	memset(one->space, 0, sizeof(one->space));
	memcpy(one->bytes, bytes, length);
	one->data = (struct iovec){one->bytes, length};
	one->peer = (struct sockaddr_in){
	    .sin_family = AF_INET,
	    .sin_port = htons(AODV_PORT),
	    .sin_addr.s_addr = htonl(to),
	};
	one->message = (struct msghdr){
	    .msg_name = &one->peer,
	    .msg_namelen = sizeof(one->peer),
	    .msg_iov = &one->data,
	    .msg_iovlen = 1,
	    .msg_control = one->space,
	    .msg_controllen = sizeof(one->space),
	};
	add_header(&one->message, &header, IP_TTL, &ttl, sizeof(ttl));
	add_header(&one->message, &header, IP_PKTINFO, &from, sizeof(from));
	ring_send_message(interface->control_fd, &one->message,
			  MSG_DONTROUTE | MSG_NOSIGNAL, 0);
}

void control_watch(unsigned int at, unsigned int tag)
{
	ring_receive_messages(aodvd.interface[at].control_fd, tag,
			      sizeof(struct sockaddr_in), CONTROL_BYTES);
}

void control_receive(unsigned int at, const struct ring_event *event)
{
	struct msghdr message = event->message;
	struct in_pktinfo to = {0};
	struct sockaddr_in peer;
	int ttl = 0;

	memcpy(&peer, message.msg_name, sizeof(peer));
	for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header;
	     header = CMSG_NXTHDR(&message, header)) {
		if (header->cmsg_type == IP_TTL)
			memcpy(&ttl, CMSG_DATA(header), sizeof(ttl));
		else if (header->cmsg_type == IP_PKTINFO)
			memcpy(&to, CMSG_DATA(header), sizeof(to));
	}
	aodv_core_receive(aodvd.core, aodvd.now_ns, at,
			  ntohl(peer.sin_addr.s_addr),
			  to.ipi_addr.s_addr == INADDR_BROADCAST,
			  (unsigned int)ttl, event->bytes, event->length);
}
