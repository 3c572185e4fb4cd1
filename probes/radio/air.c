/*
 * Who hears what: signals that overlap, and what each radio makes of them.
 *
 * A signal is decoded within the range and sensed within the range of carrier
 * sense, by the place of both when it begins. A radio follows the first signal
 * that it can decode; another that overlaps destroys it, unless capture is on
 * and the first is that much stronger. Power falls with the square of the
 * distance up to the crossover of two-ray ground, with the fourth power beyond
 * (Rappaport, Wireless Communications, 2nd ed., 4.6). Nothing takes time to
 * travel.
 */
#include "medium.h"

#include <math.h>
#include <string.h>

/* 4 pi h h / lambda at 914 MHz, 1.5 m high, as ns-2 has them: 86.14 m. */
#define CROSSOVER_MM 86142.4
/* ns-2's 281.8 mW by Friis, in dBm at 1 mm of distance, sqrt(gain) 1. */
#define DBM_AT_1_MM 52.83

static unsigned int on_air[MAX_RADIOS];
static unsigned int on_air_count;

static double power_at(double mm2)
{
	double near_mm2 = CROSSOVER_MM * CROSSOVER_MM;

	if (mm2 < 1)
		mm2 = 1;
	return mm2 < near_mm2 ? 1 / mm2 : near_mm2 / (mm2 * mm2);
}

int32_t air_signal_dbm(double power)
{
	return (int32_t)lround(DBM_AT_1_MM + 10 * log10(power));
}

static bool is_captured(double wanted, double other)
{
	return dcf.capture_ratio > 0 && wanted >= dcf.capture_ratio * other;
}

static enum hearing first_hearing(const struct transmission *tx,
				  unsigned int at, bool is_decodable)
{
	enum hearing hearing = is_decodable ? HEARD : NOISE;

	for (unsigned int i = 0; i < on_air_count; i++) {
		struct transmission *other = &radios[on_air[i]].tx;

		if (on_air[i] == at || other->heard[at] == UNHEARD)
			continue;
		if (hearing == HEARD &&
		    (other->heard[at] == HEARD ||
		     !is_captured(tx->power[at], other->power[at])))
			hearing = COLLIDED;
		if (other->heard[at] == HEARD &&
		    !is_captured(other->power[at], tx->power[at]))
			other->heard[at] = COLLIDED;
	}
	if (radios[at].transmitting)
		return is_decodable ? DEAF : NOISE;
	return hearing;
}

static void reach(unsigned int sender, unsigned int at, int64_t t_ns,
		  double x_mm, double y_mm)
{
	struct transmission *tx = &radios[sender].tx;
	double there_x_mm, there_y_mm, mm2;

	if (at == sender || radios[at].freq_mhz != radios[sender].freq_mhz)
		return;
	movement_position(radios[at].node, t_ns, &there_x_mm, &there_y_mm);
	mm2 = (there_x_mm - x_mm) * (there_x_mm - x_mm) +
	      (there_y_mm - y_mm) * (there_y_mm - y_mm);
	if (mm2 > dcf.sense_mm2)
		return;
	tx->power[at] = power_at(mm2);
	tx->heard[at] = (uint8_t)first_hearing(tx, at, mm2 <= dcf.range_mm2);
	radios[at].sensed++;
	station_freeze(&radios[at], t_ns);
}

void air_begin(unsigned int sender, int64_t t_ns)
{
	struct radio *radio = &radios[sender];
	double x_mm, y_mm;

	for (unsigned int i = 0; i < on_air_count; i++) {
		uint8_t *heard = &radios[on_air[i]].tx.heard[sender];

		if (*heard == HEARD)
			*heard = DEAF;
	}
	radio->transmitting = true;
	station_freeze(radio, t_ns);
	memset(radio->tx.heard, UNHEARD, sizeof(radio->tx.heard));
	movement_position(radio->node, t_ns, &x_mm, &y_mm);
	for (unsigned int at = 0; at < radio_count; at++)
		reach(sender, at, t_ns, x_mm, y_mm);
	on_air[on_air_count++] = sender;
}

/*
 * EIFS follows a reception that failed (9.2.3.4): not what the radio missed as
 * it was sending, nor what ended together with a frame that it decoded.
 */
static bool is_failed(const struct transmission *tx, unsigned int at,
		      int64_t t_ns)
{
	return (tx->heard[at] == NOISE || tx->heard[at] == COLLIDED) &&
	       radios[at].tx.end_ns <= tx->begin_ns &&
	       radios[at].decoded_ns != t_ns;
}

static void fall_idle(struct radio *radio, int64_t t_ns, bool was_damaged)
{
	if (radio->sensed > 0 || radio->transmitting)
		return;
	radio->idle_since_ns = t_ns;
	/* After what could not be decoded: EIFS, room for an ACK. */
	radio->defer_ns = dcf.difs_ns;
	if (was_damaged)
		radio->defer_ns += dcf.sifs_ns + air_time_ns(14, 1000000);
	station_resume(radio, t_ns);
}

void air_end(unsigned int sender, int64_t t_ns)
{
	struct radio *radio = &radios[sender];
	unsigned int kept = 0;
	int64_t nav_ns = t_ns + radio->tx.nav_ns;

	for (unsigned int i = 0; i < on_air_count; i++) {
		if (on_air[i] != sender)
			on_air[kept++] = on_air[i];
	}
	on_air_count = kept;
	radio->transmitting = false;
	fall_idle(radio, t_ns, false);
	for (unsigned int at = 0; at < radio_count; at++) {
		uint8_t heard = radio->tx.heard[at];

		if (heard == UNHEARD)
			continue;
		radios[at].sensed--;
		if (heard == HEARD && (int)at != radio->tx.to &&
		    nav_ns > radios[at].nav_until_ns)
			radios[at].nav_until_ns = nav_ns;
		if (heard == HEARD)
			radios[at].decoded_ns = t_ns;
		fall_idle(&radios[at], t_ns, is_failed(&radio->tx, at, t_ns));
	}
}
