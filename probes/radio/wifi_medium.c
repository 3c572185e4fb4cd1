/*
 * The medium between mac80211_hwsim's radios: IEEE 802.11b's DCF in virtual
 * time, until SIGTERM.
 */
#include "medium.h"
#include "probe_json.h"
#include "probe_options.h"
#include "probe_ring.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define NS_PER_US UINT64_C(1000)

static const char *radios_file, *movement_file, *frames_file, *pcap_file;
static struct probe_integer seed = {true, 1};
static struct probe_integer range_m = {true, 250};
static struct probe_integer carrier_sense_m = {true, 550};
static struct probe_integer capture_db;
static struct probe_integer slot_us = {true, 20};
static struct probe_integer sifs_us = {true, 10};
static struct probe_integer difs_us = {true, 50};
static struct probe_integer preamble_us = {true, 192};
static struct probe_integer cw_min_slots = {true, 31};
static struct probe_integer cw_max_slots = {true, 1023};
static struct probe_integer retry_limit = {true, 7};
static struct probe_integer long_retry_limit = {true, 4};
static struct probe_integer rts_threshold_bytes;
static struct probe_integer queue_frames = {true, 50};
static struct probe_integer ack_rate_bps = {true, 1000000};
static struct probe_integer origin_ns = {true, 0};
static struct probe_integer ready_fd;

#define INTEGER_ROW(option, variable, least, most, words)                      \
	{.name = option,                                                       \
	 .kind = OPTION_INTEGER,                                               \
	 .to.integer = &(variable),                                            \
	 .min = least,                                                         \
	 .max = most,                                                          \
	 .help = words}
#define TEXT_ROW(option, variable, needed, words)                              \
	{.name = option,                                                       \
	 .kind = OPTION_TEXT,                                                  \
	 .required = needed,                                                   \
	 .to.text = &(variable),                                               \
	 .help = words}

static const struct probe_option medium_options[] = {
    TEXT_ROW("radios-file", radios_file, true,
	     "file of radios: radio,node,mac,freq_mhz"),
    TEXT_ROW("movement-file", movement_file, true,
	     "file of places: t_ns,node,x_mm,y_mm"),
    TEXT_ROW("frames", frames_file, false,
	     "file to write one line per transmission to"),
    TEXT_ROW("pcap", pcap_file, false,
	     "file to write the whole medium to, with radiotap headers"),
    INTEGER_ROW("seed", seed, 0, UINT64_MAX, "seed of all backoffs"),
    INTEGER_ROW("origin-ns", origin_ns, 0, INT64_MAX / 4,
		"CLOCK_MONOTONIC at time 0 of --movement-file"),
    INTEGER_ROW("range-m", range_m, 1, 100000,
		"distance up to which a frame is decoded"),
    INTEGER_ROW("carrier-sense-m", carrier_sense_m, 1, 100000,
		"distance up to which the medium is busy"),
    INTEGER_ROW("capture-db", capture_db, 1, 100,
		"the first of two frames survives if so much stronger; "
		"not given: never"),
    INTEGER_ROW("slot-us", slot_us, 1, 1000, "slot time"),
    INTEGER_ROW("sifs-us", sifs_us, 1, 1000, "SIFS"),
    INTEGER_ROW("difs-us", difs_us, 2, 1000, "DIFS"),
    INTEGER_ROW("preamble-us", preamble_us, 0, 1000,
		"preamble and PLCP header"),
    INTEGER_ROW("cw-min-slots", cw_min_slots, 0, 32767, "first window"),
    INTEGER_ROW("cw-max-slots", cw_max_slots, 0, 32767, "largest window"),
    INTEGER_ROW("retry-limit", retry_limit, 1, 255,
		"transmissions of a unicast frame, or of the RTS before it, "
		"until it is given up"),
    INTEGER_ROW("long-retry-limit", long_retry_limit, 1, 255,
		"transmissions of a frame that RTS and CTS precede"),
    INTEGER_ROW("rts-threshold-bytes", rts_threshold_bytes, 0, 3000,
		"RTS and CTS precede unicast frames longer than this, "
		"checksum included; not given: none"),
    INTEGER_ROW("queue-frames", queue_frames, 1, 90,
		"frames that wait behind the one being sent"),
    INTEGER_ROW(
	"ack-rate-bps", ack_rate_bps, 1000000, 11000000,
	"rate of ACK, RTS and CTS: 1000000, 2000000, 5500000 or 11000000"),
    INTEGER_ROW("ready-fd", ready_fd, 3, 1023,
		"descriptor that gets a newline once frames are taken"),
    {0},
};

static const struct probe_options options = {
    "Simulates the radio medium of mac80211_hwsim until SIGTERM.",
    {medium_options},
};

static double squared_mm2(uint64_t m)
{
	return (double)(m * 1000) * (double)(m * 1000);
}

static int64_t us_as_ns(const struct probe_integer *us)
{
	return (int64_t)(us->value * NS_PER_US);
}

