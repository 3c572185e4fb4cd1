/* An io_uring: set up, filled, emptied. */
#include "probe_ring.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A power of two. */
#define BUFFERS 64U
#define MOST_TAGS 64U
#define BUFFER_GROUP 0

/* What a completion is of: in its user data, above the tag. */
enum what {
	RECEIVE,
	RECEIVE_MESSAGE,
	WATCH,
	SEND,
	SEND_MESSAGE,
	TIME,
	TIME_CHANGE,
};
#define WHAT_SHIFT 32U

static int ring = -1;
static const char *why;
static struct io_uring_sqe *requests;
static uint32_t *submit_tail, *submit_index;
static uint32_t *done_head, *done_tail;
static const struct io_uring_cqe *done;
static uint32_t submit_mask, done_mask, waiting;
static struct io_uring_buf_ring *buffer_ring;
static uint8_t (*buffers)[RING_DATAGRAM_BYTES];
static int held_buffer = -1;
static int received_fd[MOST_TAGS];
static struct msghdr received_as[MOST_TAGS];
static int64_t time_ns = RING_NEVER_NS;
static bool is_time_set;
/* Times that came while they were put off: to be passed over. */
static unsigned int stale_times;
static struct __kernel_timespec when;

static void *map_or_die(size_t bytes, int flags, int fd, uint64_t offset)
{
	void *at =
	    mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset);

	if (at == MAP_FAILED)
		die_errno("mmap", "an io_uring in memory", NULL);
	return at;
}

static void buffer_give(uint16_t number)
{
	uint16_t tail = buffer_ring->tail;
	struct io_uring_buf *slot = &buffer_ring->bufs[tail & (BUFFERS - 1)];

	slot->addr = (uint64_t)(uintptr_t)buffers[number];
	slot->len = RING_DATAGRAM_BYTES;
	slot->bid = number;
	__atomic_store_n(&buffer_ring->tail, (uint16_t)(tail + 1),
			 __ATOMIC_RELEASE);
}

static void buffers_open_or_die(void)
{
	struct io_uring_buf_reg about = {
	    .ring_entries = BUFFERS,
	    .bgid = BUFFER_GROUP,
	};

	buffer_ring = map_or_die(BUFFERS * sizeof(struct io_uring_buf),
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	buffers = map_or_die(BUFFERS * sizeof(*buffers),
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	about.ring_addr = (uint64_t)(uintptr_t)buffer_ring;
	if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_PBUF_RING,
		    &about, 1) != 0)
		die_errno("io_uring_register", "a ring of buffers",
			  "Linux 5.19 has them");
	for (uint16_t i = 0; i < BUFFERS; i++)
		buffer_give(i);
}

