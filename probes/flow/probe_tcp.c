/* TCP socket options and TCP_INFO. */
#include "probe_tcp.h"

#include "probe_buffers.h"
#include "probe_json.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static struct {
	const char *congestion_control;
	struct probe_integer maxseg_bytes;
	struct probe_integer window_clamp_bytes;
	struct probe_integer sndbuf_bytes;
	struct probe_integer rcvbuf_bytes;
	bool nodelay;
} asked;

/* So many reads without a change, and the window clamp is believed to stay. */
#define STEADY_LOOKS 64

static uint64_t window_clamp_resets;

const struct probe_option tcp_options[] = {
    {.name = "congestion-control",
     .kind = OPTION_TEXT,
     .to.text = &asked.congestion_control,
     .help = "name of the algorithm, for example reno"},
    {.name = "maxseg-bytes",
     .kind = OPTION_INTEGER,
     .to.integer = &asked.maxseg_bytes,
     .min = 88,
     .max = 32767,
     .help = "TCP_MAXSEG; TCP options count: with timestamps on, 12 bytes "
	     "less\n      are left for data"},
    {.name = "window-clamp-bytes",
     .kind = OPTION_INTEGER,
     .to.integer = &asked.window_clamp_bytes,
     /* The kernel raises smaller ones (SOCK_MIN_RCVBUF / 2). */
     .min = 2048,
     .max = INT32_MAX,
     .help = "TCP_WINDOW_CLAMP: bound of the advertised window; a receiver "
	     "wants\n      --rcvbuf-bytes too"},
    {.name = "sndbuf-bytes",
     .kind = OPTION_INTEGER,
     .to.integer = &asked.sndbuf_bytes,
     .min = 1,
     .max = MAX_BUFFER_BYTES,
     .help = "SO_SNDBUF; the kernel doubles it"},
    {.name = "rcvbuf-bytes",
     .kind = OPTION_INTEGER,
     .to.integer = &asked.rcvbuf_bytes,
     .min = 1,
     .max = MAX_BUFFER_BYTES,
     .help = "SO_RCVBUF; the kernel doubles it"},
    {.name = "nodelay",
     .kind = OPTION_FLAG,
     .to.flag = &asked.nodelay,
     .help = "TCP_NODELAY: switch Nagle's algorithm off"},
    {0},
};

static void set_window_clamp(int fd)
{
	setsockopt_int_or_die(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP,
			      asked.window_clamp_bytes.value,
			      "--window-clamp-bytes (TCP_WINDOW_CLAMP)");
}

int tcp_socket_or_die(int family)
{
	int fd =
	    socket_or_die(family, SOCK_STREAM, IPPROTO_TCP, "a TCP socket");

	buffers_apply_or_die(fd, &asked.sndbuf_bytes, &asked.rcvbuf_bytes);
	if (asked.congestion_control != NULL)
		setsockopt_or_die(fd, IPPROTO_TCP, TCP_CONGESTION,
				  asked.congestion_control,
				  (socklen_t)strlen(asked.congestion_control),
				  "--congestion-control (TCP_CONGESTION)");
	if (asked.maxseg_bytes.is_set)
		setsockopt_int_or_die(fd, IPPROTO_TCP, TCP_MAXSEG,
				      asked.maxseg_bytes.value,
				      "--maxseg-bytes (TCP_MAXSEG)");
	if (asked.window_clamp_bytes.is_set)
		set_window_clamp(fd);
	if (asked.nodelay)
		setsockopt_int_or_die(fd, IPPROTO_TCP, TCP_NODELAY, 1,
				      "--nodelay (TCP_NODELAY)");
	return fd;
}

void tcp_check_receiver_options(void)
{
	/* Autotuning moves the clamp along with the buffer, all the time. */
	if (asked.window_clamp_bytes.is_set && !asked.rcvbuf_bytes.is_set)
		die_usage("--window-clamp-bytes",
			  "--rcvbuf-bytes with it (to stop autotuning)",
			  "it alone");
}

static int window_clamp_or_die(int fd)
{
	return getsockopt_int_or_die(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP,
				     "TCP_WINDOW_CLAMP");
}

static int looks_left = STEADY_LOOKS;

bool tcp_window_clamp_is_steady(void)
{
	return !asked.window_clamp_bytes.is_set || looks_left == 0;
}

void tcp_hold_window_clamp(int fd)
{
	if (!asked.window_clamp_bytes.is_set || looks_left == 0)
		return;
	looks_left--;
	if ((uint64_t)window_clamp_or_die(fd) == asked.window_clamp_bytes.value)
		return;
	set_window_clamp(fd);
	window_clamp_resets++;
	looks_left = STEADY_LOOKS;
}

static struct tcp_info info_or_die(int fd)
{
	struct tcp_info info = {0};
	socklen_t length = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
		die_errno("getsockopt", "TCP_INFO", NULL);
	/* The newest field read below is in every kernel since 5.4. */
	if (length < offsetof(struct tcp_info, tcpi_snd_wnd))
		die_unsupported("getsockopt", "TCP_INFO with rcv_ooopack",
				"a shorter one", "use Linux 5.4 or newer");
	return info;
}

