/*
 * Sends numbered, time-stamped UDP packets at a constant rate of IP bytes.
 *
 * Packet n has its own due time, computed from n, so that pacing never
 * drifts; a late packet is sent at once and does not delay the next.
 * The socket is not connected: an ICMP error about one packet must not cost
 * another.
 */
#include "probe_buffers.h"
#include "probe_json.h"
#include "probe_sender.h"
#include "probe_stop.h"
#include "udp_packet.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct probe_integer rate_bps;
static struct probe_integer burst_packets = {true, 1};
static struct probe_integer flow_id = {true, 0};
static struct probe_integer sndbuf_bytes;

static const struct probe_option udp_options[] = {
    {.name = "host",
     .kind = OPTION_ADDRESS,
     .required = true,
     .to.addresses = &sender.hosts,
     .help = "numeric address of the receiver"},
    {.name = "bind",
     .kind = OPTION_ADDRESS,
     .to.addresses = &sender.binds,
     .help = "numeric local address"},
    {.name = "rate-bps",
     .kind = OPTION_INTEGER,
     .required = true,
     .to.integer = &rate_bps,
     .min = 1,
     .max = MAX_RATE_BPS,
     .help = "rate of IP packets in bit/s: payload plus 28 bytes of UDP "
	     "and\n      IPv4 header (IPv6: 48)"},
    {.name = "burst-packets",
     .kind = OPTION_INTEGER,
     .to.integer = &burst_packets,
     .min = 1,
     .max = 1000000,
     .help = "send so many packets at once, bursts as far apart as the "
	     "rate asks"},
    {.name = "flow-id",
     .kind = OPTION_INTEGER,
     .to.integer = &flow_id,
     .max = UINT32_MAX,
     .help = "number of the flow, carried in each packet"},
    {.name = "sndbuf-bytes",
     .kind = OPTION_INTEGER,
     .to.integer = &sndbuf_bytes,
     .min = 1,
     .max = MAX_BUFFER_BYTES,
     .help = "SO_SNDBUF; the kernel doubles it"},
    {0},
};

static const struct probe_options options = {
    "Sends UDP packets at a constant rate, for a time or for a number.",
    {udp_options, sender_options},
};

struct udp_run {
	struct send_run time;
	struct sockaddr_storage peer;
	char *packet;
	/* With the IP and UDP headers. */
	uint64_t ip_packet_bytes;
	uint64_t due_packets;
	uint64_t sent_packets;
	uint64_t send_errors;
	int64_t first_send_ns;
	int64_t last_send_ns;
	int64_t late_max_ns;
};

static void check_options(void)
{
	char wanted[64], got[32];

	snprintf(wanted, sizeof(wanted), "%zu to %d for a UDP payload",
		 sizeof(struct udp_packet_header), MAX_UDP_PAYLOAD_BYTES);
	snprintf(got, sizeof(got), "%" PRIu64, sender.message_bytes.value);
	if (sender.message_bytes.value < sizeof(struct udp_packet_header) ||
	    sender.message_bytes.value > MAX_UDP_PAYLOAD_BYTES)
		die_usage("--message-bytes", wanted, got);
	if (!sender.duration.is_set && !sender.count.is_set)
		die_usage("--duration-s, --count", "at least one", "none");
}

/* Time from the start to the nth burst, rounded down, free of drift. */
static int64_t burst_offset_ns(const struct udp_run *run, uint64_t burst)
{
	return sender_due_after_ns(burst * burst_packets.value,
				   run->ip_packet_bytes * 8, rate_bps.value);
}

static int open_socket(struct udp_run *run)
{
	static const struct probe_integer unset;
	bool is_ipv4;
	int fd;

	run->peer = sender.hosts.at[0].addr;
	address_set_port(&run->peer, (uint16_t)sender.port.value);
	is_ipv4 = run->peer.ss_family == AF_INET;
	run->ip_packet_bytes = sender.message_bytes.value + (is_ipv4 ? 28 : 48);
	fd = socket_or_die(run->peer.ss_family, SOCK_DGRAM, IPPROTO_UDP,
			   "a UDP socket");
	buffers_apply_or_die(fd, &sndbuf_bytes, &unset);
	if (sender.binds.count)
		bind_or_die(fd, sender.binds.at[0].addr,
			    sender.binds.at[0].text, 0);
	json_begin("effective");
	buffers_report(fd);
	json_unsigned("ip_packet_bytes", run->ip_packet_bytes);
	json_integer("burst_gap_ns", burst_offset_ns(run, 1));
	json_end_flush();
	return fd;
}

static void send_packet(int fd, struct udp_run *run, int64_t due_ns)
{
	struct udp_packet_header header = {
	    .magic = htobe32(UDP_MAGIC),
	    .flow_id = htobe32((uint32_t)flow_id.value),
	    .sequence = htobe64(run->due_packets),
	};
	int64_t now_ns = clock_now_ns();
	ssize_t sent;

	header.send_ns = htobe64((uint64_t)now_ns);
	memcpy(run->packet, &header, sizeof(header));
	sent =
	    sendto(fd, run->packet, sender.message_bytes.value, MSG_NOSIGNAL,
		   (struct sockaddr *)&run->peer, address_length(&run->peer));
	if (sent < 0 && errno == EINTR)
		return;
	/* A packet that could not be sent keeps its number: it is lost. */
	run->due_packets++;
	if (sent < 0) {
		run->send_errors++;
		return;
	}
	run->sent_packets++;
	if (run->first_send_ns == NO_TIME_NS)
		run->first_send_ns = now_ns;
	run->last_send_ns = now_ns;
	if (now_ns - due_ns > run->late_max_ns)
		run->late_max_ns = now_ns - due_ns;
}

static const char *send_until_stop(int fd, struct udp_run *run)
{
	uint64_t most = sender.count.is_set ? sender.count.value : UINT64_MAX;

	while (run->due_packets < most) {
		uint64_t burst = run->due_packets / burst_packets.value;
		int64_t due_ns =
		    run->time.start_ns + burst_offset_ns(run, burst);

		if (due_ns >= run->time.stop_ns)
			break;
		/* Only the first packet of a burst has to wait. */
		if (run->due_packets % burst_packets.value == 0)
			sleep_until_ns(due_ns);
		if (stop_requested())
			return "sigterm";
		send_packet(fd, run, due_ns);
	}
	return "done";
}

int main(int argc, char **argv)
{
	struct udp_run run = {
	    .first_send_ns = NO_TIME_NS,
	    .last_send_ns = NO_TIME_NS,
	};
	const char *end = "sigterm";
	int fd;

	probe_start("udp_send");
	options_parse(&options, argc, argv);
	check_options();
	options_report(&options);
	stop_start_or_die();
	fd = open_socket(&run);
	run.packet = calloc_or_die(1, sender.message_bytes.value);
	if (sender_wait_for_start(&run.time))
		end = send_until_stop(fd, &run);
	json_begin("totals");
	json_unsigned("packets", run.sent_packets);
	json_unsigned("sent_bytes",
		      run.sent_packets * sender.message_bytes.value);
	json_unsigned("sent_ip_bytes", run.sent_packets * run.ip_packet_bytes);
	json_unsigned("send_errors", run.send_errors);
	json_time_ns("first_send_t_ns", run.first_send_ns);
	json_time_ns("last_send_t_ns", run.last_send_ns);
	json_integer("late_max_ns", run.late_max_ns);
	json_text("end", end);
	json_end_flush();
	free(run.packet);
	close_or_die(fd);
	return EXIT_OK;
}
