/*
 * What the parts of wifi_medium share: radios, frames, what is on the air.
 *
 * Invariants: one thread, one clock (CLOCK_MONOTONIC, in ns), one generator;
 * whatever happens at one instant happens in one order: transmissions end,
 * then answers begin, then stations step, each by number of radio.
 */
#ifndef RADIO_MEDIUM_H
#define RADIO_MEDIUM_H

#include "probe_common.h"

#include <stdio.h>

#define MAX_RADIOS 128
#define MAX_FRAME_BYTES 2400
#define MAC_BYTES 6
#define NEVER_NS INT64_MAX
#define TX_RATES 4

enum air_kind {
	AIR_DATA,
	AIR_BROADCAST,
	AIR_MANAGEMENT,
	AIR_ACK,
	AIR_KINDS,
};

/* What became of one transmission at one radio it was meant for. */
enum outcome {
	OUT_DELIVERED,
	OUT_DUPLICATE,
	OUT_COLLIDED,
	OUT_OUT_OF_RANGE,
	OUT_RECEIVER_SENDING,
	OUT_OTHER_CHANNEL,
	OUT_NO_SUCH_RADIO,
	OUT_UNDER_WAY,
	OUTCOMES,
};

/* What a radio makes of a transmission while it lasts. */
enum hearing { UNHEARD, NOISE, HEARD, COLLIDED, DEAF };

enum { TO_ALL = -1, TO_NOBODY = -2 };

enum timer { TIMER_END, TIMER_ANSWER, TIMER_STEP, TIMERS };
enum station { QUIET, CONTENDING, SENDING, AWAITING };

struct frame {
	uint64_t cookie;
	uint32_t flags;
	int to;
	bool delivered;
	uint8_t rate_index;
	enum air_kind kind;
	uint32_t bytes;
	uint8_t data[MAX_FRAME_BYTES];
};

struct transmission {
	enum air_kind kind;
	const struct frame *frame; /* NULL: an ACK */
	int to;
	unsigned int tries;
	uint64_t rate_bps;
	uint32_t bytes;
	int64_t begin_ns, end_ns;
	uint8_t heard[MAX_RADIOS];
	double power[MAX_RADIOS];
};

struct counters {
	uint64_t handed_in, dropped_full, acked, given_up, group_done;
	uint64_t unicast_attempts, group_attempts, timeouts, retries;
	uint64_t unicast[OUTCOMES], group[OUTCOMES], ack[OUTCOMES];
	uint64_t acks_due, acks_sent, acks_unsent, taken_in;
	uint64_t air_ns[AIR_KINDS];
};

struct radio {
	uint8_t mac[MAC_BYTES];
	unsigned int node;
	unsigned int freq_mhz;
	struct frame *ring;
	unsigned int head, waiting;
	enum station station;
	unsigned int cw, tries;
	uint64_t slots;
	/* nav_until_ns: kept free for the ACK of a frame it overheard. */
	int64_t idle_since_ns, defer_ns, ready_ns, nav_until_ns;
	int64_t due_ns[TIMERS];
	unsigned int sensed;
	bool transmitting;
	int answer_to;
	struct transmission tx;
	struct counters count;
};

struct dcf_settings {
	/* CLOCK_MONOTONIC at time 0 of the movement. */
	int64_t origin_ns;
	int64_t slot_ns, sifs_ns, difs_ns, preamble_ns;
	unsigned int cw_min, cw_max, retry_limit, queue_frames;
	uint64_t ack_rate_bps;
	double range_mm2, sense_mm2;
	double capture_ratio; /* 0: two that overlap are both lost */
};

extern struct dcf_settings dcf;
extern struct radio radios[MAX_RADIOS];
extern unsigned int radio_count;

/* table.c */
void table_read_or_die(const char *path);
int table_find(const uint8_t mac[MAC_BYTES]);

/* movement.c */
void movement_read_or_die(const char *path, unsigned int nodes);
void movement_position(unsigned int node, int64_t t_ns, double *x_mm,
		       double *y_mm);

/* air.c */
void air_begin(unsigned int sender, int64_t t_ns);
void air_end(unsigned int sender, int64_t t_ns);
int32_t air_signal_dbm(double power);

/* station.c */
void station_start(uint64_t seed);
void station_hand_in(unsigned int r, const struct frame *frame, int64_t t_ns);
void station_freeze(struct radio *radio, int64_t t_ns);
void station_resume(struct radio *radio, int64_t t_ns);
/*
 * The next instant at which the kernel may have to be told something; what
 * happens before is worked off then, at its own time. NEVER_NS: none.
 */
int64_t station_next_ns(void);
void station_run_until(int64_t now_ns);
uint64_t rate_bps_of_index(uint8_t index);
int64_t air_time_ns(uint32_t bytes, uint64_t rate_bps);

/* hwsim.c */
int hwsim_open_or_die(void);
void hwsim_take_frames(int64_t now_ns);
void hwsim_deliver(unsigned int to, const struct frame *frame,
		   int32_t signal_dbm);
void hwsim_report(unsigned int from, const struct frame *frame,
		  unsigned int tries, bool acked);
void hwsim_flush(void);
uint64_t hwsim_refused(void);

/* record.c */
void record_open_or_die(const char *frames_path, const char *pcap_path);
void record_transmission(unsigned int sender, enum outcome outcome);
void record_close_or_die(void);

/* totals.c */
void totals_report(int64_t began_ns, int64_t ended_ns);

#endif