static void report_wscale(const struct tcp_info *info)
{
	bool enabled = (info->tcpi_options & TCPI_OPT_WSCALE) != 0;

	json_bool("wscale_enabled", enabled);
	if (!enabled) {
		json_null("snd_wscale");
		json_null("rcv_wscale");
		return;
	}
	json_unsigned("snd_wscale", info->tcpi_snd_wscale);
	json_unsigned("rcv_wscale", info->tcpi_rcv_wscale);
}

void tcp_report_effective(int fd)
{
	struct tcp_info info = info_or_die(fd);
	char congestion_control[17] = "";
	socklen_t length = sizeof(congestion_control) - 1;

	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion_control,
		       &length) != 0)
		die_errno("getsockopt", "TCP_CONGESTION", NULL);
	json_begin("effective");
	json_text("congestion_control", congestion_control);
	json_integer(
	    "maxseg_bytes",
	    getsockopt_int_or_die(fd, IPPROTO_TCP, TCP_MAXSEG, "TCP_MAXSEG"));
	buffers_report(fd);
	json_integer("window_clamp_bytes", window_clamp_or_die(fd));
	json_bool("nodelay", getsockopt_int_or_die(fd, IPPROTO_TCP, TCP_NODELAY,
						   "TCP_NODELAY") != 0);
	json_bool("timestamps", info.tcpi_options & TCPI_OPT_TIMESTAMPS);
	json_bool("sack", info.tcpi_options & TCPI_OPT_SACK);
	json_bool("ecn", info.tcpi_options & TCPI_OPT_ECN);
	report_wscale(&info);
	json_unsigned("snd_mss_bytes", info.tcpi_snd_mss);
	json_unsigned("advmss_bytes", info.tcpi_advmss);
	json_unsigned("pathmtu_bytes", info.tcpi_pmtu);
	json_unsigned("snd_cwnd_segments", info.tcpi_snd_cwnd);
	json_unsigned("snd_ssthresh_segments", info.tcpi_snd_ssthresh);
	json_unsigned("rcv_ssthresh_bytes", info.tcpi_rcv_ssthresh);
	json_unsigned("rto_us", info.tcpi_rto);
	json_unsigned("rtt_us", info.tcpi_rtt);
	/* Before any data: SYNs, or SYN-ACKs, that were sent again. */
	json_unsigned("handshake_retransmitted_segments",
		      info.tcpi_total_retrans);
	json_end_flush();
}

/* A counter of the totals; without a connection it is null. */
static void report_counter(const char *key, const struct tcp_info *info,
			   uint64_t value)
{
	if (info == NULL)
		json_null(key);
	else
		json_unsigned(key, value);
}

#define REPORT(key, info, field)                                               \
	report_counter(key, info, (info) ? (info)->field : 0)

static void report_sender(const struct tcp_info *info)
{
	REPORT("retransmitted_segments", info, tcpi_total_retrans);
	REPORT("segs_out", info, tcpi_segs_out);
	REPORT("segs_in", info, tcpi_segs_in);
	REPORT("data_segs_out", info, tcpi_data_segs_out);
	/* Sequence space: SYN and FIN count as a byte each. */
	REPORT("bytes_acked", info, tcpi_bytes_acked);
	REPORT("bytes_sent", info, tcpi_bytes_sent);
	REPORT("bytes_retrans", info, tcpi_bytes_retrans);
	REPORT("notsent_bytes", info, tcpi_notsent_bytes);
	REPORT("unacked_segments", info, tcpi_unacked);
	REPORT("dsack_dups_segments", info, tcpi_dsack_dups);
	REPORT("reord_seen_events", info, tcpi_reord_seen);
	REPORT("snd_cwnd_segments", info, tcpi_snd_cwnd);
	REPORT("snd_ssthresh_segments", info, tcpi_snd_ssthresh);
	REPORT("rto_us", info, tcpi_rto);
	REPORT("rtt_us", info, tcpi_rtt);
	REPORT("rttvar_us", info, tcpi_rttvar);
	REPORT("min_rtt_us", info, tcpi_min_rtt);
	REPORT("busy_us", info, tcpi_busy_time);
	REPORT("rwnd_limited_us", info, tcpi_rwnd_limited);
	REPORT("sndbuf_limited_us", info, tcpi_sndbuf_limited);
}

static void report_receiver(const struct tcp_info *info)
{
	REPORT("segs_in", info, tcpi_segs_in);
	REPORT("segs_out", info, tcpi_segs_out);
	REPORT("data_segs_in", info, tcpi_data_segs_in);
	/* Sequence space: FIN counts as a byte. */
	REPORT("bytes_received", info, tcpi_bytes_received);
	REPORT("out_of_order_segments", info, tcpi_rcv_ooopack);
	REPORT("rcv_ssthresh_bytes", info, tcpi_rcv_ssthresh);
}

void tcp_report_sender_totals(int fd)
{
	struct tcp_info info = info_or_die(fd);

	report_sender(&info);
}

void tcp_report_receiver_totals(int fd)
{
	struct tcp_info info = info_or_die(fd);

	json_integer("window_clamp_bytes", window_clamp_or_die(fd));
	json_unsigned("window_clamp_resets", window_clamp_resets);
	report_receiver(&info);
}

void tcp_report_sender_nulls(void)
{
	report_sender(NULL);
}

void tcp_report_receiver_nulls(void)
{
	json_null("window_clamp_bytes");
	json_null("window_clamp_resets");
	report_receiver(NULL);
}
