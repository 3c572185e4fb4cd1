/*
 * Counts arriving bytes: in all, inside the measurement window, and per
 * interval.
 *
 * Each arrival names its interval, and the arrival that opens a new one prints
 * the one before. Invariants: arrivals come in the order of
 * time; intervals in which nothing arrived are not printed; an interval is cut
 * where the window starts and where it ends, so that the printed intervals
 * with in_window add up to the window's bytes.
 */
#ifndef PROBE_METER_H
#define PROBE_METER_H

#include "probe_common.h"

enum window_side { BEFORE_WINDOW, IN_WINDOW, AFTER_WINDOW };

struct goodput_meter {
	/*
	 * Settings; the window's bounds count from the epoch, and the end is
	 * INT64_MAX for a window without one.
	 */
	int64_t epoch_ns;
	int64_t interval_ns;
	int64_t window_start_ns;
	int64_t window_end_ns;
	bool counts_messages;
	/* The interval being filled. */
	bool interval_is_open;
	enum window_side interval_side;
	int64_t interval_index;
	uint64_t interval_bytes;
	uint64_t interval_messages;
	/* Since the start. */
	uint64_t bytes;
	uint64_t window_bytes;
	uint64_t messages;
	int64_t first_byte_ns;
	/* NO_TIME_NS also where only its interval is known. */
	int64_t last_byte_ns;
};

void meter_start(struct goodput_meter *meter, int64_t epoch_ns,
		 int64_t interval_ns, int64_t window_start_ns,
		 int64_t window_end_ns, bool counts_messages);
void meter_add(struct goodput_meter *meter, int64_t t_ns, uint64_t bytes,
	       uint64_t messages);
/*
 * Whether arrivals of now_ns may be counted in bulk: the window has an end,
 * now_ns lies between the epoch and it, and the first byte has been seen.
 */
bool meter_takes_bulk(const struct goodput_meter *meter, int64_t now_ns);
/* The next end of an interval or bound of the window, absolute. */
int64_t meter_boundary_ns(const struct goodput_meter *meter, int64_t now_ns);
/* Counts what arrived at unknown times in the interval before boundary_ns. */
void meter_add_before(struct goodput_meter *meter, int64_t boundary_ns,
		      uint64_t bytes, uint64_t messages);
/* Prints the last interval and opens the "totals" event with the counts. */
void meter_begin_totals(struct goodput_meter *meter);

#endif
