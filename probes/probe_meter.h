/*
 * Counts arriving bytes: in all, inside the measurement window, and per
 * interval.
 *
 * Needs no timer: each arrival names its interval, and the arrival that opens
 * a new one prints the one before. Invariants: arrivals come in the order of
 * time; intervals in which nothing arrived are not printed; an interval that
 * straddles the end of the window is printed as two, so that the printed
 * intervals with in_window add up to the window's bytes.
 */
#ifndef PROBE_METER_H
#define PROBE_METER_H

#include "probe_common.h"

struct goodput_meter {
	/* Settings; window_ns is INT64_MAX for a window without an end. */
	int64_t epoch_ns;
	int64_t interval_ns;
	int64_t window_ns;
	bool counts_messages;
	/* The interval being filled. */
	bool interval_is_open;
	bool interval_in_window;
	int64_t interval_index;
	uint64_t interval_bytes;
	uint64_t interval_messages;
	/* Since the start. */
	uint64_t bytes;
	uint64_t window_bytes;
	uint64_t messages;
	int64_t first_byte_ns;
	int64_t last_byte_ns;
};

void meter_start(struct goodput_meter *meter, int64_t epoch_ns,
		 int64_t interval_ns, int64_t window_ns, bool counts_messages);
void meter_add(struct goodput_meter *meter, int64_t t_ns, uint64_t bytes,
	       uint64_t messages);
/* Prints the last interval and opens the "totals" event with the counts. */
void meter_begin_totals(struct goodput_meter *meter);

#endif