void ring_open_or_die(const char *words)
{
	struct io_uring_params about = {
	    .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
		     IORING_SETUP_CQSIZE,
	    .cq_entries = 4 * RING_REQUESTS,
	};
	uint8_t *rings;
	size_t bytes;

	why = words;
	ring = (int)syscall(SYS_io_uring_setup, RING_REQUESTS, &about);
	if (ring < 0 && errno == ENOSYS)
		die_unsupported("io_uring", words, "a kernel without",
				"build it with IO_URING");
	if (ring < 0)
		die_errno("io_uring_setup", words,
			  "Linux 6.1 has what it takes");
	bytes =
	    about.cq_off.cqes + about.cq_entries * sizeof(struct io_uring_cqe);
	rings = map_or_die(bytes, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	requests = map_or_die(RING_REQUESTS * sizeof(*requests), MAP_SHARED,
			      ring, IORING_OFF_SQES);
	submit_tail = (uint32_t *)(void *)(rings + about.sq_off.tail);
	submit_index = (uint32_t *)(void *)(rings + about.sq_off.array);
	submit_mask = about.sq_entries - 1;
	done_head = (uint32_t *)(void *)(rings + about.cq_off.head);
	done_tail = (uint32_t *)(void *)(rings + about.cq_off.tail);
	done = (const void *)(rings + about.cq_off.cqes);
	done_mask = about.cq_entries - 1;
	buffers_open_or_die();
}

static void enter(unsigned int at_least)
{
	long taken;

	do {
		taken = syscall(SYS_io_uring_enter, ring, waiting, at_least,
				IORING_ENTER_GETEVENTS, NULL, 0);
		if (taken < 0 && errno != EINTR)
			die_errno("io_uring_enter", why, NULL);
		if (taken > 0)
			waiting -= (uint32_t)taken;
	} while (taken < 0 || waiting > 0);
}

static struct io_uring_sqe *request(enum what what, unsigned int tag,
				    uint8_t code, int fd)
{
	struct io_uring_sqe *one;
	uint32_t tail, at;

	if (waiting == RING_REQUESTS)
		ring_do();
	tail = *submit_tail;
	at = tail & submit_mask;
	one = &requests[at];
	memset(one, 0, sizeof(*one));
	one->opcode = code;
	one->fd = fd;
	one->user_data = (uint64_t)what << WHAT_SHIFT | tag;
	submit_index[at] = at;
	__atomic_store_n(submit_tail, tail + 1, __ATOMIC_RELEASE);
	waiting++;
	return one;
}

void ring_receive(int fd, unsigned int tag)
{
	struct io_uring_sqe *one = request(RECEIVE, tag, IORING_OP_RECV, fd);

	received_fd[tag] = fd;
	one->ioprio = IORING_RECV_MULTISHOT;
	one->flags = IOSQE_BUFFER_SELECT;
	one->buf_group = BUFFER_GROUP;
	/* The length that there was, if it did not fit. */
	one->msg_flags = MSG_TRUNC;
}

static void receive_messages(unsigned int tag)
{
	struct io_uring_sqe *one =
	    request(RECEIVE_MESSAGE, tag, IORING_OP_RECVMSG, received_fd[tag]);

	one->addr = (uint64_t)(uintptr_t)&received_as[tag];
	one->len = 1;
	one->ioprio = IORING_RECV_MULTISHOT;
	one->flags = IOSQE_BUFFER_SELECT;
	one->buf_group = BUFFER_GROUP;
}

void ring_receive_messages(int fd, unsigned int tag, socklen_t name_bytes,
			   socklen_t control_bytes)
{
	received_fd[tag] = fd;
	received_as[tag] = (struct msghdr){
	    .msg_namelen = name_bytes,
	    .msg_controllen = control_bytes,
	};
	receive_messages(tag);
}

void ring_watch(int fd, unsigned int tag)
{
	request(WATCH, tag, IORING_OP_POLL_ADD, fd)->poll32_events = POLLIN;
}

void ring_send(int fd, const void *bytes, size_t length)
{
	struct io_uring_sqe *one = request(SEND, 0, IORING_OP_SEND, fd);

	one->addr = (uint64_t)(uintptr_t)bytes;
	one->len = (uint32_t)length;
	/* All of it, or it has failed; only that wakes the program. */
	one->msg_flags = MSG_WAITALL;
	one->flags = IOSQE_CQE_SKIP_SUCCESS;
}

void ring_send_message(int fd, const struct msghdr *message, uint32_t flags,
		       unsigned int tag)
{
	struct io_uring_sqe *one =
	    request(SEND_MESSAGE, tag, IORING_OP_SENDMSG, fd);

	one->addr = (uint64_t)(uintptr_t)message;
	one->len = 1;
	one->msg_flags = flags;
	one->flags = IOSQE_CQE_SKIP_SUCCESS;
}

static void time_begin(void)
{
	struct io_uring_sqe *one = request(TIME, 0, IORING_OP_TIMEOUT, -1);

	one->addr = (uint64_t)(uintptr_t)&when;
	one->len = 1;
	one->timeout_flags = IORING_TIMEOUT_ABS;
}

static void time_change(bool remove)
{
	struct io_uring_sqe *one =
	    request(TIME_CHANGE, 0, IORING_OP_TIMEOUT_REMOVE, -1);

	one->addr = (uint64_t)TIME << WHAT_SHIFT;
	one->flags = IOSQE_CQE_SKIP_SUCCESS;
	if (remove)
		return;
	one->addr2 = (uint64_t)(uintptr_t)&when;
	one->timeout_flags = IORING_TIMEOUT_UPDATE | IORING_TIMEOUT_ABS;
}

void ring_set_time(int64_t t_ns)
{
	if (t_ns == time_ns)
		return;
	time_ns = t_ns;
	if (t_ns == RING_NEVER_NS) {
		if (is_time_set)
			time_change(true);
		is_time_set = false;
		return;
	}
	when.tv_sec = t_ns / NS_PER_S;
	when.tv_nsec = t_ns % NS_PER_S;
	if (is_time_set)
		time_change(false);
	else
		time_begin();
	is_time_set = true;
}

void ring_do(void)
{
	if (waiting > 0)
		enter(0);
}

void ring_wait(void)
{
	enter(*done_head == __atomic_load_n(done_tail, __ATOMIC_ACQUIRE));
}

static _Noreturn void die_of(int32_t result, const char *what)
{
	errno = -result;
	die_errno(what, why, NULL);
}

/* false: all buffers were full; it goes on from there. */
static bool has_buffer(const struct io_uring_cqe *one)
{
	if (one->res == -ENOBUFS)
		return false;
	if (one->res < 0)
		die_of(one->res, "recv");
	held_buffer = (int)(one->flags >> IORING_CQE_BUFFER_SHIFT);
	return true;
}

static bool take_message(const struct io_uring_cqe *one, unsigned int tag,
			 struct ring_event *event)
{
	const struct msghdr *as = &received_as[tag];
	struct io_uring_recvmsg_out head;
	uint8_t *at;
	size_t room, aside;

	if (!(one->flags & IORING_CQE_F_MORE))
		receive_messages(tag);
	*event = (struct ring_event){.kind = RING_FAILED, .tag = tag};
	if (one->res < 0 && one->res != -ENOBUFS)
		return true;
	if (!has_buffer(one))
		return false;
	at = buffers[held_buffer];
	memcpy(&head, at, sizeof(head));
	aside = sizeof(head) + as->msg_namelen + as->msg_controllen;
	room = RING_DATAGRAM_BYTES - aside;
	*event = (struct ring_event){
	    .kind = RING_DATA,
	    .tag = tag,
	    .bytes = at + aside,
	    .length = head.payloadlen < room ? head.payloadlen : room,
	    .message = {.msg_name = at + sizeof(head),
			.msg_namelen = head.namelen,
			.msg_control = at + sizeof(head) + as->msg_namelen,
			.msg_controllen = head.controllen,
			.msg_flags = (int)head.flags},
	};
	return true;
}

static bool take_datagram(const struct io_uring_cqe *one, unsigned int tag,
			  struct ring_event *event)
{
	if (!(one->flags & IORING_CQE_F_MORE))
		ring_receive(received_fd[tag], tag);
	if (!has_buffer(one))
		return false;
	if ((uint32_t)one->res > RING_DATAGRAM_BYTES)
		die_run("recv", "a datagram of at most 4096 bytes", "a larger",
			NULL);
	*event = (struct ring_event){
	    .kind = RING_DATA,
	    .tag = tag,
	    .bytes = buffers[held_buffer],
	    .length = (size_t)one->res,
	};
	return true;
}

/* false: nothing that anybody but the ring has to know. */
static bool take(const struct io_uring_cqe *one, struct ring_event *event)
{
	unsigned int tag = (unsigned int)(one->user_data & UINT32_MAX);

	switch ((enum what)(one->user_data >> WHAT_SHIFT)) {
	case RECEIVE:
		return take_datagram(one, tag, event);
	case RECEIVE_MESSAGE:
		return take_message(one, tag, event);
	case SEND_MESSAGE:
		*event = (struct ring_event){.kind = RING_FAILED, .tag = tag};
		return true;
	case WATCH:
		if (one->res < 0)
			die_of(one->res, "poll");
		*event = (struct ring_event){.kind = RING_READABLE, .tag = tag};
		return true;
	case SEND:
		if (one->res >= 0)
			die_run("send", "all bytes sent", "a part", NULL);
		die_of(one->res, "send");
	case TIME:
		if (one->res == -ECANCELED)
			return false;
		if (one->res != -ETIME)
			die_of(one->res, "a timeout");
		if (stale_times > 0) {
			stale_times--;
			return false;
		}
		is_time_set = false;
		time_ns = RING_NEVER_NS;
		*event = (struct ring_event){.kind = RING_TIME};
		return true;
	case TIME_CHANGE:
		if (one->res != -ENOENT)
			die_of(one->res, "a timeout");
		stale_times++;
		if (is_time_set)
			time_begin();
		return false;
	}
	return false;
}

bool ring_next(struct ring_event *event)
{
	if (held_buffer >= 0)
		buffer_give((uint16_t)held_buffer);
	held_buffer = -1;
	for (;;) {
		uint32_t head = *done_head;
		struct io_uring_cqe one;

		if (head == __atomic_load_n(done_tail, __ATOMIC_ACQUIRE))
			return false;
		one = done[head & done_mask];
		__atomic_store_n(done_head, head + 1, __ATOMIC_RELEASE);
		if (take(&one, event))
			return true;
	}
}

void ring_close_or_die(void)
{
	struct io_uring_sync_cancel_reg all = {
	    .flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL,
	    .timeout = {.tv_sec = -1, .tv_nsec = -1},
	};

	ring_do();
	if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_SYNC_CANCEL,
		    &all, 1) < 0 &&
	    errno != ENOENT)
		die_errno("io_uring_register", "an end of all waiting", NULL);
	/* What was cancelled lets go of its files here. */
	enter(0);
	close_or_die(ring);
}
