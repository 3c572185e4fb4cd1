/* The protocol-independent life of a receiver. */
#include "probe_receiver.h"

#include "message_log.h"
#include "probe_json.h"
#include "probe_stop.h"

#include <errno.h>
#include <unistd.h>

#define MAX_TIME_NS (UINT64_C(1000000) * (uint64_t)NS_PER_S)

struct receiver_settings receiver = {
    .interval = {true, NS_PER_S},
};

const struct probe_option receiver_options[] = {
    {.name = "port",
     .kind = OPTION_INTEGER,
     .required = true,
     .to.integer = &receiver.port,
     .max = UINT16_MAX,
     .help = "port to receive on; with 0 the kernel picks one (see the "
	     "ready event)"},
    {.name = "ready-fd",
     .kind = OPTION_INTEGER,
     .to.integer = &receiver.ready_fd,
     .max = 65535,
     .help = "inherited descriptor: one byte is written to it when ready"},
    {.name = "epoch-ns",
     .kind = OPTION_INTEGER,
     .to.integer = &receiver.epoch_ns,
     .max = INT64_MAX / 2,
     .help = "CLOCK_MONOTONIC time that is time zero of the experiment; "
	     "not given:\n      accept (UDP: the first packet)"},
    {.name = "interval-s",
     .kind = OPTION_SECONDS,
     .to.seconds = &receiver.interval,
     .min = 1,
     .max = MAX_TIME_NS,
     .help = "length of the intervals goodput is reported for"},
    {.name = "window-from-s",
     .kind = OPTION_SECONDS,
     .to.seconds = &receiver.window_from,
     .max = MAX_TIME_NS,
     .help = "start of the measurement window after the epoch; not given: "
	     "0"},
    {.name = "duration-s",
     .kind = OPTION_SECONDS,
     .to.seconds = &receiver.duration,
     .min = 1,
     .max = MAX_TIME_NS,
     .help = "length of the measurement window; not given: no end.\n"
	     "      What arrives before or after it is read and counted apart"},
    {0},
};

const struct probe_option stream_receiver_options[] = {
    {.name = "messages",
     .kind = OPTION_TEXT,
     .to.text = &receiver.messages,
     .help = "record in this file when each message was delivered"},
    {0},
};

int receiver_family(void)
{
	return receiver.binds.count ? receiver.binds.at[0].addr.ss_family
				    : AF_INET;
}

void receiver_bind_or_die(int fd)
{
	uint16_t port = (uint16_t)receiver.port.value;

	if (receiver.binds.count)
		bind_or_die(fd, receiver.binds.at[0].addr,
			    receiver.binds.at[0].text, port);
	else
		bind_or_die(fd, address_any(AF_INET), "any address", port);
}

void receiver_report_ready(int fd)
{
	int ready_fd = (int)receiver.ready_fd.value;

	json_begin("ready");
	json_unsigned("port", local_port_or_die(fd));
	json_end_flush();
	if (!receiver.ready_fd.is_set)
		return;
	if (write(ready_fd, "\n", 1) != 1)
		die_errno("--ready-fd", "one byte written",
			  "is the descriptor inherited and open?");
	close_or_die(ready_fd);
}

int receiver_accept(int listen_fd, struct goodput_meter *meter,
		    bool counts_messages)
{
	int fd;

	message_log_open_or_die(receiver.messages);
	do {
		fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	} while (fd < 0 && (errno == EINTR || errno == ECONNABORTED) &&
		 !stop_requested());
	if (fd < 0 && !stop_requested())
		die_errno("accept", "one connection", NULL);
	close_or_die(listen_fd);
	receiver_start_meter(meter, fd < 0 ? NO_TIME_NS : clock_now_ns(),
			     counts_messages);
	return fd;
}

void receiver_start_meter(struct goodput_meter *meter, int64_t arrival_ns,
			  bool counts_messages)
{
	meter_start(meter,
		    receiver.epoch_ns.is_set ? (int64_t)receiver.epoch_ns.value
					     : arrival_ns,
		    receiver.interval.ns, receiver.window_from.ns,
		    receiver.duration.is_set
			? receiver.window_from.ns + receiver.duration.ns
			: INT64_MAX,
		    counts_messages);
}
