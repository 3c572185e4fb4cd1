/*
 * eBPF programs on sockets, written instruction by instruction: they do what
 * a program would have to be woken for, and no compiler for them is needed.
 *
 * Invariants: a program reads the packet by BPF_LD, whose words come in host
 * order and which ends the program, with nothing handed up, beyond the
 * packet's end; R6 holds the context from the first instruction on.
 */
#ifndef PROBE_BPF_CODE_H
#define PROBE_BPF_CODE_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#define BPF_CODE_MOST 96

struct bpf_code {
	unsigned int length;
	struct bpf_insn at[BPF_CODE_MOST];
};

/* Jumps that all lead to one place, which is not known yet. */
struct bpf_jumps {
	unsigned int count;
	unsigned int at[16];
};

long bpf(int command, union bpf_attr *attributes);
int bpf_map_or_die(union bpf_attr *map, const char *words);
/* An array that programs and this process share, in memory, all zero. */
void *bpf_table_or_die(size_t entry_bytes, uint32_t entries, const char *words,
		       int *fd);
/* Loads what was written and puts it on the socket. */
int bpf_program_or_die(const struct bpf_code *code, const char *words);
void bpf_attach_or_die(int fd, int program_fd);

void bpf_begin(struct bpf_code *code);
void bpf_add(struct bpf_code *code, int opcode, int dst, int src, int offset,
	     uint32_t immediate);
/* Jumps on a comparison of dst's 32 bits with a number. */
void bpf_jump(struct bpf_code *code, int comparison, int dst, uint32_t value,
	      struct bpf_jumps *jumps);
/* The same of all 64 bits of two registers. */
void bpf_jump_reg(struct bpf_code *code, int comparison, int dst, int src,
		  struct bpf_jumps *jumps);
void bpf_jump_null(struct bpf_code *code, int dst, struct bpf_jumps *jumps);
void bpf_jump_always(struct bpf_code *code, struct bpf_jumps *jumps);
/* All these jumps lead to the instruction that is written next. */
void bpf_land(struct bpf_code *code, const struct bpf_jumps *jumps);
/* R0 = size (BPF_B, BPF_H, BPF_W) at offset of the packet. */
void bpf_load_packet(struct bpf_code *code, int size, uint32_t offset);
void bpf_move(struct bpf_code *code, int dst, int src);
void bpf_call(struct bpf_code *code, uint32_t function);
/* R1 = the map, R2 = where on the stack the key lies. */
void bpf_map_key(struct bpf_code *code, int map_fd, int key_offset);
/*
 * The time becomes the first entry of a table of times; takes R9, and the
 * stack from key_offset on.
 */
void bpf_write_time(struct bpf_code *code, int table_fd, int key_offset);
/*
 * The time, CLOCK_MONOTONIC, at which the latest packet of a socket came:
 * asking the kernel would be a call for each. One for each socket.
 */
const int64_t *bpf_arrivals_or_die(int fd);
void bpf_return(struct bpf_code *code, uint32_t value);

#endif
