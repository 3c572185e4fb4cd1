/*
 * Drives probe_ring: more datagrams than it has buffers, more requests than
 * it has room for, times that are put off too late. One JSON line.
 */
#include "probe_json.h"
#include "probe_ring.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PACKETS 200
#define NAMED_PORT 5555
#define PLAIN_PORT 5556
#define CONTROL_BYTES CMSG_SPACE(sizeof(int))

enum tag { NAMED, PLAIN, WOKEN };

static uint64_t named, plain, in_order, ttl_hops, failed, woken, times;
static int64_t late_ns[2], asked_ns[2];

static struct sockaddr_in local(uint16_t port)
{
	return (struct sockaddr_in){
	    .sin_family = AF_INET,
	    .sin_port = htons(port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static int bound(uint16_t port)
{
	struct sockaddr_in here = local(port);
	int fd = socket_or_die(AF_INET, SOCK_DGRAM, 0, "a UDP socket");

	if (bind(fd, (struct sockaddr *)&here, sizeof(here)) != 0)
		die_errno("bind", "a port", NULL);
	return fd;
}

static void take_data(const struct ring_event *event)
{
	struct msghdr message = event->message;
	struct cmsghdr *header;

	if (event->tag == PLAIN) {
		in_order += event->bytes[0] == (plain++ & 0xff);
		return;
	}
	named += event->length == 1;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == IP_TTL)
		memcpy(&ttl_hops, CMSG_DATA(header), sizeof(int));
}

static void take_time(void)
{
	late_ns[times] = clock_now_ns() - asked_ns[times];
	if (++times == 2)
		return;
	/* A time that has come is put off: only the second is told. */
	asked_ns[1] = clock_now_ns() + NS_PER_MS;
	ring_set_time(asked_ns[1]);
	ring_do();
	while (clock_now_ns() < asked_ns[1] + NS_PER_MS)
		continue;
	asked_ns[1] += 100 * NS_PER_MS;
	ring_set_time(asked_ns[1]);
}

static void take_all(void)
{
	struct ring_event event;

	while (ring_next(&event)) {
		if (event.kind == RING_DATA)
			take_data(&event);
		else if (event.kind == RING_TIME)
			take_time();
		else if (event.kind == RING_READABLE)
			woken += event.tag == WOKEN;
		else
			failed++;
	}
}

static void send_all(int from, int connected, struct msghdr *message)
{
	static uint8_t bytes[PACKETS];

	for (unsigned int i = 0; i < PACKETS; i++) {
		bytes[i] = (uint8_t)i;
		ring_send_message(from, message, MSG_NOSIGNAL, 0);
		ring_send(connected, &bytes[i], 1);
	}
}

int main(void)
{
	struct sockaddr_in nowhere = {.sin_family = AF_INET,
				      .sin_port = htons(1),
				      .sin_addr.s_addr = INADDR_BROADCAST};
	struct sockaddr_in peer = local(NAMED_PORT), other = local(PLAIN_PORT);
	struct iovec data = {"x", 1};
	struct msghdr message = {.msg_name = &peer,
				 .msg_namelen = sizeof(peer),
				 .msg_iov = &data,
				 .msg_iovlen = 1};
	struct msghdr refused = message;
	int into, from, connected, event_fd = eventfd(1, 0);

	probe_start("ring_drive");
	ring_open_or_die("testing");
	into = bound(NAMED_PORT);
	setsockopt_int_or_die(into, IPPROTO_IP, IP_RECVTTL, 1, "TTLs");
	ring_receive_messages(into, NAMED, sizeof(peer), CONTROL_BYTES);
	ring_receive(bound(PLAIN_PORT), PLAIN);
	from = socket_or_die(AF_INET, SOCK_DGRAM, 0, "a UDP socket");
	connected = socket_or_die(AF_INET, SOCK_DGRAM, 0, "a UDP socket");
	if (connect(connected, (struct sockaddr *)&other, sizeof(other)) != 0)
		die_errno("connect", "a peer", NULL);
	ring_watch(event_fd, WOKEN);
	asked_ns[0] = clock_now_ns() + NS_PER_S;
	ring_set_time(asked_ns[0]);
	send_all(from, connected, &message);
	refused.msg_name = &nowhere;
	ring_send_message(from, &refused, MSG_NOSIGNAL, 0);
	while (times < 2) {
		ring_wait();
		take_all();
	}
	json_begin("totals");
	json_unsigned("named", named);
	json_unsigned("plain", plain);
	json_unsigned("in_order", in_order);
	json_unsigned("ttl_hops", ttl_hops);
	json_unsigned("failed", failed);
	json_unsigned("woken", woken);
	json_integer("first_late_ns", late_ns[0]);
	json_integer("second_late_ns", late_ns[1]);
	json_end_flush();
	return EXIT_OK;
}
