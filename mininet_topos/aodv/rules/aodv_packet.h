/*
 * The four messages of AODV (RFC 3561, section 5) and their extension
 * (section 9), between bytes and structures.
 *
 * Invariants: addresses and numbers are in host order; a parser reads only
 * what lies inside the given length and takes nothing that is too short, too
 * long or has an extension that may not be skipped; a builder writes each
 * reserved bit as zero.
 */
#ifndef AODV_PACKET_H
#define AODV_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AODV_PORT 654
#define AODV_RREQ_BYTES 24
#define AODV_RREQ_ID_OFFSET 4
#define AODV_RREQ_ORIGINATOR_OFFSET 16
#define AODV_RREP_BYTES 20
#define AODV_RERR_HEADER_BYTES 4
#define AODV_RERR_EACH_BYTES 8
#define AODV_RREP_ACK_BYTES 2
#define AODV_HELLO_EXTENSION_BYTES 6
#define AODV_MOST_UNREACHABLE 255
/* So many fit into one packet of an Ethernet's size; the rest needs another. */
#define AODV_MOST_SENT_UNREACHABLE 180
/* The longest message that is built. */
#define AODV_MOST_BYTES                                                        \
	(AODV_RERR_HEADER_BYTES +                                              \
	 AODV_MOST_SENT_UNREACHABLE * AODV_RERR_EACH_BYTES)

enum aodv_type {
	AODV_RREQ = 1,
	AODV_RREP = 2,
	AODV_RERR = 3,
	AODV_RREP_ACK = 4,
};

enum aodv_fault {
	AODV_GOOD,
	AODV_TRUNCATED,
	AODV_WRONG_LENGTH,
	AODV_UNKNOWN_TYPE,
	AODV_UNKNOWN_EXTENSION,
	AODV_NO_DESTINATIONS,
};

struct aodv_rreq {
	bool join;
	bool repair;
	bool gratuitous;
	bool destination_only;
	bool unknown_seq;
	uint8_t hops;
	uint32_t id;
	uint32_t destination;
	uint32_t destination_seq;
	uint32_t originator;
	uint32_t originator_seq;
};

struct aodv_rrep {
	bool repair;
	bool ack_required;
	uint8_t prefix_bits;
	uint8_t hops;
	uint32_t destination;
	uint32_t destination_seq;
	uint32_t originator;
	uint32_t lifetime_ms;
	/* The extension of section 9.1; 0 when there is none. */
	uint32_t hello_interval_ms;
};

struct aodv_unreachable {
	uint32_t destination;
	uint32_t seq;
};

struct aodv_rerr {
	bool no_delete;
	uint8_t count;
	struct aodv_unreachable at[AODV_MOST_UNREACHABLE];
};

/* The type a message says it has; 0 for an empty one. */
unsigned int aodv_type_of(const uint8_t *bytes, size_t length);

enum aodv_fault aodv_parse_rreq(const uint8_t *bytes, size_t length,
				struct aodv_rreq *rreq);
enum aodv_fault aodv_parse_rrep(const uint8_t *bytes, size_t length,
				struct aodv_rrep *rrep);
enum aodv_fault aodv_parse_rerr(const uint8_t *bytes, size_t length,
				struct aodv_rerr *rerr);
enum aodv_fault aodv_parse_rrep_ack(size_t length);

/* Each returns how many bytes it wrote. */
size_t aodv_build_rreq(const struct aodv_rreq *rreq, uint8_t *bytes);
size_t aodv_build_rrep(const struct aodv_rrep *rrep, uint8_t *bytes);
size_t aodv_build_rerr(const struct aodv_rerr *rerr, uint8_t *bytes);
size_t aodv_build_rrep_ack(uint8_t *bytes);

#endif
