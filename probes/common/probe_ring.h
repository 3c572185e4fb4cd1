/*
 * Sleeping and system calls in one: an io_uring for programs that wait for
 * packets and times and answer with packets.
 *
 * Invariants: one ring, one thread; what is asked for is done by the next
 * ring_wait(), in the order in which it was asked for, before it sleeps, so a
 * program that answers and sleeps again costs one system call; whatever fails
 * ends the program.
 */
#ifndef PROBE_RING_H
#define PROBE_RING_H

#include "probe_common.h"

#define RING_NEVER_NS INT64_MAX

enum ring_event_kind {
	/* bytes lie in the ring's memory until ring_next() is called again. */
	RING_DATA,
	RING_READABLE,
	RING_TIME,
	/* A message could not be sent, or the socket has another error. */
	RING_FAILED,
};

struct ring_event {
	enum ring_event_kind kind;
	/* As ring_receive() or ring_watch() was given it. */
	unsigned int tag;
	const uint8_t *bytes;
	size_t length;
	/* Of ring_receive_messages(): as recvmsg() fills it. */
	struct msghdr message;
};

/* words say what it is needed for. */
void ring_open_or_die(const char *words);
/*
 * Hands up every datagram of fd from now on, in order; datagrams of more than
 * RING_DATAGRAM_BYTES end the program.
 */
#define RING_DATAGRAM_BYTES 4096U
void ring_receive(int fd, unsigned int tag);
/*
 * The same with who sent each and what else recvmsg() tells. What is longer
 * than the ring's memory is cut short.
 */
void ring_receive_messages(int fd, unsigned int tag, socklen_t name_bytes,
			   socklen_t control_bytes);
/* Says once that fd can be read. */
void ring_watch(int fd, unsigned int tag);
/* The bytes must stay as they are until ring_wait() returns. */
void ring_send(int fd, const void *bytes, size_t length);
/* So must the message and all it points to; errors are no end. */
void ring_send_message(int fd, const struct msghdr *message, uint32_t flags,
		       unsigned int tag);
/* How many requests there may be from one ring_wait() or ring_do() on. */
#define RING_REQUESTS 64U
/* Does what was asked for, without sleeping. */
void ring_do(void);
/* The one time there is, exact to the nanosecond; it may be put off. */
void ring_set_time(int64_t t_ns);
/* Does what was asked for and sleeps until there is an event. */
void ring_wait(void);
bool ring_next(struct ring_event *event);
/*
 * Waits for nothing any more: what it waited for can be closed and is gone
 * then, which otherwise is some time after the end of the program.
 */
void ring_close_or_die(void);

#endif
