/*
 * How long frames are on the air: preamble and PLCP header, then the bits.
 *
 * Invariant: a time is rounded up to the nanosecond.
 */
#include "medium.h"

uint64_t rate_bps_of_index(uint8_t index)
{
	static const uint64_t rates_bps[] = {1000000, 2000000, 5500000,
					     11000000};

	return index < 4 ? rates_bps[index] : 0;
}

int64_t air_time_ns(uint32_t bytes, uint64_t rate_bps)
{
	uint64_t bit_ns = (uint64_t)bytes * 8 * (uint64_t)NS_PER_S;

	return dcf.preamble_ns + (int64_t)((bit_ns + rate_bps - 1) / rate_bps);
}

int64_t frame_air_ns(const struct frame *frame)
{
	return air_time_ns(frame->bytes + FCS_BYTES,
			   rate_bps_of_index(frame->rate_index));
}

int64_t answer_air_ns(void)
{
	return air_time_ns(ANSWER_BYTES, dcf.ack_rate_bps);
}

int64_t rts_air_ns(void)
{
	return air_time_ns(RTS_BYTES, dcf.ack_rate_bps);
}
