/* AODV's own packets: UDP port 654, one socket for each interface. */
#include "aodvd.h"
#include "probe_common.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <string.h>

#define IP_SOURCE_OFFSET 12
#define MOST_UDP_BYTES 65536

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

/* Straight to a neighbour: what the routes say does not count. */
void control_send(unsigned int at, uint32_t to, unsigned int ttl_hops,
		  const uint8_t *bytes, size_t length)
{
	const struct aodvd_interface *interface = &aodvd.interface[at];
	_Alignas(struct cmsghdr) char
	    space[CMSG_SPACE(sizeof(int)) +
		  CMSG_SPACE(sizeof(struct in_pktinfo))] = {0};
	struct in_pktinfo from = {
	    .ipi_ifindex = (int)interface->index,
	    .ipi_spec_dst.s_addr = htonl(interface->address),
	};
	struct sockaddr_in peer = {
	    .sin_family = AF_INET,
	    .sin_port = htons(AODV_PORT),
	    .sin_addr.s_addr = htonl(to),
	};
	struct iovec data = {(void *)(uintptr_t)bytes, length};
	struct msghdr message = {
	    .msg_name = &peer,
	    .msg_namelen = sizeof(peer),
	    .msg_iov = &data,
	    .msg_iovlen = 1,
	    .msg_control = space,
	    .msg_controllen = sizeof(space),
	};
	struct cmsghdr *header = NULL;
	int ttl = (int)ttl_hops;

	add_header(&message, &header, IP_TTL, &ttl, sizeof(ttl));
	add_header(&message, &header, IP_PKTINFO, &from, sizeof(from));
	if (sendmsg(interface->control_fd, &message,
		    MSG_DONTROUTE | MSG_NOSIGNAL) < 0)
		aodvd.counts.control_send_errors++;
}

void control_receive(unsigned int at)
{
	static uint8_t bytes[MOST_UDP_BYTES];
	_Alignas(
	    struct cmsghdr) char space[CMSG_SPACE(sizeof(int)) +
				       CMSG_SPACE(sizeof(struct in_pktinfo))];
	struct sockaddr_in peer;
	struct iovec data = {bytes, sizeof(bytes)};
	struct msghdr message = {
	    .msg_name = &peer,
	    .msg_namelen = sizeof(peer),
	    .msg_iov = &data,
	    .msg_iovlen = 1,
	    .msg_control = space,
	    .msg_controllen = sizeof(space),
	};
	struct in_pktinfo to = {0};
	ssize_t length;
	int ttl = 0;

	length = recvmsg(aodvd.interface[at].control_fd, &message, 0);
	if (length < 0) {
		/* An error about a packet that was sent; it is counted there.
		 */
		if (errno != EAGAIN && errno != EINTR)
			aodvd.counts.control_send_errors++;
		return;
	}
	for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header;
	     header = CMSG_NXTHDR(&message, header)) {
		if (header->cmsg_type == IP_TTL)
			memcpy(&ttl, CMSG_DATA(header), sizeof(ttl));
		else if (header->cmsg_type == IP_PKTINFO)
			memcpy(&to, CMSG_DATA(header), sizeof(to));
	}
	aodv_core_receive(aodvd.core, clock_now_ns(), at,
			  ntohl(peer.sin_addr.s_addr),
			  to.ipi_addr.s_addr == INADDR_BROADCAST,
			  (unsigned int)ttl, bytes, (size_t)length);
}
