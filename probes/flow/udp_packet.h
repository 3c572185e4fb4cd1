/*
 * The payload of the probes' UDP packets: this header, big-endian, then zeros.
 */
#ifndef UDP_PACKET_H
#define UDP_PACKET_H

#include <stdint.h>

#define UDP_MAGIC UINT32_C(0x47545544) /* "GTUD" */
#define MAX_UDP_PAYLOAD_BYTES 65507

struct udp_packet_header {
	uint32_t magic;
	uint32_t flow_id;
	uint64_t sequence;
	uint64_t send_ns; /* CLOCK_MONOTONIC just before the send */
};

#endif
