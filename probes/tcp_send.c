/*
 * Writes to one TCP connection, as fast as the kernel takes it or messages at
 * a rate, closes it in order and reports what the kernel counted.
 */
#include "probe_json.h"
#include "probe_sender.h"
#include "probe_stop.h"
#include "probe_tcp.h"

#include <stdlib.h>
#include <unistd.h>

/* Each write hands over about this much, in whole messages. */
#define WRITE_BYTES 262144

static const struct probe_option address_options[] = {
    {.name = "host",
     .kind = OPTION_ADDRESS,
     .required = true,
     .to.addresses = &sender.hosts,
     .help = "numeric address of the receiver"},
    {.name = "bind",
     .kind = OPTION_ADDRESS,
     .to.addresses = &sender.binds,
     .help = "numeric local address"},
    {0},
};

static const struct probe_options options = {
    "Sends over one TCP connection, for a time or for an amount.",
    {address_options, sender_options, stream_sender_options, tcp_options},
};

static int connect_to_peer(void)
{
	struct sockaddr_storage peer = sender.hosts.at[0].addr;
	int fd = tcp_socket_or_die(peer.ss_family);

	if (sender.binds.count)
		bind_or_die(fd, sender.binds.at[0].addr,
			    sender.binds.at[0].text, 0);
	address_set_port(&peer, (uint16_t)sender.port.value);
	if (connect(fd, (struct sockaddr *)&peer, address_length(&peer)) == 0)
		return fd;
	return sender_attempt_failed(fd);
}

static size_t write_bytes(void)
{
	size_t message_bytes = sender.message_bytes.value;

	if (sender_hands_over_singly() || message_bytes >= WRITE_BYTES)
		return message_bytes;
	return WRITE_BYTES / message_bytes * message_bytes;
}

static void write_until_stop(int fd, struct send_run *run)
{
	size_t chunk_bytes = write_bytes();
	char *chunk = calloc_or_die(1, chunk_bytes);
	/* Of a message that a signal has cut, what is still to be written. */
	size_t rest_bytes = 0;

	while (run->end == NULL && run->left_bytes > 0 && !stop_requested()) {
		size_t ask_bytes = rest_bytes ? rest_bytes : chunk_bytes;
		ssize_t sent_bytes;

		if (!rest_bytes && !sender_await_message(run))
			continue;
		if (ask_bytes > run->left_bytes)
			ask_bytes = run->left_bytes;
		sent_bytes = write(fd, chunk, ask_bytes);
		if (sent_bytes < 0) {
			sender_call_failed(run, "write");
			continue;
		}
		sender_count(run, (size_t)sent_bytes);
		rest_bytes = ask_bytes - (size_t)sent_bytes;
		if (!rest_bytes)
			sender_message_accepted(run);
	}
	free(chunk);
}

/* The peer closes after it has read everything: its end of file is the proof.
 */
static void drain(int fd, struct send_run *run)
{
	char byte;
	ssize_t got = -1;

	sender_drain_begins();
	if (shutdown(fd, SHUT_WR) != 0)
		sender_call_failed(run, "shutdown");
	while (run->end == NULL && !stop_requested()) {
		got = read(fd, &byte, 1);
		if (got == 0)
			run->end = "drained";
		else if (got < 0)
			sender_call_failed(run, "read");
	}
	sender_drain_ends(run);
}

int main(int argc, char **argv)
{
	struct send_run run;
	int fd = -1;

	probe_start("tcp_send");
	options_parse(&options, argc, argv);
	sender_check_options();
	options_report(&options);
	stop_start_or_die();
	if (sender_wait_for_start(&run))
		fd = sender_connect(&run, connect_to_peer);
	if (fd < 0) {
		sender_begin_totals(&run);
		tcp_report_sender_nulls();
		json_end_flush();
		return EXIT_OK;
	}
	tcp_report_effective(fd);
	sender_connect_ends(&run);
	write_until_stop(fd, &run);
	if (run.end == NULL && !stop_by_sigterm())
		drain(fd, &run);
	sender_drain_ends(&run);
	sender_begin_totals(&run);
	tcp_report_sender_totals(fd);
	json_end_flush();
	sender_close(fd, &run);
	return EXIT_OK;
}
