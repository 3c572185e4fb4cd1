/*
 * Packets without a route: what the kernel routed to the TUN device waits
 * here, and leaves by a raw socket, which sends it as it is (TTL, options and
 * checksums) along the route there is then.
 */
#include "aodvd.h"
#include "probe_common.h"
#include "probe_ring.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MOST_PACKET_BYTES 65536
#define ICMP_QUOTED_BYTES 8

struct packet {
	struct packet *next;
	uint32_t destination;
	int64_t since_ns;
	size_t length;
	uint8_t bytes[];
};

static struct packet *first;
static uint64_t waiting;

static uint32_t address_at(const uint8_t *bytes)
{
	uint32_t address;

	memcpy(&address, bytes, sizeof(address));
	return ntohl(address);
}

static uint32_t source_of(const uint8_t *packet)
{
	return address_at(packet + offsetof(struct iphdr, saddr));
}

static uint32_t destination_of(const uint8_t *packet)
{
	return address_at(packet + offsetof(struct iphdr, daddr));
}

static bool is_own_address(uint32_t address)
{
	for (unsigned int i = 0; i < aodvd.interfaces; i++)
		if (aodvd.interface[i].address == address)
			return true;
	return false;
}

/* As large as the smallest interface takes, so that nothing fails later. */
static void tun_configure(int fd)
{
	struct ifreq request = {0};
	int mtu_bytes = INT32_MAX;

	for (unsigned int i = 0; i < aodvd.interfaces; i++) {
		memcpy(request.ifr_name, aodvd.interface[i].name, IFNAMSIZ);
		if (ioctl(fd, SIOCGIFMTU, &request) != 0)
			die_errno(request.ifr_name, "its MTU", NULL);
		if (request.ifr_mtu < mtu_bytes)
			mtu_bytes = request.ifr_mtu;
	}
	snprintf(request.ifr_name, IFNAMSIZ, "%s", option_tun_name());
	request.ifr_mtu = mtu_bytes;
	if (ioctl(fd, SIOCSIFMTU, &request) != 0)
		die_errno(request.ifr_name, "the interfaces' MTU", NULL);
	request.ifr_flags = IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &request) != 0)
		die_errno(request.ifr_name, "a device that is up", NULL);
}

void tun_open(void)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	int fd;

	aodvd.tun_fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (aodvd.tun_fd < 0 && (errno == ENOENT || errno == ENODEV))
		die_unsupported("/dev/net/tun", "the TUN driver",
				strerrorname_np(errno),
				"this kernel has none: build it with TUN");
	if (aodvd.tun_fd < 0)
		die_errno("/dev/net/tun", "the TUN driver", NULL);
	snprintf(request.ifr_name, IFNAMSIZ, "%s", option_tun_name());
	if (ioctl(aodvd.tun_fd, TUNSETIFF, &request) != 0)
		die_errno(option_tun_name(), "a TUN device of that name", NULL);
	fd = socket_or_die(AF_INET, SOCK_DGRAM, 0, "a socket");
	tun_configure(fd);
	close_or_die(fd);
	aodvd.tun_index = if_nametoindex(option_tun_name());
	aodvd.raw_fd = socket_or_die(AF_INET, SOCK_RAW | SOCK_NONBLOCK,
				     IPPROTO_RAW, "a raw socket");
	if (option_table())
		setsockopt_int_or_die(aodvd.raw_fd, SOL_SOCKET, SO_MARK,
				      option_table(), "marked packets");
}

static void packet_out(const uint8_t *bytes, size_t length)
{
	struct sockaddr_in to = {
	    .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(destination_of(bytes)),
	};

	/* The route it takes may have been asked for just now. */
	ring_do();
	if (sendto(aodvd.raw_fd, bytes, length, MSG_NOSIGNAL,
		   (struct sockaddr *)&to, sizeof(to)) < 0)
		aodvd.counts.dropped[BUFFER_DROP_SEND_ERROR]++;
	else
		aodvd.counts.reinjected++;
}

