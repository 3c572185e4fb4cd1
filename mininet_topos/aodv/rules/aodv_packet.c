/* AODV's messages between bytes and structures. */
#include "aodv_packet.h"

#define EXTENSION_HEADER_BYTES 2
#define HELLO_INTERVAL_EXTENSION 1
#define HELLO_INTERVAL_BYTES 4
/* Extensions from here on may not be skipped by who does not know them. */
#define FIRST_MANDATORY_EXTENSION 128

#define RREQ_JOIN 0x80
#define RREQ_REPAIR 0x40
#define RREQ_GRATUITOUS 0x20
#define RREQ_DESTINATION_ONLY 0x10
#define RREQ_UNKNOWN_SEQ 0x08
#define RREP_REPAIR 0x80
#define RREP_ACK_REQUIRED 0x40
#define RREP_PREFIX_MASK 0x1f
#define RERR_NO_DELETE 0x80

static uint32_t get32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
	       (uint32_t)bytes[2] << 8 | bytes[3];
}

static void put32(uint8_t *bytes, uint32_t value)
{
	bytes[0] = (uint8_t)(value >> 24);
	bytes[1] = (uint8_t)(value >> 16);
	bytes[2] = (uint8_t)(value >> 8);
	bytes[3] = (uint8_t)value;
}

unsigned int aodv_type_of(const uint8_t *bytes, size_t length)
{
	return length ? bytes[0] : 0;
}

/* Walks over the extensions; the hello interval is kept when wanted. */
static enum aodv_fault parse_extensions(const uint8_t *bytes, size_t length,
					uint32_t *hello_interval_ms)
{
	while (length) {
		size_t data_bytes;

		if (length < EXTENSION_HEADER_BYTES)
			return AODV_TRUNCATED;
		data_bytes = bytes[1];
		if (length < EXTENSION_HEADER_BYTES + data_bytes)
			return AODV_TRUNCATED;
		if (bytes[0] >= FIRST_MANDATORY_EXTENSION || bytes[0] == 0)
			return AODV_UNKNOWN_EXTENSION;
		if (bytes[0] == HELLO_INTERVAL_EXTENSION && hello_interval_ms) {
			if (data_bytes != HELLO_INTERVAL_BYTES)
				return AODV_WRONG_LENGTH;
			*hello_interval_ms = get32(bytes + 2);
		}
		bytes += EXTENSION_HEADER_BYTES + data_bytes;
		length -= EXTENSION_HEADER_BYTES + data_bytes;
	}
	return AODV_GOOD;
}

enum aodv_fault aodv_parse_rreq(const uint8_t *bytes, size_t length,
				struct aodv_rreq *rreq)
{
	if (length < AODV_RREQ_BYTES)
		return AODV_TRUNCATED;
	*rreq = (struct aodv_rreq){
	    .join = bytes[1] & RREQ_JOIN,
	    .repair = bytes[1] & RREQ_REPAIR,
	    .gratuitous = bytes[1] & RREQ_GRATUITOUS,
	    .destination_only = bytes[1] & RREQ_DESTINATION_ONLY,
	    .unknown_seq = bytes[1] & RREQ_UNKNOWN_SEQ,
	    .hops = bytes[3],
	    .id = get32(bytes + AODV_RREQ_ID_OFFSET),
	    .destination = get32(bytes + 8),
	    .destination_seq = get32(bytes + 12),
	    .originator = get32(bytes + AODV_RREQ_ORIGINATOR_OFFSET),
	    .originator_seq = get32(bytes + 20),
	};
	return parse_extensions(bytes + AODV_RREQ_BYTES,
				length - AODV_RREQ_BYTES, NULL);
}

enum aodv_fault aodv_parse_rrep(const uint8_t *bytes, size_t length,
				struct aodv_rrep *rrep)
{
	if (length < AODV_RREP_BYTES)
		return AODV_TRUNCATED;
	*rrep = (struct aodv_rrep){
	    .repair = bytes[1] & RREP_REPAIR,
	    .ack_required = bytes[1] & RREP_ACK_REQUIRED,
	    .prefix_bits = bytes[2] & RREP_PREFIX_MASK,
	    .hops = bytes[3],
	    .destination = get32(bytes + 4),
	    .destination_seq = get32(bytes + 8),
	    .originator = get32(bytes + 12),
	    .lifetime_ms = get32(bytes + 16),
	};
	return parse_extensions(bytes + AODV_RREP_BYTES,
				length - AODV_RREP_BYTES,
				&rrep->hello_interval_ms);
}

