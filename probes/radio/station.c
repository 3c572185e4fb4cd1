/*
 * The distributed coordination function of IEEE 802.11, of all radios.
 *
 * Basic access (IEEE 802.11-1999, 9.2.5): a frame that finds the medium idle
 * for DIFS is sent at once, another after a backoff that stands still while
 * the medium is busy; a unicast frame is answered after SIFS, repeated with a
 * doubled window until it is, or given up; a backoff follows every frame. Two
 * whose backoff ends at one instant send both. What precedes a long frame is
 * in rts.c.
 */
#include "medium.h"

#include <string.h>

struct dcf_settings dcf;

static uint64_t random_state;

/* SplitMix64 (Steele, Lea and Flood, 2014). */
static uint64_t draw(void)
{
	uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

void station_start(uint64_t seed)
{
	random_state = seed;
	for (unsigned int r = 0; r < radio_count; r++) {
		struct radio *radio = &radios[r];

		radio->ring =
		    calloc_or_die(dcf.queue_frames + 1, sizeof(*radio->ring));
		radio->cw = dcf.cw_min;
		radio->defer_ns = dcf.difs_ns;
		radio->answer_to = TO_NOBODY;
		for (unsigned int i = 0; i < TIMERS; i++)
			radio->due_ns[i] = NEVER_NS;
	}
}

static int64_t countdown_ns(const struct radio *radio)
{
	int64_t idle_ns = radio->idle_since_ns + radio->defer_ns;

	if (radio->nav_until_ns + dcf.difs_ns > idle_ns)
		idle_ns = radio->nav_until_ns + dcf.difs_ns;
	return idle_ns > radio->ready_ns ? idle_ns : radio->ready_ns;
}

void station_resume(struct radio *radio, int64_t t_ns)
{
	(void)t_ns;
	if (radio->station != CONTENDING)
		return;
	radio->due_ns[TIMER_STEP] =
	    countdown_ns(radio) + (int64_t)radio->slots * dcf.slot_ns;
}

void station_freeze(struct radio *radio, int64_t t_ns)
{
	int64_t due_ns = radio->due_ns[TIMER_STEP];
	int64_t begin_ns = countdown_ns(radio);

	/* Who begins at this very instant could not yet sense the other. */
	if (radio->station != CONTENDING || due_ns == NEVER_NS ||
	    due_ns == t_ns)
		return;
	if (t_ns > begin_ns)
		radio->slots -= (uint64_t)((t_ns - begin_ns) / dcf.slot_ns);
	radio->due_ns[TIMER_STEP] = NEVER_NS;
}

static void contend(struct radio *radio, uint64_t slots, int64_t ready_ns)
{
	radio->station = CONTENDING;
	radio->slots = slots;
	radio->ready_ns = ready_ns;
	radio->due_ns[TIMER_STEP] = NEVER_NS;
	if (radio->sensed == 0 && !radio->transmitting)
		station_resume(radio, ready_ns);
}

static void back_off(struct radio *radio, int64_t ready_ns)
{
	contend(radio, draw() % (radio->cw + 1), ready_ns);
}

void station_hand_in(unsigned int r, const struct frame *frame, int64_t t_ns)
{
	struct radio *radio = &radios[r];
	unsigned int room = dcf.queue_frames + 1;

	radio->count.handed_in++;
	if (radio->waiting == room) {
		radio->count.dropped_full++;
		hwsim_report(r, frame, 0, false);
		return;
	}
	radio->ring[(radio->head + radio->waiting++) % room] = *frame;
	if (radio->station != QUIET)
		return;
	if (radio->sensed == 0 && !radio->transmitting &&
	    t_ns - radio->idle_since_ns >= radio->defer_ns &&
	    t_ns - radio->nav_until_ns >= dcf.difs_ns)
		contend(radio, 0, t_ns);
	else
		back_off(radio, t_ns);
}

void station_finish(unsigned int r, bool acked, int64_t t_ns)
{
	struct radio *radio = &radios[r];
	/* What RTS failed last count too: a radio has one number for both. */
	unsigned int tries = radio->tries + radio->rts_tries;

	hwsim_report(r, &radio->ring[radio->head],
		     tries < MOST_TRIES ? tries : MOST_TRIES, acked);
	radio->head = (radio->head + 1) % (dcf.queue_frames + 1);
	radio->waiting--;
	radio->tries = 0;
	radio->rts_tries = 0;
	radio->cw = dcf.cw_min;
	back_off(radio, t_ns);
}

void station_begin(unsigned int r, int64_t t_ns)
{
	struct transmission *tx = &radios[r].tx;

	if (radios[r].transmitting)
		die_run("a radio", "one transmission at a time", "two",
			"this is a mistake in wifi_medium");
	tx->begin_ns = t_ns;
	tx->end_ns = t_ns + air_time_ns(tx->bytes, tx->rate_bps);
	radios[r].due_ns[TIMER_END] = tx->end_ns;
	air_begin(r, t_ns);
}

static void send_frame(unsigned int r, int64_t t_ns)
{
	struct radio *radio = &radios[r];
	const struct frame *frame = &radio->ring[radio->head];
	struct transmission *tx = &radio->tx;
	bool is_cleared = radio->station == CLEARED;

	radio->station = SENDING;
	radio->tries++;
	tx->kind = frame->kind;
	tx->frame = frame;
	tx->to = frame->to;
	tx->tries = radio->tries;
	tx->rate_bps = rate_bps_of_index(frame->rate_index);
	tx->bytes = frame->bytes + FCS_BYTES;
	tx->nav_ns = 0;
	if (frame->to == TO_ALL) {
		radio->count.group_attempts++;
	} else {
		radio->count.unicast_attempts++;
		radio->count.protected_attempts += is_cleared;
		tx->nav_ns = dcf.sifs_ns + answer_air_ns();
	}
	station_begin(r, t_ns);
}

enum outcome station_outcome_at(const struct radio *sender, unsigned int at)
{
	if (radios[at].freq_mhz != sender->freq_mhz)
		return OUT_OTHER_CHANNEL;
	switch ((enum hearing)sender->tx.heard[at]) {
	case HEARD:
		return OUT_DELIVERED;
	case COLLIDED:
		return OUT_COLLIDED;
	case DEAF:
		return OUT_RECEIVER_SENDING;
	case UNHEARD:
	case NOISE:
		break;
	}
	return OUT_OUT_OF_RANGE;
}

static void take_in(unsigned int from, unsigned int at)
{
	struct transmission *tx = &radios[from].tx;

	radios[at].count.taken_in++;
	hwsim_deliver(at, tx->frame, air_signal_dbm(tx->power[at]));
}

static void end_group(unsigned int r, int64_t t_ns)
{
	struct radio *radio = &radios[r];

	for (unsigned int at = 0; at < radio_count; at++) {
		enum outcome outcome;

		if (at == r)
			continue;
		outcome = station_outcome_at(radio, at);
		radio->count.group[outcome]++;
		if (outcome == OUT_DELIVERED)
			take_in(r, at);
	}
	record_transmission(r, OUT_DELIVERED);
	radio->count.group_done++;
	station_finish(r, false, t_ns);
}

static void end_unicast(unsigned int r, int64_t t_ns)
{
	struct radio *radio = &radios[r];
	struct frame *frame = &radio->ring[radio->head];
	enum outcome outcome = OUT_NO_SUCH_RADIO;

	if (frame->to >= 0)
		outcome = station_outcome_at(radio, (unsigned int)frame->to);
	if (outcome == OUT_DELIVERED) {
		struct radio *peer = &radios[frame->to];

		if (frame->delivered)
			outcome = OUT_DUPLICATE;
		else
			take_in(r, (unsigned int)frame->to);
		frame->delivered = true;
		peer->count.acks_due++;
		answer_owe(peer, AIR_ACK, r, 0, t_ns);
	}
	radio->count.unicast[outcome]++;
	record_transmission(r, outcome);
	radio->station = AWAITING;
	radio->due_ns[TIMER_STEP] = t_ns + dcf.sifs_ns + answer_air_ns();
}

static void end_transmission(unsigned int r, int64_t t_ns)
{
	struct radio *radio = &radios[r];
	struct transmission *tx = &radio->tx;

	radio->due_ns[TIMER_END] = NEVER_NS;
	radio->count.air_ns[tx->kind] += (uint64_t)(t_ns - tx->begin_ns);
	air_end(r, t_ns);
	if (tx->kind == AIR_ACK)
		ack_end(r, t_ns);
	else if (tx->kind == AIR_RTS)
		rts_end(r, t_ns);
	else if (tx->kind == AIR_CTS)
		cts_end(r, t_ns);
	else if (tx->to == TO_ALL)
		end_group(r, t_ns);
	else
		end_unicast(r, t_ns);
}

/* An answer that does not come now ends what is done for the frame. */
static bool is_last_try(const struct radio *radio)
{
	if (radio->station == AWAITING_CTS)
		return radio->rts_tries >= dcf.retry_limit;
	if (rts_is_wanted(&radio->ring[radio->head]))
		return radio->tries >= dcf.long_retry_limit;
	return radio->tries >= dcf.retry_limit;
}

static bool is_awaiting(const struct radio *radio)
{
	return radio->station == AWAITING || radio->station == AWAITING_CTS;
}

static void time_out(unsigned int r, int64_t t_ns)
{
	struct radio *radio = &radios[r];

	if (radio->station == AWAITING)
		radio->count.timeouts++;
	else
		radio->count.cts_timeouts++;
	if (is_last_try(radio)) {
		radio->count.given_up++;
		if (radio->ring[radio->head].kind == AIR_MANAGEMENT)
			radio->count.given_up_management++;
		station_finish(r, false, t_ns + dcf.difs_ns);
		return;
	}
	radio->count.retries++;
	radio->cw = radio->cw * 2 + 1;
	if (radio->cw > dcf.cw_max)
		radio->cw = dcf.cw_max;
	back_off(radio, t_ns + dcf.difs_ns);
}

static void step(unsigned int r, int64_t t_ns)
{
	struct radio *radio = &radios[r];

	radio->due_ns[TIMER_STEP] = NEVER_NS;
	if (is_awaiting(radio))
		time_out(r, t_ns);
	else if (radio->waiting == 0)
		radio->station = QUIET;
	else if (radio->station != CLEARED &&
		 rts_is_wanted(&radio->ring[radio->head]))
		rts_send(r, t_ns);
	else
		send_frame(r, t_ns);
}

static int64_t next_of(unsigned int *timer, unsigned int *r)
{
	int64_t next_ns = NEVER_NS;

	for (unsigned int i = 0; i < TIMERS; i++) {
		for (unsigned int at = 0; at < radio_count; at++) {
			if (radios[at].due_ns[i] >= next_ns)
				continue;
			next_ns = radios[at].due_ns[i];
			*timer = i;
			*r = at;
		}
	}
	return next_ns;
}

/*
 * When a station's own step may lead to something that the kernel is told: not
 * before its next frame has been sent.
 */
static int64_t step_tells_ns(const struct radio *radio)
{
	const struct frame *frame = &radio->ring[radio->head];
	int64_t due_ns = radio->due_ns[TIMER_STEP];

	if (due_ns == NEVER_NS || radio->waiting == 0)
		return NEVER_NS;
	if (is_awaiting(radio) && is_last_try(radio))
		return due_ns;
	if (radio->station != CLEARED && rts_is_wanted(frame))
		return due_ns + rts_air_ns() + dcf.sifs_ns + answer_air_ns();
	return due_ns + frame_air_ns(frame);
}

/* What ends may be told then; after RTS and CTS the next frame at best. */
static int64_t end_tells_ns(const struct radio *radio)
{
	int64_t end_ns = radio->due_ns[TIMER_END];

	if (end_ns == NEVER_NS ||
	    (radio->tx.kind != AIR_RTS && radio->tx.kind != AIR_CTS))
		return end_ns;
	return end_ns + dcf.sifs_ns + dcf.preamble_ns;
}

int64_t station_next_ns(void)
{
	int64_t ack_ns = answer_air_ns();
	int64_t next_ns = NEVER_NS;

	for (unsigned int r = 0; r < radio_count; r++) {
		const struct radio *radio = &radios[r];
		int64_t answer_ns = radio->due_ns[TIMER_ANSWER];
		int64_t tells_ns = step_tells_ns(radio);
		int64_t end_ns = end_tells_ns(radio);

		if (answer_ns != NEVER_NS && answer_ns + ack_ns < tells_ns)
			tells_ns = answer_ns + ack_ns;
		if (end_ns < tells_ns)
			tells_ns = end_ns;
		if (tells_ns < next_ns)
			next_ns = tells_ns;
	}
	return next_ns;
}

void station_run_until(int64_t now_ns)
{
	unsigned int timer = 0, r = 0;
	int64_t t_ns;

	while ((t_ns = next_of(&timer, &r)) <= now_ns && t_ns != NEVER_NS) {
		if (timer == TIMER_END)
			end_transmission(r, t_ns);
		else if (timer == TIMER_ANSWER)
			answer_send(r, t_ns);
		else
			step(r, t_ns);
	}
}
