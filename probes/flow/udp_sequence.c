/* Loss, duplication, reordering, delay and jitter of a numbered flow. */
#include "udp_sequence.h"

#include "probe_common.h"
#include "probe_json.h"

#include <stdlib.h>
#include <string.h>

/* RFC 3550, section 6.4.1: each difference enters with this weight. */
#define RFC3550_GAIN (1.0 / 16.0)

static void make_room(struct sequence_tracker *tracker, uint64_t sequence)
{
	size_t need_bytes = (size_t)(sequence / 8 + 1);
	size_t new_bytes = tracker->seen_bytes ? tracker->seen_bytes : 4096;

	if (need_bytes <= tracker->seen_bytes)
		return;
	while (new_bytes < need_bytes)
		new_bytes *= 2;
	tracker->seen = realloc(tracker->seen, new_bytes);
	if (tracker->seen == NULL)
		die_errno("realloc", "memory for sequence numbers", NULL);
	memset(tracker->seen + tracker->seen_bytes, 0,
	       new_bytes - tracker->seen_bytes);
	tracker->seen_bytes = new_bytes;
}

static void add_delay(struct sequence_tracker *tracker, int64_t owd_ns)
{
	int64_t change_ns = owd_ns - tracker->owd_previous_ns;
	uint64_t distance_ns =
	    (uint64_t)(change_ns < 0 ? -change_ns : change_ns);

	tracker->owd_previous_ns = owd_ns;
	if (tracker->unique == 1) {
		tracker->owd_first_ns = owd_ns;
		tracker->owd_min_ns = owd_ns;
		tracker->owd_max_ns = owd_ns;
		return;
	}
	tracker->owd_sum_ns += owd_ns - tracker->owd_first_ns;
	if (owd_ns < tracker->owd_min_ns)
		tracker->owd_min_ns = owd_ns;
	if (owd_ns > tracker->owd_max_ns)
		tracker->owd_max_ns = owd_ns;
	tracker->owd_change_sum_ns += distance_ns;
	tracker->jitter_rfc3550_ns +=
	    ((double)distance_ns - tracker->jitter_rfc3550_ns) * RFC3550_GAIN;
}

bool sequence_add(struct sequence_tracker *tracker, uint64_t sequence,
		  int64_t owd_ns)
{
	unsigned char bit = (unsigned char)(1U << (sequence % 8));

	make_room(tracker, sequence);
	if (tracker->unique == 0)
		tracker->first_sequence = sequence;
	tracker->last_sequence = sequence;
	if (tracker->seen[sequence / 8] & bit) {
		tracker->duplicates++;
		return false;
	}
	tracker->seen[sequence / 8] |= bit;
	tracker->unique++;
	if (sequence < tracker->highest_sequence)
		tracker->reordered++;
	else
		tracker->highest_sequence = sequence;
	add_delay(tracker, owd_ns);
	return true;
}

/* Rounded down, whatever the sign. */
static int64_t mean_delay_ns(const struct sequence_tracker *tracker)
{
	int64_t unique = (int64_t)tracker->unique;
	int64_t mean_ns = tracker->owd_sum_ns / unique;

	if (tracker->owd_sum_ns % unique < 0)
		mean_ns--;
	return tracker->owd_first_ns + mean_ns;
}

static void report_delays(const struct sequence_tracker *tracker)
{
	json_integer("owd_min_ns", tracker->owd_min_ns);
	json_integer("owd_max_ns", tracker->owd_max_ns);
	json_integer("owd_mean_ns", mean_delay_ns(tracker));
	if (tracker->unique < 2) {
		json_null("jitter_rfc3550_ns");
		json_null("owd_change_mean_ns");
		return;
	}
	json_integer("jitter_rfc3550_ns",
		     (int64_t)(tracker->jitter_rfc3550_ns + 0.5));
	json_unsigned("owd_change_mean_ns",
		      tracker->owd_change_sum_ns / (tracker->unique - 1));
}

void sequence_report(const struct sequence_tracker *tracker)
{
	static const char *const keys[] = {
	    "first_seq",   "last_seq",		"highest_seq",
	    "lost",	   "owd_min_ns",	"owd_max_ns",
	    "owd_mean_ns", "jitter_rfc3550_ns", "owd_change_mean_ns",
	};

	json_unsigned("packets", tracker->unique + tracker->duplicates);
	json_unsigned("unique_packets", tracker->unique);
	json_unsigned("duplicates", tracker->duplicates);
	json_unsigned("reordered", tracker->reordered);
	if (tracker->unique == 0) {
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			json_null(keys[i]);
		return;
	}
	json_unsigned("first_seq", tracker->first_sequence);
	json_unsigned("last_seq", tracker->last_sequence);
	json_unsigned("highest_seq", tracker->highest_sequence);
	json_unsigned("lost", tracker->highest_sequence + 1 - tracker->unique);
	report_delays(tracker);
}

void sequence_end(struct sequence_tracker *tracker)
{
	free(tracker->seen);
	tracker->seen = NULL;
}
