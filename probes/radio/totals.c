/*
 * The last line: what became of every frame, per radio, as columns.
 *
 * Each column is an array with a number for each radio, in order. What is
 * still under way at the end is counted here, so that all of it adds up
 * (mininet_topos/radio/audit.py).
 */
#include "medium.h"
#include "probe_json.h"

#define COLUMN(key, value)                                                     \
	do {                                                                   \
		json_array_begin(key);                                         \
		for (unsigned int r = 0; r < radio_count; r++)                 \
			json_array_unsigned(value);                            \
		json_array_end();                                              \
	} while (0)

static void count_under_way(void)
{
	for (unsigned int r = 0; r < radio_count; r++) {
		struct radio *radio = &radios[r];
		struct counters *count = &radio->count;

		if (radio->due_ns[TIMER_END] == NEVER_NS)
			continue;
		if (radio->tx.kind == AIR_ACK)
			count->ack[OUT_UNDER_WAY]++;
		else if (radio->tx.kind == AIR_RTS)
			count->rts[OUT_UNDER_WAY]++;
		else if (radio->tx.kind == AIR_CTS)
			count->cts[OUT_UNDER_WAY]++;
		else if (radio->tx.to == TO_ALL)
			count->group[OUT_UNDER_WAY] += radio_count - 1;
		else
			count->unicast[OUT_UNDER_WAY]++;
	}
}

static bool is_answering(const struct radio *radio, enum air_kind kind)
{
	return radio->due_ns[TIMER_ANSWER] != NEVER_NS &&
	       radio->answer_kind == kind;
}

/* A unicast frame was sent and neither answered nor given up on. */
static bool is_open(const struct radio *radio)
{
	if (radio->station == AWAITING)
		return true;
	return radio->station == SENDING && radio->tx.to != TO_ALL &&
	       radio->tx.kind != AIR_RTS;
}

static bool is_rts_open(const struct radio *radio)
{
	if (radio->station == AWAITING_CTS)
		return true;
	return radio->station == SENDING && radio->tx.kind == AIR_RTS;
}

static void report_outcomes(void)
{
	static const char *const keys[][OUTCOMES] = {
	    {"unicast_delivered", "unicast_duplicate", "unicast_collided",
	     "unicast_out_of_range", "unicast_receiver_sending",
	     "unicast_other_channel", "unicast_no_such_radio",
	     "unicast_under_way"},
	    {"group_delivered", "group_duplicate", "group_collided",
	     "group_out_of_range", "group_receiver_sending",
	     "group_other_channel", "group_no_such_radio", "group_under_way"},
	    {"ack_delivered", "ack_duplicate", "ack_collided",
	     "ack_out_of_range", "ack_receiver_sending", "ack_other_channel",
	     "ack_no_such_radio", "ack_under_way"},
	    {"rts_delivered", "rts_duplicate", "rts_collided",
	     "rts_out_of_range", "rts_receiver_sending", "rts_other_channel",
	     "rts_no_such_radio", "rts_under_way"},
	    {"cts_delivered", "cts_duplicate", "cts_collided",
	     "cts_out_of_range", "cts_receiver_sending", "cts_other_channel",
	     "cts_no_such_radio", "cts_under_way"},
	};

	for (unsigned int i = 0; i < OUTCOMES; i++) {
		COLUMN(keys[0][i], radios[r].count.unicast[i]);
		COLUMN(keys[1][i], radios[r].count.group[i]);
		COLUMN(keys[2][i], radios[r].count.ack[i]);
		COLUMN(keys[3][i], radios[r].count.rts[i]);
		COLUMN(keys[4][i], radios[r].count.cts[i]);
	}
}

void totals_report(int64_t began_ns, int64_t ended_ns)
{
	count_under_way();
	json_begin("totals");
	json_time_ns("began_ns", began_ns);
	json_time_ns("ended_ns", ended_ns);
	json_unsigned("radios", radio_count);
	json_unsigned("refused_messages", hwsim_refused());
	COLUMN("handed_in", radios[r].count.handed_in);
	COLUMN("acked", radios[r].count.acked);
	COLUMN("group_done", radios[r].count.group_done);
	COLUMN("given_up", radios[r].count.given_up);
	COLUMN("given_up_management", radios[r].count.given_up_management);
	COLUMN("dropped_full", radios[r].count.dropped_full);
	COLUMN("waiting_at_end", radios[r].waiting);
	COLUMN("unicast_attempts", radios[r].count.unicast_attempts);
	COLUMN("group_attempts", radios[r].count.group_attempts);
	COLUMN("timeouts", radios[r].count.timeouts);
	COLUMN("retries", radios[r].count.retries);
	COLUMN("open_at_end", is_open(&radios[r]));
	COLUMN("acks_due", radios[r].count.acks_due);
	COLUMN("acks_sent", radios[r].count.acks_sent);
	COLUMN("acks_unsent", radios[r].count.acks_unsent);
	COLUMN("acks_due_at_end", is_answering(&radios[r], AIR_ACK));
	COLUMN("rts_attempts", radios[r].count.rts_attempts);
	COLUMN("rts_answered", radios[r].count.rts_answered);
	COLUMN("cts_timeouts", radios[r].count.cts_timeouts);
	COLUMN("rts_open_at_end", is_rts_open(&radios[r]));
	COLUMN("protected_attempts", radios[r].count.protected_attempts);
	COLUMN("cleared_at_end", radios[r].station == CLEARED);
	COLUMN("cts_due", radios[r].count.cts_due);
	COLUMN("cts_sent", radios[r].count.cts_sent);
	COLUMN("cts_unsent", radios[r].count.cts_unsent);
	COLUMN("cts_refused", radios[r].count.cts_refused);
	COLUMN("cts_due_at_end", is_answering(&radios[r], AIR_CTS));
	COLUMN("taken_in", radios[r].count.taken_in);
	report_outcomes();
	COLUMN("data_air_ns", radios[r].count.air_ns[AIR_DATA]);
	COLUMN("broadcast_air_ns", radios[r].count.air_ns[AIR_BROADCAST]);
	COLUMN("management_air_ns", radios[r].count.air_ns[AIR_MANAGEMENT]);
	COLUMN("ack_air_ns", radios[r].count.air_ns[AIR_ACK]);
	COLUMN("rts_air_ns", radios[r].count.air_ns[AIR_RTS]);
	COLUMN("cts_air_ns", radios[r].count.air_ns[AIR_CTS]);
	json_end_flush();
}
