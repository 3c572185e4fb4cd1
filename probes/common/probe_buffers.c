/* Socket buffers, asked for and read back. */
#include "probe_buffers.h"

#include "probe_json.h"

#include <inttypes.h>
#include <stdio.h>

static void set_or_die(int fd, int name, const struct probe_integer *bytes,
		       const char *words, const char *hint)
{
	char wanted[64], got[64];
	int kernel_bytes;

	if (!bytes->is_set)
		return;
	setsockopt_int_or_die(fd, SOL_SOCKET, name, bytes->value, words);
	kernel_bytes = getsockopt_int_or_die(fd, SOL_SOCKET, name, words);
	if ((uint64_t)kernel_bytes >= 2 * bytes->value)
		return;
	snprintf(wanted, sizeof(wanted),
		 "%" PRIu64 " bytes (twice %" PRIu64 ")", 2 * bytes->value,
		 bytes->value);
	snprintf(got, sizeof(got), "%d bytes", kernel_bytes);
	die_run(words, wanted, got, hint);
}

void buffers_apply_or_die(int fd, const struct probe_integer *sndbuf_bytes,
			  const struct probe_integer *rcvbuf_bytes)
{
	set_or_die(fd, SO_SNDBUF, sndbuf_bytes, "--sndbuf-bytes (SO_SNDBUF)",
		   "raise sysctl net.core.wmem_max");
	set_or_die(fd, SO_RCVBUF, rcvbuf_bytes, "--rcvbuf-bytes (SO_RCVBUF)",
		   "raise sysctl net.core.rmem_max");
}

void buffers_report(int fd)
{
	json_integer(
	    "sndbuf_kernel_bytes",
	    getsockopt_int_or_die(fd, SOL_SOCKET, SO_SNDBUF, "SO_SNDBUF"));
	json_integer(
	    "rcvbuf_kernel_bytes",
	    getsockopt_int_or_die(fd, SOL_SOCKET, SO_RCVBUF, "SO_RCVBUF"));
}
