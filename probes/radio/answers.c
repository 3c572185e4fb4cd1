/*
 * CTS and ACK: sent SIFS after what they answer, whatever the medium is like.
 *
 * IEEE 802.11-1999, 9.2.5.7 and 9.2.8. Invariant: a radio owes one answer at
 * most, for two frames that end within SIFS were not both decoded.
 */
#include "medium.h"

void answer_owe(struct radio *radio, enum air_kind kind, unsigned int to,
		int64_t nav_ns, int64_t t_ns)
{
	radio->answer_to = (int)to;
	radio->answer_kind = kind;
	radio->answer_nav_ns = nav_ns;
	radio->due_ns[TIMER_ANSWER] = t_ns + dcf.sifs_ns;
}

void answer_send(unsigned int r, int64_t t_ns)
{
	struct radio *radio = &radios[r];
	struct transmission *tx = &radio->tx;
	bool is_cts = radio->answer_kind == AIR_CTS;

	radio->due_ns[TIMER_ANSWER] = NEVER_NS;
	if (radio->transmitting) {
		radio->count.cts_unsent += is_cts;
		radio->count.acks_unsent += !is_cts;
		return;
	}
	radio->count.cts_sent += is_cts;
	radio->count.acks_sent += !is_cts;
	tx->kind = radio->answer_kind;
	tx->frame = NULL;
	tx->to = radio->answer_to;
	tx->tries = 1;
	tx->rate_bps = dcf.ack_rate_bps;
	tx->bytes = ANSWER_BYTES;
	tx->nav_ns = radio->answer_nav_ns;
	station_begin(r, t_ns);
}

/* Returns who it was for, or NULL if that did not decode it. */
static struct radio *decoded(unsigned int r, uint64_t *outcomes,
			     enum station waiting)
{
	unsigned int to = (unsigned int)radios[r].tx.to;
	struct radio *peer = &radios[to];
	enum outcome outcome = station_outcome_at(&radios[r], to);

	outcomes[outcome]++;
	record_transmission(r, outcome);
	if (outcome != OUT_DELIVERED)
		return NULL;
	if (peer->station != waiting || peer->ring[peer->head].to != (int)r)
		die_run("an ACK or a CTS", "a sender that waits for it",
			"another", "this is a mistake in wifi_medium");
	return peer;
}

void ack_end(unsigned int r, int64_t t_ns)
{
	struct radio *peer = decoded(r, radios[r].count.ack, AWAITING);

	if (peer == NULL)
		return;
	peer->count.acked++;
	station_finish((unsigned int)radios[r].tx.to, true, t_ns);
}

void cts_end(unsigned int r, int64_t t_ns)
{
	struct radio *peer = decoded(r, radios[r].count.cts, AWAITING_CTS);

	if (peer == NULL)
		return;
	peer->count.rts_answered++;
	peer->rts_tries = 0;
	peer->station = CLEARED;
	peer->due_ns[TIMER_STEP] = t_ns + dcf.sifs_ns;
}
