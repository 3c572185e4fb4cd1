/*
 * TCP socket options: asked for before the connection, read back after it.
 *
 * On a listening socket they are set before listen(), because the accepted
 * socket inherits them and the SYN-ACK already carries their effect.
 */
#ifndef PROBE_TCP_H
#define PROBE_TCP_H

#include "probe_options.h"

extern const struct probe_option tcp_options[];

/* A TCP socket with all options applied. */
int tcp_socket_or_die(int family);
/* What a receiver's option table cannot say; dies with status 2. */
void tcp_check_receiver_options(void);
/*
 * To be called on the accepted socket, once before anything else and once
 * after each read. Linux computes the clamp anew from the receive buffer when
 * the length of the arriving segments becomes known (tcp_measure_rcv_mss()),
 * so a clamp that is only set before the connection is lost with the first
 * segment. This puts it back; it stops looking when it stays put.
 */
void tcp_hold_window_clamp(int fd);
/* Whether the clamp needs no more looking after. */
bool tcp_window_clamp_is_steady(void);
/* Prints "effective". */
void tcp_report_effective(int fd);
/* Add the kernel's counters to the open "totals" event. */
void tcp_report_sender_totals(int fd);
void tcp_report_receiver_totals(int fd);
/* The same keys for a connection that never was. */
void tcp_report_sender_nulls(void);
void tcp_report_receiver_nulls(void);

#endif