enum aodv_fault aodv_parse_rerr(const uint8_t *bytes, size_t length,
				struct aodv_rerr *rerr)
{
	if (length < AODV_RERR_HEADER_BYTES)
		return AODV_TRUNCATED;
	rerr->no_delete = bytes[1] & RERR_NO_DELETE;
	rerr->count = bytes[3];
	if (rerr->count == 0)
		return AODV_NO_DESTINATIONS;
	if (length <
	    AODV_RERR_HEADER_BYTES + (size_t)rerr->count * AODV_RERR_EACH_BYTES)
		return AODV_TRUNCATED;
	if (length >
	    AODV_RERR_HEADER_BYTES + (size_t)rerr->count * AODV_RERR_EACH_BYTES)
		return AODV_WRONG_LENGTH;
	bytes += AODV_RERR_HEADER_BYTES;
	for (unsigned int i = 0; i < rerr->count; i++) {
		rerr->at[i].destination = get32(bytes);
		rerr->at[i].seq = get32(bytes + 4);
		bytes += AODV_RERR_EACH_BYTES;
	}
	return AODV_GOOD;
}

enum aodv_fault aodv_parse_rrep_ack(size_t length)
{
	if (length < AODV_RREP_ACK_BYTES)
		return AODV_TRUNCATED;
	return length > AODV_RREP_ACK_BYTES ? AODV_WRONG_LENGTH : AODV_GOOD;
}

size_t aodv_build_rreq(const struct aodv_rreq *rreq, uint8_t *bytes)
{
	bytes[0] = AODV_RREQ;
	bytes[1] =
	    (uint8_t)((rreq->join ? RREQ_JOIN : 0) |
		      (rreq->repair ? RREQ_REPAIR : 0) |
		      (rreq->gratuitous ? RREQ_GRATUITOUS : 0) |
		      (rreq->destination_only ? RREQ_DESTINATION_ONLY : 0) |
		      (rreq->unknown_seq ? RREQ_UNKNOWN_SEQ : 0));
	bytes[2] = 0;
	bytes[3] = rreq->hops;
	put32(bytes + 4, rreq->id);
	put32(bytes + 8, rreq->destination);
	put32(bytes + 12, rreq->destination_seq);
	put32(bytes + 16, rreq->originator);
	put32(bytes + 20, rreq->originator_seq);
	return AODV_RREQ_BYTES;
}

size_t aodv_build_rrep(const struct aodv_rrep *rrep, uint8_t *bytes)
{
	bytes[0] = AODV_RREP;
	bytes[1] = (uint8_t)((rrep->repair ? RREP_REPAIR : 0) |
			     (rrep->ack_required ? RREP_ACK_REQUIRED : 0));
	bytes[2] = rrep->prefix_bits & RREP_PREFIX_MASK;
	bytes[3] = rrep->hops;
	put32(bytes + 4, rrep->destination);
	put32(bytes + 8, rrep->destination_seq);
	put32(bytes + 12, rrep->originator);
	put32(bytes + 16, rrep->lifetime_ms);
	if (rrep->hello_interval_ms == 0)
		return AODV_RREP_BYTES;
	bytes[20] = HELLO_INTERVAL_EXTENSION;
	bytes[21] = HELLO_INTERVAL_BYTES;
	put32(bytes + 22, rrep->hello_interval_ms);
	return AODV_RREP_BYTES + AODV_HELLO_EXTENSION_BYTES;
}

size_t aodv_build_rerr(const struct aodv_rerr *rerr, uint8_t *bytes)
{
	uint8_t *at = bytes + AODV_RERR_HEADER_BYTES;

	bytes[0] = AODV_RERR;
	bytes[1] = rerr->no_delete ? RERR_NO_DELETE : 0;
	bytes[2] = 0;
	bytes[3] = rerr->count;
	for (unsigned int i = 0; i < rerr->count; i++) {
		put32(at, rerr->at[i].destination);
		put32(at + 4, rerr->at[i].seq);
		at += AODV_RERR_EACH_BYTES;
	}
	return (size_t)(at - bytes);
}

size_t aodv_build_rrep_ack(uint8_t *bytes)
{
	bytes[0] = AODV_RREP_ACK;
	bytes[1] = 0;
	return AODV_RREP_ACK_BYTES;
}
