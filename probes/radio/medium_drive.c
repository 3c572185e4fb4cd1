/*
 * Drives the medium without a kernel, for tests: what is on stdin happens, what
 * the kernel would be told are JSON lines on stdout, the totals last.
 *
 *	medium_drive RADIOS MOVEMENT FRAMES < lines of:
 *	NAME NUMBER			a setting, before the first frame
 *	frame T FROM TO BYTES		handed in then; TO -1: to all, -2:
 * unknown end T				stop then, and not when all is
 * done
 *
 * Invariant: time goes on as in wifi_medium, from one instant at which the
 * kernel may have to be told something to the next.
 */
#include "medium.h"
#include "probe_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LINE_BYTES 200
#define UNKNOWN_MAC_BYTE 0x7e

static uint64_t seed = 1, cookie;
static int64_t now_ns;
static bool has_begun;

static void tell(const char *what, unsigned int radio,
		 const struct frame *frame)
{
	json_begin(what);
	json_time_ns("t_ns", now_ns);
	json_unsigned("radio", radio);
	json_unsigned("frame", frame->cookie);
}

void hwsim_deliver(unsigned int to, const struct frame *frame,
		   int32_t signal_dbm)
{
	(void)signal_dbm;
	/* It was on the air to this very instant, or the kernel hears late. */
	for (unsigned int r = 0; r < radio_count; r++)
		if (radios[r].tx.frame == frame &&
		    radios[r].tx.end_ns != now_ns)
			die_run("a delivery", "at the end of its frame",
				"another time", NULL);
	tell("delivered", to, frame);
	json_end_flush();
}

void hwsim_report(unsigned int from, const struct frame *frame,
		  unsigned int tries, bool acked)
{
	tell(acked ? "acked" : "done", from, frame);
	json_unsigned("tries", tries);
	json_end_flush();
}

uint64_t hwsim_refused(void)
{
	return 0;
}

static void set(const char *name, int64_t value)
{
	if (has_begun)
		die_run("stdin", "settings before frames", name, NULL);
	if (strcmp(name, "seed") == 0)
		seed = (uint64_t)value;
	else if (strcmp(name, "rts_threshold_bytes") == 0)
		dcf.rts_threshold_bytes = (uint64_t)value;
	else if (strcmp(name, "capture_ratio") == 0)
		dcf.capture_ratio = (double)value;
	else if (strcmp(name, "sense_m") == 0)
		dcf.sense_mm2 = (double)value * (double)value * 1e6;
	else if (strcmp(name, "retry_limit") == 0)
		dcf.retry_limit = (unsigned int)value;
	else if (strcmp(name, "long_retry_limit") == 0)
		dcf.long_retry_limit = (unsigned int)value;
	else if (strcmp(name, "cw_min") == 0)
		dcf.cw_min = (unsigned int)value;
	else if (strcmp(name, "cw_max") == 0)
		dcf.cw_max = (unsigned int)value;
	else if (strcmp(name, "queue_frames") == 0)
		dcf.queue_frames = (unsigned int)value;
	else if (strcmp(name, "ack_rate_bps") == 0)
		dcf.ack_rate_bps = (uint64_t)value;
	else
		die_run("stdin", "a setting", name, NULL);
}

/* Goes on to a time; to the end of all there is to do if it is NEVER_NS. */
static void go_on(int64_t t_ns)
{
	int64_t next_ns;

	while ((next_ns = station_next_ns()) < t_ns) {
		now_ns = next_ns;
		station_run_until(next_ns);
	}
	if (t_ns == NEVER_NS)
		return;
	now_ns = t_ns;
	station_run_until(t_ns);
}

static void hand_in(int64_t t_ns, unsigned int from, int to, uint32_t bytes)
{
	static struct frame frame;

	if (!has_begun)
		station_start(seed);
	has_begun = true;
	if (from >= radio_count || to >= (int)radio_count || t_ns < now_ns ||
	    bytes < 24 || bytes > MAX_FRAME_BYTES)
		die_run("stdin", "frames of radios, in order of time",
			"another", NULL);
	go_on(t_ns);
	frame.cookie = cookie++;
	frame.to = to;
	frame.kind = to == TO_ALL ? AIR_BROADCAST : AIR_DATA;
	frame.rate_index = to == TO_ALL ? 0 : 1;
	frame.bytes = bytes;
	memset(frame.data, 0, sizeof(frame.data));
	memset(frame.data + 4, UNKNOWN_MAC_BYTE, MAC_BYTES);
	if (to >= 0)
		memcpy(frame.data + 4, radios[to].mac, MAC_BYTES);
	station_hand_in(from, &frame, t_ns);
	station_run_until(t_ns);
}

static void take_line(const char *line)
{
	char name[32];
	int64_t value;
	unsigned int from, bytes;
	int to;

	if (sscanf(line, "frame %" SCNd64 " %u %d %u", &value, &from, &to,
		   &bytes) == 4)
		hand_in(value, from, to, bytes);
	else if (sscanf(line, "end %" SCNd64, &value) == 1)
		go_on(value);
	else if (sscanf(line, "%31s %" SCNd64, name, &value) == 2)
		set(name, value);
	else
		die_run("stdin", "a line as the first lines here say", line,
			NULL);
}

static unsigned int node_count(void)
{
	unsigned int nodes = 0;

	for (unsigned int r = 0; r < radio_count; r++)
		if (radios[r].node >= nodes)
			nodes = radios[r].node + 1;
	return nodes;
}

int main(int argc, char **argv)
{
	char line[MOST_LINE_BYTES];
	bool is_ended = false;

	probe_start("medium_drive");
	if (argc != 4)
		die_usage("medium_drive", "RADIOS MOVEMENT FRAMES", "others");
	dcf = (struct dcf_settings){
	    .slot_ns = 20000,
	    .sifs_ns = 10000,
	    .difs_ns = 50000,
	    .preamble_ns = 192000,
	    .cw_min = 31,
	    .cw_max = 1023,
	    .retry_limit = 7,
	    .long_retry_limit = 4,
	    .queue_frames = 50,
	    .ack_rate_bps = 1000000,
	    .rts_threshold_bytes = UINT64_MAX,
	    .range_mm2 = 250e3 * 250e3,
	    .sense_mm2 = 550e3 * 550e3,
	};
	table_read_or_die(argv[1]);
	movement_read_or_die(argv[2], node_count());
	record_open_or_die(argv[3], NULL);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		is_ended = strncmp(line, "end ", 4) == 0;
		take_line(line);
	}
	if (!is_ended)
		go_on(NEVER_NS);
	record_close_or_die();
	totals_report(0, now_ns);
	for (unsigned int r = 0; r < radio_count; r++)
		free(radios[r].ring);
	return EXIT_OK;
}
