/*
 * Socket buffers, asked for and read back.
 *
 * The kernel doubles what is asked (its bookkeeping counts too) and clips it
 * silently at net.core.wmem_max and rmem_max; a clipped buffer ends the probe.
 */
#ifndef PROBE_BUFFERS_H
#define PROBE_BUFFERS_H

#include "probe_options.h"

#define MAX_BUFFER_BYTES (INT32_MAX / 2)

/* Before connect() or listen(): they decide what window is offered. */
void buffers_apply_or_die(int fd, const struct probe_integer *sndbuf_bytes,
			  const struct probe_integer *rcvbuf_bytes);
/* Adds sndbuf_kernel_bytes and rcvbuf_kernel_bytes to the open event. */
void buffers_report(int fd);

#endif