static uint16_t internet_checksum(const uint8_t *bytes, size_t length)
{
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < length; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	if (length % 2)
		sum += (uint32_t)bytes[length - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

/* RFC 792: host unreachable, with the header and 8 bytes of the packet. */
static void tell_unreachable(const struct packet *packet)
{
	uint8_t bytes[sizeof(struct iphdr) + sizeof(struct icmphdr) + 60 +
		      ICMP_QUOTED_BYTES] = {0};
	size_t quoted =
	    (size_t)(packet->bytes[0] & 0xf) * 4 + ICMP_QUOTED_BYTES;
	struct iphdr ip = {
	    .version = 4,
	    .ihl = 5,
	    .ttl = 64,
	    .protocol = IPPROTO_ICMP,
	    .saddr = htonl(aodvd.interface[0].address),
	    .daddr = htonl(source_of(packet->bytes)),
	};
	struct icmphdr icmp = {
	    .type = ICMP_DEST_UNREACH,
	    .code = ICMP_HOST_UNREACH,
	};
	uint8_t *body = bytes + sizeof(ip);
	struct sockaddr_in to = {
	    .sin_family = AF_INET,
	    .sin_addr.s_addr = ip.daddr,
	};

	if (quoted > packet->length)
		quoted = packet->length;
	memcpy(bytes, &ip, sizeof(ip));
	memcpy(body + sizeof(icmp), packet->bytes, quoted);
	memcpy(body, &icmp, sizeof(icmp));
	icmp.checksum = internet_checksum(body, sizeof(icmp) + quoted);
	memcpy(body, &icmp, sizeof(icmp));
	ring_do();
	if (sendto(aodvd.raw_fd, bytes, sizeof(ip) + sizeof(icmp) + quoted,
		   MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof(to)) >= 0)
		aodvd.counts.unreachables_sent++;
}

static void take_out(struct packet **place)
{
	struct packet *packet = *place;

	*place = packet->next;
	free(packet);
	waiting--;
}

/* The oldest there is, or the oldest for the destination, makes room. */
static void make_room(uint32_t destination)
{
	uint64_t same = 0;
	struct packet **oldest = NULL;

	for (struct packet **at = &first; *at; at = &(*at)->next) {
		if ((*at)->destination != destination)
			continue;
		same++;
		if (!oldest)
			oldest = at;
	}
	if (same >= option_buffer_per_destination()) {
		take_out(oldest);
		aodvd.counts.dropped[BUFFER_DROP_FULL]++;
	} else if (waiting >= option_buffer_packets()) {
		take_out(&first);
		aodvd.counts.dropped[BUFFER_DROP_FULL]++;
	}
}

static void keep(const uint8_t *bytes, size_t length)
{
	struct packet *packet = calloc_or_die(1, sizeof(*packet) + length);
	struct packet **end = &first;

	packet->destination = destination_of(bytes);
	make_room(packet->destination);
	packet->since_ns = aodvd.now_ns;
	packet->length = length;
	memcpy(packet->bytes, bytes, length);
	while (*end)
		end = &(*end)->next;
	*end = packet;
	waiting++;
	aodvd.counts.buffered++;
}

void buffer_release(uint32_t destination)
{
	int64_t oldest_ns = aodvd.now_ns - option_buffer_age_ns();
	struct packet **at = &first;

	while (*at) {
		if ((*at)->destination != destination) {
			at = &(*at)->next;
			continue;
		}
		if ((*at)->since_ns < oldest_ns)
			aodvd.counts.dropped[BUFFER_DROP_AGE]++;
		else
			packet_out((*at)->bytes, (*at)->length);
		take_out(at);
	}
}

void buffer_give_up(uint32_t destination, bool repair)
{
	struct packet **at = &first;

	while (*at) {
		if ((*at)->destination != destination) {
			at = &(*at)->next;
			continue;
		}
		aodvd.counts.dropped[repair ? BUFFER_DROP_REPAIR_FAILED
					    : BUFFER_DROP_NO_ROUTE]++;
		if (option_host_unreachable() &&
		    is_own_address(source_of((*at)->bytes)))
			tell_unreachable(*at);
		take_out(at);
	}
}

void buffer_end(void)
{
	while (first) {
		take_out(&first);
		aodvd.counts.dropped[BUFFER_DROP_ENDED]++;
	}
}

static void place_packet(const uint8_t *bytes, size_t length)
{
	uint32_t source = source_of(bytes), destination = destination_of(bytes);

	if (is_own_address(source)) {
		keep(bytes, length);
		aodv_core_want_route(aodvd.core, aodvd.now_ns, source,
				     destination);
		return;
	}
	switch (
	    aodv_core_transit(aodvd.core, aodvd.now_ns, source, destination)) {
	case AODV_KEEP_IT:
		keep(bytes, length);
		break;
	case AODV_SEND_IT:
		packet_out(bytes, length);
		break;
	case AODV_DROP_IT:
		aodvd.counts.dropped[BUFFER_DROP_TRANSIT]++;
		break;
	}
}

static bool is_ipv4(const uint8_t *bytes, size_t length)
{
	size_t header_bytes;

	if (length < sizeof(struct iphdr) || bytes[0] >> 4 != 4)
		return false;
	header_bytes = (size_t)(bytes[0] & 0xf) * 4;
	return header_bytes >= sizeof(struct iphdr) && header_bytes <= length;
}

void tun_receive(void)
{
	static uint8_t bytes[MOST_PACKET_BYTES];
	ssize_t length = read(aodvd.tun_fd, bytes, sizeof(bytes));

	if (length < 0)
		return;
	if (is_ipv4(bytes, (size_t)length))
		place_packet(bytes, (size_t)length);
	else
		aodvd.counts.dropped[BUFFER_DROP_NOT_IPV4]++;
}

void buffer_salvage(const uint8_t *packet, size_t length)
{
	if (!is_ipv4(packet, length))
		return;
	aodvd.counts.salvaged++;
	place_packet(packet, length);
}
