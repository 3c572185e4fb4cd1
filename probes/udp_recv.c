/*
 * Receives one numbered UDP flow and reports goodput, loss, duplicates,
 * reordering, one-way delay and jitter.
 */
#include "probe_buffers.h"
#include "probe_json.h"
#include "probe_receiver.h"
#include "probe_stop.h"
#include "udp_packet.h"
#include "udp_sequence.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static struct probe_integer flow_id = {true, 0};
static struct probe_integer count;
static struct probe_integer rcvbuf_bytes;
static struct probe_seconds idle;
static const char *log_packets;

static const struct probe_option udp_options[] = {
    {.name = "bind",
     .kind = OPTION_ADDRESS,
     .to.addresses = &receiver.binds,
     .help = "numeric local address; not given: all IPv4 addresses"},
    {.name = "flow-id",
     .kind = OPTION_INTEGER,
     .to.integer = &flow_id,
     .max = UINT32_MAX,
     .help = "number of the flow; other packets are counted as foreign"},
    {.name = "count",
     .kind = OPTION_INTEGER,
     .to.integer = &count,
     .min = 1,
     .max = MAX_SEQUENCE + 1,
     .help = "end after this many different packets"},
    {.name = "idle-s",
     .kind = OPTION_SECONDS,
     .to.seconds = &idle,
     .min = 1000000,
     .max = UINT64_C(1000000) * (uint64_t)NS_PER_S,
     .help = "end when, after the first packet, none came for this long"},
    {.name = "rcvbuf-bytes",
     .kind = OPTION_INTEGER,
     .to.integer = &rcvbuf_bytes,
     .min = 1,
     .max = MAX_BUFFER_BYTES,
     .help = "SO_RCVBUF; the kernel doubles it"},
    {.name = "log-packets",
     .kind = OPTION_TEXT,
     .to.text = &log_packets,
     .help = "file to write one line per packet to: seq, send_ns, recv_ns"},
    {0},
};

static const struct probe_options options = {
    "Receives one UDP flow of udp_send until SIGTERM, --count or --idle-s.",
    {udp_options, receiver_options},
};

struct reception {
	struct goodput_meter meter;
	struct sequence_tracker tracker;
	uint64_t foreign_packets;
	FILE *log;
	bool has_begun;
};

static int open_socket(void)
{
	static const struct probe_integer unset;
	int fd = socket_or_die(receiver_family(), SOCK_DGRAM, IPPROTO_UDP,
			       "a UDP socket");

	buffers_apply_or_die(fd, &unset, &rcvbuf_bytes);
	receiver_bind_or_die(fd);
	json_begin("effective");
	buffers_report(fd);
	json_end();
	receiver_report_ready(fd);
	return fd;
}

static FILE *open_log(void)
{
	FILE *log;

	if (log_packets == NULL)
		return NULL;
	log = fopen(log_packets, "we");
	if (log == NULL)
		die_errno("--log-packets", "a file that can be written", NULL);
	fputs("seq\tsend_ns\trecv_ns\n", log);
	return log;
}

static void close_log(FILE *log)
{
	if (log == NULL)
		return;
	if (ferror(log) || fclose(log) != 0)
		die_errno("--log-packets", "all lines written",
			  "is the disk full?");
}

/* The receive timeout is set late: before the first packet nothing is idle. */
static void begin(int fd, struct reception *reception, int64_t now_ns)
{
	struct timeval timeout = {
	    .tv_sec = (time_t)(idle.ns / NS_PER_S),
	    .tv_usec = (suseconds_t)(idle.ns % NS_PER_S / 1000),
	};

	reception->has_begun = true;
	receiver_start_meter(&reception->meter, now_ns, true);
	if (idle.is_set)
		setsockopt_or_die(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout,
				  sizeof(timeout), "--idle-s (SO_RCVTIMEO)");
}

static void take_packet(int fd, const char *packet, size_t length,
			struct reception *reception)
{
	int64_t now_ns = clock_now_ns();
	struct udp_packet_header header = {0};
	uint64_t sequence;
	int64_t send_ns;

	if (length >= sizeof(header))
		memcpy(&header, packet, sizeof(header));
	sequence = be64toh(header.sequence);
	send_ns = (int64_t)be64toh(header.send_ns);
	if (be32toh(header.magic) != UDP_MAGIC ||
	    be32toh(header.flow_id) != flow_id.value ||
	    sequence > MAX_SEQUENCE || send_ns < 0) {
		reception->foreign_packets++;
		return;
	}
	if (!reception->has_begun)
		begin(fd, reception, now_ns);
	if (sequence_add(&reception->tracker, sequence, now_ns - send_ns))
		meter_add(&reception->meter, now_ns, length, 1);
	if (reception->log != NULL)
		fprintf(reception->log,
			"%" PRIu64 "\t%" PRId64 "\t%" PRId64 "\n", sequence,
			send_ns, now_ns);
}

static const char *read_until_stop(int fd, struct reception *reception)
{
	static char packet[65536];

	while (!stop_requested()) {
		ssize_t got = recv(fd, packet, sizeof(packet), 0);

		if (got >= 0)
			take_packet(fd, packet, (size_t)got, reception);
		else if (errno == EAGAIN)
			return "idle";
		else if (errno != EINTR)
			die_errno("recv", "a packet", NULL);
		if (count.is_set && reception->tracker.unique == count.value)
			return "count";
	}
	return "sigterm";
}

static void report_socket_drops(int fd)
{
	uint32_t memory[SK_MEMINFO_VARS] = {0};
	socklen_t length = sizeof(memory);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &length) != 0)
		die_errno("getsockopt", "SO_MEMINFO", NULL);
	json_unsigned("socket_dropped_packets", memory[SK_MEMINFO_DROPS]);
}

int main(int argc, char **argv)
{
	struct reception reception = {0};
	const char *end;
	int fd;

	probe_start("udp_recv");
	options_parse(&options, argc, argv);
	options_report(&options);
	stop_start_or_die();
	receiver_start_meter(&reception.meter, NO_TIME_NS, true);
	reception.log = open_log();
	fd = open_socket();
	end = read_until_stop(fd, &reception);
	close_log(reception.log);
	meter_begin_totals(&reception.meter);
	sequence_report(&reception.tracker);
	json_unsigned("foreign_packets", reception.foreign_packets);
	report_socket_drops(fd);
	json_text("end", end);
	json_end_flush();
	sequence_end(&reception.tracker);
	close_or_die(fd);
	return EXIT_OK;
}
