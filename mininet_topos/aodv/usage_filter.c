/*
 * Who uses which route, without a wake-up: an eBPF program on a packet socket
 * writes the time into a map, keyed by source and destination, and keeps no
 * packet. The map is read, and emptied, when a route would expire.
 *
 * A packet counts when it leaves an interface (sent or forwarded), or arrives
 * for an address of this node; AODV's own do not.
 */
#include "aodvd.h"
#include "probe_common.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_FLOWS 4096
#define BATCH_FLOWS 256
#define MOST_INSTRUCTIONS 64
#define KEY_OFFSET (-8)
#define VALUE_OFFSET (-16)

struct usage_key {
	uint32_t source;
	uint32_t destination;
};

struct code {
	unsigned int length;
	struct bpf_insn at[MOST_INSTRUCTIONS];
};

static long bpf(int command, union bpf_attr *attributes)
{
	return syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

static struct bpf_insn *add(struct code *code, int opcode, int dst, int src,
			    int offset, uint32_t immediate)
{
	struct bpf_insn *instruction = &code->at[code->length++];

	*instruction = (struct bpf_insn){
	    .code = (uint8_t)opcode,
	    .dst_reg = (uint8_t)(dst & 0xf),
	    .src_reg = (uint8_t)(src & 0xf),
	    .off = (int16_t)offset,
	    .imm = (int32_t)immediate,
	};
	return instruction;
}

static void jump_unless(struct code *code, int opcode, uint32_t value,
			unsigned int *jumps, unsigned int *jumps_count)
{
	jumps[(*jumps_count)++] = code->length;
	add(code, BPF_JMP | opcode | BPF_K, BPF_REG_0, 0, 0, value);
}

static void load(struct code *code, int mode, int size, int src,
		 uint32_t offset)
{
	add(code, BPF_LD | mode | size, 0, src, 0, offset);
}

/* Goes on to what follows for a packet that counts. */
static void write_choice(struct code *code, unsigned int *out,
			 unsigned int *out_count)
{
	unsigned int sent, known[AODV_MOST_INTERFACES], known_count = 0;

	add(code, BPF_LDX | BPF_MEM | BPF_W, BPF_REG_0, BPF_REG_6,
	    offsetof(struct __sk_buff, protocol), 0);
	jump_unless(code, BPF_JNE, htons(ETH_P_IP), out, out_count);
	add(code, BPF_LDX | BPF_MEM | BPF_W, BPF_REG_0, BPF_REG_6,
	    offsetof(struct __sk_buff, pkt_type), 0);
	sent = code->length;
	add(code, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 0, PACKET_OUTGOING);
	jump_unless(code, BPF_JNE, PACKET_HOST, out, out_count);
	load(code, BPF_ABS, BPF_W, 0, 16);
	for (unsigned int i = 0; i < aodvd.interfaces; i++)
		jump_unless(code, BPF_JEQ, aodvd.interface[i].address, known,
			    &known_count);
	out[(*out_count)++] = code->length;
	add(code, BPF_JMP | BPF_JA, 0, 0, 0, 0);
	code->at[sent].off = (int16_t)(code->length - sent - 1);
	for (unsigned int i = 0; i < known_count; i++)
		code->at[known[i]].off = (int16_t)(code->length - known[i] - 1);
}

/* AODV's own packets keep no route alive. */
static void write_own_port(struct code *code, unsigned int *out,
			   unsigned int *out_count)
{
	unsigned int other;

	load(code, BPF_ABS, BPF_B, 0, 9);
	other = code->length;
	add(code, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 0, IPPROTO_UDP);
	load(code, BPF_ABS, BPF_B, 0, 0);
	add(code, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_0, 0, 0, 0xf);
	add(code, BPF_ALU64 | BPF_LSH | BPF_K, BPF_REG_0, 0, 0, 2);
	add(code, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_7, BPF_REG_0, 0, 0);
	load(code, BPF_IND, BPF_H, BPF_REG_7, 2);
	jump_unless(code, BPF_JEQ, AODV_PORT, out, out_count);
	code->at[other].off = (int16_t)(code->length - other - 1);
}

static void write_map_call(struct code *code, int map_fd, uint32_t function)
{
	add(code, BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0,
	    (uint32_t)map_fd);
	add(code, 0, 0, 0, 0, 0);
	add(code, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0);
	add(code, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0,
	    (uint32_t)KEY_OFFSET);
	if (function == BPF_FUNC_map_update_elem) {
		add(code, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_3, BPF_REG_10, 0,
		    0);
		add(code, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_3, 0, 0,
		    (uint32_t)VALUE_OFFSET);
		add(code, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_4, 0, 0,
		    BPF_ANY);
	}
	add(code, BPF_JMP | BPF_CALL, 0, 0, 0, function);
}

static void write_program(struct code *code, int map_fd)
{
	unsigned int out[8], out_count = 0, there;

	add(code, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_1, 0, 0);
	write_choice(code, out, &out_count);
	write_own_port(code, out, &out_count);
	for (int word = 0; word < 2; word++) {
		load(code, BPF_ABS, BPF_W, 0, (uint32_t)(12 + 4 * word));
		add(code, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_0,
		    KEY_OFFSET + 4 * word, 0);
	}
	add(code, BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ktime_get_ns);
	add(code, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_7, BPF_REG_0, 0, 0);
	write_map_call(code, map_fd, BPF_FUNC_map_lookup_elem);
	there = code->length;
	add(code, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 2, 0);
	add(code, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_7, 0, 0);
	out[out_count++] = code->length;
	add(code, BPF_JMP | BPF_JA, 0, 0, 0, 0);
	code->at[there].off = (int16_t)(code->length - there - 1);
	add(code, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, BPF_REG_7,
	    VALUE_OFFSET, 0);
	write_map_call(code, map_fd, BPF_FUNC_map_update_elem);
	for (unsigned int i = 0; i < out_count; i++)
		code->at[out[i]].off = (int16_t)(code->length - out[i] - 1);
	add(code, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0);
	add(code, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static int program_load(int map_fd)
{
	static char log[16384];
	struct code code = {.length = 0};
	union bpf_attr load_it = {
	    .prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
	    .insns = (uint64_t)(uintptr_t)code.at,
	    .license = (uint64_t)(uintptr_t)"GPL",
	    .log_buf = (uint64_t)(uintptr_t)log,
	    .log_size = sizeof(log),
	    .log_level = 1,
	};
	long fd;

	write_program(&code, map_fd);
	load_it.insn_cnt = code.length;
	fd = bpf(BPF_PROG_LOAD, &load_it);
	if (fd < 0)
		die_errno("bpf(BPF_PROG_LOAD)", "a program that counts", log);
	return (int)fd;
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

	setsockopt_or_die(fd, SOL_SOCKET, SO_ATTACH_BPF, &program_fd,
			  sizeof(program_fd), "a program on the socket");
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

	aodvd.usage_map_fd = (int)bpf(BPF_MAP_CREATE, &map);
	if (aodvd.usage_map_fd < 0)
		die_errno("bpf(BPF_MAP_CREATE)", "a map of flows", NULL);
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