static void check_options(void)
{
	if (carrier_sense_m.value < range_m.value)
		die_usage("--carrier-sense-m", "at least --range-m",
			  "a shorter one");
	if (cw_max_slots.value < cw_min_slots.value)
		die_usage("--cw-max-slots", "at least --cw-min-slots",
			  "a smaller one");
	if (difs_us.value <= sifs_us.value)
		die_usage("--difs-us", "more than --sifs-us", "less");
	if (ack_rate_bps.value != 1000000 && ack_rate_bps.value != 2000000 &&
	    ack_rate_bps.value != 5500000 && ack_rate_bps.value != 11000000)
		die_usage("--ack-rate-bps",
			  "1000000, 2000000, 5500000 or 11000000",
			  "a rate no radio has");
}

static void apply_options(void)
{
	dcf.slot_ns = us_as_ns(&slot_us);
	dcf.sifs_ns = us_as_ns(&sifs_us);
	dcf.difs_ns = us_as_ns(&difs_us);
	dcf.preamble_ns = us_as_ns(&preamble_us);
	dcf.cw_min = (unsigned int)cw_min_slots.value;
	dcf.cw_max = (unsigned int)cw_max_slots.value;
	dcf.retry_limit = (unsigned int)retry_limit.value;
	dcf.long_retry_limit = (unsigned int)long_retry_limit.value;
	dcf.rts_threshold_bytes = UINT64_MAX;
	if (rts_threshold_bytes.is_set)
		dcf.rts_threshold_bytes = rts_threshold_bytes.value;
	dcf.queue_frames = (unsigned int)queue_frames.value;
	dcf.origin_ns = (int64_t)origin_ns.value;
	dcf.ack_rate_bps = ack_rate_bps.value;
	dcf.range_mm2 = squared_mm2(range_m.value);
	dcf.sense_mm2 = squared_mm2(carrier_sense_m.value);
	dcf.capture_ratio = 0;
	if (!capture_db.is_set)
		return;
	dcf.capture_ratio = 1;
	for (uint64_t db = 0; db < capture_db.value; db++)
		dcf.capture_ratio *= 1.2589254117941673;
}

static unsigned int node_count(void)
{
	unsigned int nodes = 0;

	for (unsigned int r = 0; r < radio_count; r++) {
		if (radios[r].node >= nodes)
			nodes = radios[r].node + 1;
	}
	return nodes;
}

static int open_signals_or_die(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		die_errno("sigprocmask", "SIGTERM to wait", NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0)
		die_errno("signalfd", "a descriptor", NULL);
	return fd;
}

static void report_ready(void)
{
	json_begin("ready");
	json_unsigned("radios", radio_count);
	json_end_flush();
	if (!ready_fd.is_set)
		return;
	if (write((int)ready_fd.value, "\n", 1) != 1)
		die_errno("--ready-fd", "a descriptor that can be written",
			  NULL);
	close_or_die((int)ready_fd.value);
}

/*
 * Takes what the ring has, after what was due before each of it; returns
 * whether it is time to end. now_ns becomes the time of the latest.
 */
static bool take_events(int64_t due_ns, int64_t *now_ns)
{
	struct ring_event event;
	int64_t t_ns;

	while (ring_next(&event)) {
		if (event.kind == RING_TIME)
			t_ns = due_ns;
		else if (event.kind == RING_DATA)
			t_ns = hwsim_last_frame_ns();
		else
			t_ns = clock_now_ns();
		if (t_ns > *now_ns)
			*now_ns = t_ns;
		station_run_until(*now_ns);
		if (event.kind == RING_DATA)
			hwsim_take(event.bytes, event.length, *now_ns);
		else if (event.kind == RING_READABLE)
			return true;
	}
	return false;
}

static int64_t run(int netlink, int signals)
{
	int64_t next_ns, now_ns = 0;
	bool is_told_to_end;

	ring_receive(netlink, 0);
	ring_watch(signals, 0);
	do {
		next_ns = station_next_ns();
		ring_set_time(next_ns);
		ring_wait();
		is_told_to_end = take_events(next_ns, &now_ns);
		station_run_until(now_ns);
		hwsim_flush_later();
	} while (!is_told_to_end);
	ring_do();
	return now_ns;
}

int main(int argc, char **argv)
{
	int netlink, signals;
	int64_t began_ns, ended_ns;

	probe_start("wifi_medium");
	options_parse(&options, argc, argv);
	check_options();
	apply_options();
	options_report(&options);
	table_read_or_die(radios_file);
	movement_read_or_die(movement_file, node_count());
	station_start(seed.value);
	signals = open_signals_or_die();
	record_open_or_die(frames_file, pcap_file);
	netlink = hwsim_open_or_die();
	ring_open_or_die("waiting for frames and times");
	began_ns = clock_now_ns();
	report_ready();
	ended_ns = run(netlink, signals);
	hwsim_flush();
	record_close_or_die();
	totals_report(began_ns, ended_ns);
	return EXIT_OK;
}
