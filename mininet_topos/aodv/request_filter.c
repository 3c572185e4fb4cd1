/*
 * Requests that were heard before, without a wake-up. In a flood every node
 * hears each request from each neighbour, and only the first tells it more
 * than that the neighbour is there. An eBPF program on the socket for AODV's
 * messages writes down when such a one came, counts it, and hands up all
 * others.
 *
 * Invariants: only a request that the state machine would drop as a duplicate
 * or as its own, from a neighbour whose route it would do no more than
 * prolong, is kept from it, and it learns of it before it does anything else;
 * so what it does is the same with and without the program. Both tables are
 * shared with the program, in memory, and lossy: what found no place there
 * wakes the daemon.
 */
#include "aodvd.h"
#include "bpf_code.h"
#include "probe_common.h"

#include <linux/filter.h>
#include <netinet/ip.h>
#include <netinet/udp.h>

/* Powers of two. */
#define REQUESTS 1024U
#define NEIGHBOURS 256U
#define ORIGINATOR_FACTOR 31U
/* On the program's stack: the place in a table. */
#define KEY_OFFSET (-4)
#define UDP_HEADER_BYTES 8U

/* until_ns 0: nothing is here. */
struct request {
	uint32_t originator;
	uint32_t id;
	int64_t until_ns;
	uint64_t heard;
};

/* interface is one more than its number; 0: nobody is here. */
struct neighbour {
	uint32_t address;
	uint32_t interface;
	int64_t heard_ns;
};

static struct request *requests;
static struct neighbour *neighbours;
/* When the latest message came that was handed up. */
static const int64_t *last_ns;
static int requests_fd, neighbours_fd, last_fd;

void requests_open(void)
{
	static const char words[] = "a table of what was heard";

	/* Hellos that are missed are told by what is heard at once. */
	if (aodvd.config.hello || !option_request_filter())
		return;
	requests = bpf_table_or_die(sizeof(struct request), REQUESTS, words,
				    &requests_fd);
	neighbours = bpf_table_or_die(sizeof(struct neighbour), NEIGHBOURS,
				      words, &neighbours_fd);
	last_ns = bpf_table_or_die(sizeof(*last_ns), 1, words, &last_fd);
}

/* A packet of this node's own, which the kernel hands to its sender, too. */
static void write_own(struct bpf_code *code, uint32_t address)
{
	struct bpf_jumps other = {0};

	bpf_load_packet(code, BPF_W,
			(uint32_t)SKF_NET_OFF + offsetof(struct iphdr, saddr));
	bpf_jump(code, BPF_JNE, BPF_REG_0, address, &other);
	bpf_return(code, 0);
	bpf_land(code, &other);
}

/* A request without extensions, from here on: R7 originator, R8 number. */
static void write_request(struct bpf_code *code, struct bpf_jumps *pass)
{
	bpf_add(code, BPF_LDX | BPF_MEM | BPF_W, BPF_REG_0, BPF_REG_6,
		offsetof(struct __sk_buff, len), 0);
	bpf_jump(code, BPF_JNE, BPF_REG_0, UDP_HEADER_BYTES + AODV_RREQ_BYTES,
		 pass);
	bpf_load_packet(code, BPF_B, UDP_HEADER_BYTES);
	bpf_jump(code, BPF_JNE, BPF_REG_0, AODV_RREQ, pass);
	bpf_load_packet(code, BPF_W,
			UDP_HEADER_BYTES + AODV_RREQ_ORIGINATOR_OFFSET);
	bpf_move(code, BPF_REG_7, BPF_REG_0);
	bpf_load_packet(code, BPF_W, UDP_HEADER_BYTES + AODV_RREQ_ID_OFFSET);
	bpf_move(code, BPF_REG_8, BPF_REG_0);
}

/* R0 = the entry of the table at R0's place. */
static void write_lookup(struct bpf_code *code, int fd, uint32_t entries,
			 struct bpf_jumps *pass)
{
	bpf_add(code, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_0, 0, 0,
		entries - 1);
	bpf_add(code, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_0,
		KEY_OFFSET, 0);
	bpf_map_key(code, fd, KEY_OFFSET);
	bpf_call(code, BPF_FUNC_map_lookup_elem);
	bpf_jump_null(code, BPF_REG_0, pass);
}

/* R1 = a member of the entry at R0. */
static void write_member(struct bpf_code *code, int size, size_t offset)
{
	bpf_add(code, BPF_LDX | BPF_MEM | size, BPF_REG_1, BPF_REG_0,
		(int)offset, 0);
}

/* One that was heard before: R7 becomes its entry, R8 the time. */
static void write_heard(struct bpf_code *code, struct bpf_jumps *pass)
{
	bpf_move(code, BPF_REG_0, BPF_REG_7);
	bpf_add(code, BPF_ALU64 | BPF_MUL | BPF_K, BPF_REG_0, 0, 0,
		ORIGINATOR_FACTOR);
	bpf_add(code, BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_0, BPF_REG_8, 0, 0);
	write_lookup(code, requests_fd, REQUESTS, pass);
	write_member(code, BPF_W, offsetof(struct request, originator));
	bpf_jump_reg(code, BPF_JNE, BPF_REG_1, BPF_REG_7, pass);
	write_member(code, BPF_W, offsetof(struct request, id));
	bpf_jump_reg(code, BPF_JNE, BPF_REG_1, BPF_REG_8, pass);
	bpf_move(code, BPF_REG_7, BPF_REG_0);
	bpf_call(code, BPF_FUNC_ktime_get_ns);
	bpf_move(code, BPF_REG_8, BPF_REG_0);
	bpf_add(code, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_7,
		offsetof(struct request, until_ns), 0);
	bpf_jump_reg(code, BPF_JSLE, BPF_REG_1, BPF_REG_8, pass);
}

