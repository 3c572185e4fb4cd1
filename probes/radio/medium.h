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
/* The kernel is told in 8 bits. */
#define MOST_TRIES 255U
#define FCS_BYTES 4U
#define RTS_BYTES 20U
/* ACK and CTS. */
#define ANSWER_BYTES 14U

enum air_kind {
	AIR_DATA,
	AIR_BROADCAST,
	AIR_MANAGEMENT,
	AIR_ACK,
	AIR_RTS,
	AIR_CTS,
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
/* CLEARED: has its CTS, and sends the frame after SIFS. */
enum station {
	QUIET,
	CONTENDING,
	SENDING,
	AWAITING_CTS,
	CLEARED,
	AWAITING,
};

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
	const struct frame *frame; /* NULL: RTS, CTS or ACK */
	int to;
	unsigned int tries;
	uint64_t rate_bps;
	uint32_t bytes;
	/* nav_ns: how long others keep quiet after its end. */
	int64_t begin_ns, end_ns, nav_ns;
	uint8_t heard[MAX_RADIOS];
	double power[MAX_RADIOS];
};

struct counters {
	uint64_t handed_in, dropped_full, acked, given_up, group_done;
	uint64_t given_up_management; /* of those given up */
	uint64_t unicast_attempts, group_attempts, timeouts, retries;
	uint64_t unicast[OUTCOMES], group[OUTCOMES], ack[OUTCOMES];
	uint64_t acks_due, acks_sent, acks_unsent, taken_in;
	uint64_t rts_attempts, rts_answered, cts_timeouts, protected_attempts;
	uint64_t rts[OUTCOMES], cts[OUTCOMES];
	uint64_t cts_due, cts_sent, cts_unsent, cts_refused;
	uint64_t air_ns[AIR_KINDS];
};

struct radio {
	uint8_t mac[MAC_BYTES];
	unsigned int node;
	unsigned int freq_mhz;
	struct frame *ring;
	unsigned int head, waiting;
	enum station station;
	/* tries: of the frame itself; rts_tries: since the last CTS. */
	unsigned int cw, tries, rts_tries;
	uint64_t slots;
	/* nav_until_ns: kept free for what follows a frame it overheard. */
	int64_t idle_since_ns, defer_ns, ready_ns, nav_until_ns;
	/* When the last frame ended that it decoded. */
	int64_t decoded_ns;
	int64_t due_ns[TIMERS];
	unsigned int sensed;
	bool transmitting;
	int answer_to;
	/* AIR_ACK or AIR_CTS, and what a CTS reserves after itself. */
	enum air_kind answer_kind;
	int64_t answer_nav_ns;
	struct transmission tx;
	struct counters count;
};

struct dcf_settings {
	/* CLOCK_MONOTONIC at time 0 of the movement. */
	int64_t origin_ns;
	int64_t slot_ns, sifs_ns, difs_ns, preamble_ns;
	unsigned int cw_min, cw_max, retry_limit, long_retry_limit;
	unsigned int queue_frames;
	/* Of ACK, RTS and CTS. */
	uint64_t ack_rate_bps;
	/* Unicast frames longer than this are sent after RTS and CTS. */
	uint64_t rts_threshold_bytes;
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
void station_begin(unsigned int r, int64_t t_ns);
void station_finish(unsigned int r, bool acked, int64_t t_ns);
enum outcome station_outcome_at(const struct radio *sender, unsigned int at);

/* air_times.c */
uint64_t rate_bps_of_index(uint8_t index);
int64_t air_time_ns(uint32_t bytes, uint64_t rate_bps);
/* How long a frame of the kernel is on the air. */
int64_t frame_air_ns(const struct frame *frame);
/* How long an ACK or a CTS is. */
int64_t answer_air_ns(void);
int64_t rts_air_ns(void);

/* rts.c */
bool rts_is_wanted(const struct frame *frame);
void rts_send(unsigned int r, int64_t t_ns);
void rts_end(unsigned int r, int64_t t_ns);

/* answers.c */
void answer_owe(struct radio *radio, enum air_kind kind, unsigned int to,
		int64_t nav_ns, int64_t t_ns);
void answer_send(unsigned int r, int64_t t_ns);
void ack_end(unsigned int r, int64_t t_ns);
void cts_end(unsigned int r, int64_t t_ns);

/* hwsim.c */
int hwsim_open_or_die(void);
/* When the kernel handed in the latest. */
int64_t hwsim_last_frame_ns(void);
/* A message of the kernel: a frame, or that it refused one. */
void hwsim_take(const uint8_t *data, size_t bytes, int64_t now_ns);
void hwsim_deliver(unsigned int to, const struct frame *frame,
		   int32_t signal_dbm);
void hwsim_report(unsigned int from, const struct frame *frame,
		  unsigned int tries, bool acked);
void hwsim_flush(void);
/* The same with the next ring_wait(). */
void hwsim_flush_later(void);
uint64_t hwsim_refused(void);

/* record.c */
void record_open_or_die(const char *frames_path, const char *pcap_path);
void record_transmission(unsigned int sender, enum outcome outcome);
void record_close_or_die(void);

/* totals.c */
void totals_report(int64_t began_ns, int64_t ended_ns);

#endif
