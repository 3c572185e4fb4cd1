/*
 * Loss, duplication, reordering, delay and jitter from what arrives of a
 * numbered flow.
 *
 * Invariants: the flow begins with sequence number 0 and leaves none out;
 * one bit is kept per number. One-way delay needs one clock at both ends, as
 * there is between the namespaces of one kernel; that of two clocks, however
 * far apart, is told as they show it.
 */
#ifndef UDP_SEQUENCE_H
#define UDP_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes 128 MiB of bits when full; a higher number is not one of ours. */
#define MAX_SEQUENCE ((UINT64_C(1) << 30) - 1)

struct sequence_tracker {
	unsigned char *seen;
	size_t seen_bytes;
	uint64_t unique;
	uint64_t duplicates;
	/* Arrived after a higher number. */
	uint64_t reordered;
	uint64_t first_sequence;
	uint64_t last_sequence;
	uint64_t highest_sequence;
	/* Of unique packets, in order of arrival. */
	int64_t owd_min_ns;
	int64_t owd_max_ns;
	int64_t owd_first_ns;
	int64_t owd_previous_ns;
	/* Of what each is more than the first: clocks may be years apart. */
	int64_t owd_sum_ns;
	double jitter_rfc3550_ns;
	uint64_t owd_change_sum_ns;
};

/* True if the packet is new, false if it is a duplicate. */
bool sequence_add(struct sequence_tracker *tracker, uint64_t sequence,
		  int64_t owd_ns);
/* Adds everything known, or nulls, to the open "totals" event. */
void sequence_report(const struct sequence_tracker *tracker);
void sequence_end(struct sequence_tracker *tracker);

#endif
