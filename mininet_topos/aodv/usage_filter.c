/*
 * Who uses which route, without a wake-up: an eBPF program on a packet socket
 * writes the time into a map, keyed by source and destination, and keeps no
 * packet. The map is read, and emptied, when a route would expire.
 *
 * A packet counts when it leaves an interface (sent or forwarded), or arrives
 * for an address of this node; AODV's own do not.
 */
#include "aodvd.h"
#include "bpf_code.h"
#include "probe_common.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <string.h>

#define MOST_FLOWS 4096
#define BATCH_FLOWS 256
#define KEY_OFFSET (-8)
#define VALUE_OFFSET (-16)

struct usage_key {
	uint32_t source;
	uint32_t destination;
};

/* Goes on to what follows for a packet that counts. */
static void write_choice(struct bpf_code *code, struct bpf_jumps *out)
{
	struct bpf_jumps counts = {0};

	bpf_add(code, BPF_LDX | BPF_MEM | BPF_W, BPF_REG_0, BPF_REG_6,
		offsetof(struct __sk_buff, protocol), 0);
	bpf_jump(code, BPF_JNE, BPF_REG_0, htons(ETH_P_IP), out);
	bpf_add(code, BPF_LDX | BPF_MEM | BPF_W, BPF_REG_0, BPF_REG_6,
		offsetof(struct __sk_buff, pkt_type), 0);
	bpf_jump(code, BPF_JEQ, BPF_REG_0, PACKET_OUTGOING, &counts);
	bpf_jump(code, BPF_JNE, BPF_REG_0, PACKET_HOST, out);
	bpf_load_packet(code, BPF_W, offsetof(struct iphdr, daddr));
	for (unsigned int i = 0; i < aodvd.interfaces; i++)
		bpf_jump(code, BPF_JEQ, BPF_REG_0, aodvd.interface[i].address,
			 &counts);
	bpf_jump_always(code, out);
	bpf_land(code, &counts);
}

/* AODV's own packets keep no route alive. */
static void write_own_port(struct bpf_code *code, struct bpf_jumps *out)
{
	struct bpf_jumps other = {0};

	bpf_load_packet(code, BPF_B, offsetof(struct iphdr, protocol));
	bpf_jump(code, BPF_JNE, BPF_REG_0, IPPROTO_UDP, &other);
	bpf_load_packet(code, BPF_B, 0);
	bpf_add(code, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_0, 0, 0, 0xf);
	bpf_add(code, BPF_ALU64 | BPF_LSH | BPF_K, BPF_REG_0, 0, 0, 2);
	bpf_move(code, BPF_REG_7, BPF_REG_0);
	bpf_add(code, BPF_LD | BPF_IND | BPF_H, 0, BPF_REG_7, 0, 2);
	bpf_jump(code, BPF_JEQ, BPF_REG_0, AODV_PORT, out);
	bpf_land(code, &other);
}

/* The time into the flow's place; a flow that has none gets one. */
static void write_time(struct bpf_code *code, int map_fd, struct bpf_jumps *out)
{
	struct bpf_jumps none = {0};

	bpf_call(code, BPF_FUNC_ktime_get_ns);
	bpf_move(code, BPF_REG_7, BPF_REG_0);
	bpf_map_key(code, map_fd, KEY_OFFSET);
	bpf_call(code, BPF_FUNC_map_lookup_elem);
	bpf_jump_null(code, BPF_REG_0, &none);
	bpf_add(code, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_7, 0, 0);
	bpf_jump_always(code, out);
	bpf_land(code, &none);
	bpf_add(code, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, BPF_REG_7,
		VALUE_OFFSET, 0);
	bpf_map_key(code, map_fd, KEY_OFFSET);
	bpf_move(code, BPF_REG_3, BPF_REG_10);
	bpf_add(code, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_3, 0, 0,
		(uint32_t)VALUE_OFFSET);
	bpf_add(code, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_4, 0, 0, BPF_ANY);
	bpf_call(code, BPF_FUNC_map_update_elem);
}

static int program_load(int map_fd)
{
	struct bpf_code code;
	struct bpf_jumps out = {0};

	bpf_begin(&code);
	write_choice(&code, &out);
	write_own_port(&code, &out);
	for (int word = 0; word < 2; word++) {
		bpf_load_packet(&code, BPF_W, (uint32_t)(12 + 4 * word));
		bpf_add(&code, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_0,
			KEY_OFFSET + 4 * word, 0);
	}
	write_time(&code, map_fd, &out);
	bpf_land(&code, &out);
	bpf_return(&code, 0);
	return bpf_program_or_die(&code, "a program that counts");
}

static int tap_open(unsigned int index, int program_fd)
{
	struct sockaddr_ll where = {
	    .sll_family = AF_PACKET,
	    .sll_protocol = htons(ETH_P_ALL),
	    .sll_ifindex = (int)index,
	};
	/* Protocol 0: nothing arrives before the program is there. */
	int fd = socket_or_die(AF_PACKET, SOCK_DGRAM, 0, "a packet socket");

	bpf_attach_or_die(fd, program_fd);
	if (bind(fd, (struct sockaddr *)&where, sizeof(where)) != 0)
		die_errno("bind(AF_PACKET)", "all packets of an interface",
			  NULL);
	return fd;
}

void usage_open(void)
{
	union bpf_attr map = {
	    .map_type = BPF_MAP_TYPE_HASH,
	    .key_size = sizeof(struct usage_key),
	    .value_size = sizeof(int64_t),
	    .max_entries = MOST_FLOWS,
	};
	int program_fd;

	aodvd.usage_map_fd = bpf_map_or_die(&map, "a map of flows");
	program_fd = program_load(aodvd.usage_map_fd);
	for (unsigned int i = 0; i < aodvd.interfaces; i++)
		aodvd.interface[i].usage_fd =
		    tap_open(aodvd.interface[i].index, program_fd);
	close_or_die(program_fd);
}

void usage_read(void)
{
	static struct usage_key keys[BATCH_FLOWS];
	static int64_t times[BATCH_FLOWS];
	uint64_t position = 0;
	union bpf_attr batch;
	bool begun = false;
	long result;

	do {
		memset(&batch, 0, sizeof(batch));
		batch.batch.map_fd = (uint32_t)aodvd.usage_map_fd;
		batch.batch.in_batch =
		    begun ? (uint64_t)(uintptr_t)&position : 0;
		batch.batch.out_batch = (uint64_t)(uintptr_t)&position;
		batch.batch.keys = (uint64_t)(uintptr_t)keys;
		batch.batch.values = (uint64_t)(uintptr_t)times;
		batch.batch.count = BATCH_FLOWS;
		result = bpf(BPF_MAP_LOOKUP_AND_DELETE_BATCH, &batch);
		if (result < 0 && errno != ENOENT)
			die_errno("bpf(BPF_MAP_LOOKUP_AND_DELETE_BATCH)",
				  "the flows", NULL);
		aodvd.counts.usage_reads++;
		aodvd.counts.usage_flows += batch.batch.count;
		for (uint32_t i = 0; i < batch.batch.count; i++)
			aodv_core_used(aodvd.core, keys[i].source,
				       keys[i].destination, times[i]);
		begun = true;
	} while (result == 0);
}
