/*
 * RTS before frames that are longer than a threshold, and who gives a CTS.
 *
 * IEEE 802.11-1999, 9.2.5.4 to 9.2.5.7: both reserve the medium to the end of
 * the ACK at all who decode them (NAV); a station whose own NAV runs gives no
 * CTS; a CTS is waited for SIFS and its own length. An RTS without CTS counts
 * as a short try, a frame without ACK then as a long one. A NAV that an RTS
 * set is kept although no frame follows: to end it early is only permitted.
 */
#include "medium.h"

bool rts_is_wanted(const struct frame *frame)
{
	return frame->to != TO_ALL &&
	       frame->bytes + FCS_BYTES > dcf.rts_threshold_bytes;
}

/* What CTS, frame and ACK take, each after SIFS. */
static int64_t reserved_ns(const struct frame *frame)
{
	return 3 * dcf.sifs_ns + 2 * answer_air_ns() + frame_air_ns(frame);
}

void rts_send(unsigned int r, int64_t t_ns)
{
	struct radio *radio = &radios[r];
	const struct frame *frame = &radio->ring[radio->head];
	struct transmission *tx = &radio->tx;

	radio->station = SENDING;
	radio->rts_tries++;
	radio->count.rts_attempts++;
	tx->kind = AIR_RTS;
	tx->frame = NULL;
	tx->to = frame->to;
	tx->tries = radio->rts_tries;
	tx->rate_bps = dcf.ack_rate_bps;
	tx->bytes = RTS_BYTES;
	tx->nav_ns = reserved_ns(frame);
	station_begin(r, t_ns);
}

static void owe_cts(unsigned int from, struct radio *peer, int64_t t_ns)
{
	int64_t nav_ns = radios[from].tx.nav_ns - dcf.sifs_ns - answer_air_ns();

	peer->count.cts_due++;
	if (peer->nav_until_ns > t_ns)
		peer->count.cts_refused++;
	else
		answer_owe(peer, AIR_CTS, from, nav_ns, t_ns);
}

void rts_end(unsigned int r, int64_t t_ns)
{
	struct radio *radio = &radios[r];
	enum outcome outcome = OUT_NO_SUCH_RADIO;
	int to = radio->tx.to;

	if (to >= 0)
		outcome = station_outcome_at(radio, (unsigned int)to);
	if (outcome == OUT_DELIVERED)
		owe_cts(r, &radios[to], t_ns);
	radio->count.rts[outcome]++;
	record_transmission(r, outcome);
	radio->station = AWAITING_CTS;
	radio->due_ns[TIMER_STEP] = t_ns + dcf.sifs_ns + answer_air_ns();
}