/* R0 = the place of the neighbour in R9, before it is cut: as place_of(). */
static void write_place(struct bpf_code *code)
{
	bpf_move(code, BPF_REG_0, BPF_REG_9);
	for (uint32_t bits = 8; bits <= 16; bits += 8) {
		bpf_move(code, BPF_REG_1, BPF_REG_9);
		bpf_add(code, BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_1, 0, 0,
			bits);
		bpf_add(code, BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_0, BPF_REG_1,
			0, 0);
	}
}

/* From a neighbour that has a route: it was heard. */
static void write_neighbour(struct bpf_code *code, unsigned int interface,
			    struct bpf_jumps *pass)
{
	bpf_load_packet(code, BPF_W,
			(uint32_t)SKF_NET_OFF + offsetof(struct iphdr, saddr));
	bpf_move(code, BPF_REG_9, BPF_REG_0);
	write_place(code);
	write_lookup(code, neighbours_fd, NEIGHBOURS, pass);
	write_member(code, BPF_W, offsetof(struct neighbour, address));
	bpf_jump_reg(code, BPF_JNE, BPF_REG_1, BPF_REG_9, pass);
	write_member(code, BPF_W, offsetof(struct neighbour, interface));
	bpf_jump(code, BPF_JNE, BPF_REG_1, interface + 1, pass);
	bpf_add(code, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_8,
		offsetof(struct neighbour, heard_ns), 0);
	bpf_add(code, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, 1);
	bpf_add(code, BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_7, BPF_REG_1,
		offsetof(struct request, heard), BPF_ADD);
}

bool requests_attach(int fd, unsigned int interface)
{
	struct bpf_code code;
	struct bpf_jumps pass = {0};
	int program_fd;

	if (!requests)
		return false;
	bpf_begin(&code);
	write_own(&code, aodvd.interface[interface].address);
	write_request(&code, &pass);
	write_heard(&code, &pass);
	write_neighbour(&code, interface, &pass);
	bpf_return(&code, 0);
	bpf_land(&code, &pass);
	bpf_write_time(&code, last_fd, KEY_OFFSET);
	bpf_return(&code, UINT32_MAX);
	program_fd = bpf_program_or_die(&code, "a program that counts");
	bpf_attach_or_die(fd, program_fd);
	close_or_die(program_fd);
	return true;
}

static void count(struct request *request)
{
	uint64_t heard =
	    __atomic_exchange_n(&request->heard, 0, __ATOMIC_RELAXED);

	aodvd.counts.requests_filtered += heard;
	aodv_core_requests_heard(aodvd.core, request->originator, heard);
}

int64_t requests_last_ns(void)
{
	return requests ? __atomic_load_n(last_ns, __ATOMIC_RELAXED)
			: clock_now_ns();
}

void requests_seen(uint32_t originator, uint32_t id, int64_t until_ns)
{
	struct request *request;

	if (!requests)
		return;
	request =
	    &requests[(originator * ORIGINATOR_FACTOR + id) & (REQUESTS - 1)];
	__atomic_store_n(&request->until_ns, 0, __ATOMIC_SEQ_CST);
	count(request);
	request->originator = originator;
	request->id = id;
	__atomic_store_n(&request->until_ns, until_ns, __ATOMIC_SEQ_CST);
}

void requests_count(void)
{
	for (uint32_t i = 0; requests && i < REQUESTS; i++)
		count(&requests[i]);
}

/* By all bytes but the first: any one of them may tell nodes apart. */
static struct neighbour *place_of(uint32_t address)
{
	uint32_t sum = address + (address >> 8) + (address >> 16);

	return &neighbours[sum & (NEIGHBOURS - 1)];
}

/* Who was there before is not watched any more, and wakes the daemon. */
void neighbour_watch(uint32_t address, unsigned int interface)
{
	struct neighbour *place;

	if (!requests)
		return;
	place = place_of(address);
	if (place->address == address && place->interface == interface + 1)
		return;
	__atomic_store_n(&place->interface, 0, __ATOMIC_SEQ_CST);
	place->address = address;
	place->heard_ns = 0;
	__atomic_store_n(&place->interface, interface + 1, __ATOMIC_SEQ_CST);
}

void neighbour_unwatch(uint32_t address)
{
	if (requests && place_of(address)->address == address)
		place_of(address)->interface = 0;
}

void neighbours_heard(void)
{
	for (uint32_t i = 0; neighbours && i < NEIGHBOURS; i++) {
		struct neighbour *place = &neighbours[i];

		if (!place->interface || !place->heard_ns)
			continue;
		aodv_core_heard(
		    aodvd.core, place->address,
		    __atomic_exchange_n(&place->heard_ns, 0, __ATOMIC_RELAXED));
	}
}
