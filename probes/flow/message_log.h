/*
 * When each message of a flow was handed over and delivered: a file of
 * records of one size, little-endian and without padding.
 *
 * A sender's: ready_t_ns, accepted_t_ns (8 bytes each), one for each message
 * in the order in which they are handed over. A receiver's: delivered_t_ns
 * (8), number of the message from 0, bytes (4 each), stream, flags (2 each).
 * Nothing of it is in the messages themselves but SCTP's payload protocol
 * identifier: FIRST_PPID and the message's number. Protocols in use have small
 * identifiers, so nobody who looks at packets takes the data for one of them.
 */
#ifndef MESSAGE_LOG_H
#define MESSAGE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#define FIRST_PPID UINT32_C(0x80000000)
#define MESSAGE_UNORDERED 1

/* Without a path nothing is recorded. */
void message_log_open_or_die(const char *path);
bool message_log_is_open(void);
void message_log_sent_or_die(int64_t ready_ns, int64_t accepted_ns);
void message_log_delivered_or_die(int64_t delivered_ns, uint64_t number,
				  uint64_t bytes, uint16_t stream,
				  uint16_t flags);
/* Whatever was recorded is in the file after this. */
void message_log_close_or_die(void);

#endif
