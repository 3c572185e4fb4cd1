/* eBPF programs on sockets: written, loaded, put to use. */
#include "bpf_code.h"

#include "probe_common.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

long bpf(int command, union bpf_attr *attributes)
{
	return syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

int bpf_map_or_die(union bpf_attr *map, const char *words)
{
	long fd = bpf(BPF_MAP_CREATE, map);

	if (fd < 0)
		die_errno("bpf(BPF_MAP_CREATE)", words, NULL);
	return (int)fd;
}

void *bpf_table_or_die(size_t entry_bytes, uint32_t entries, const char *words,
		       int *fd)
{
	union bpf_attr map = {
	    .map_type = BPF_MAP_TYPE_ARRAY,
	    .key_size = sizeof(uint32_t),
	    .value_size = (uint32_t)entry_bytes,
	    .max_entries = entries,
	    .map_flags = BPF_F_MMAPABLE,
	};
	void *table;

	*fd = bpf_map_or_die(&map, words);
	table = mmap(NULL, entry_bytes * entries, PROT_READ | PROT_WRITE,
		     MAP_SHARED, *fd, 0);
	if (table == MAP_FAILED)
		die_errno("mmap", words, NULL);
	return table;
}

int bpf_program_or_die(const struct bpf_code *code, const char *words)
{
	static char log[16384];
	union bpf_attr load_it = {
	    .prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
	    .insns = (uint64_t)(uintptr_t)code->at,
	    .insn_cnt = code->length,
	    .license = (uint64_t)(uintptr_t)"GPL",
	    .log_buf = (uint64_t)(uintptr_t)log,
	    .log_size = sizeof(log),
	    .log_level = 1,
	};
	long fd = bpf(BPF_PROG_LOAD, &load_it);

	if (fd < 0)
		die_errno("bpf(BPF_PROG_LOAD)", words, log);
	return (int)fd;
}

void bpf_attach_or_die(int fd, int program_fd)
{
	setsockopt_or_die(fd, SOL_SOCKET, SO_ATTACH_BPF, &program_fd,
			  sizeof(program_fd), "a program on the socket");
}

void bpf_add(struct bpf_code *code, int opcode, int dst, int src, int offset,
	     uint32_t immediate)
{
	if (code->length == BPF_CODE_MOST)
		die_run("an eBPF program", "one that fits", "a longer one",
			"this is a mistake in aodvd");
	code->at[code->length++] = (struct bpf_insn){
	    .code = (uint8_t)opcode,
	    .dst_reg = (uint8_t)(dst & 0xf),
	    .src_reg = (uint8_t)(src & 0xf),
	    .off = (int16_t)offset,
	    .imm = (int32_t)immediate,
	};
}

void bpf_begin(struct bpf_code *code)
{
	code->length = 0;
	bpf_move(code, BPF_REG_6, BPF_REG_1);
}

static void remember(const struct bpf_code *code, struct bpf_jumps *jumps)
{
	if (jumps->count == sizeof(jumps->at) / sizeof(jumps->at[0]))
		die_run("an eBPF program", "jumps that fit", "more",
			"this is a mistake in aodvd");
	jumps->at[jumps->count++] = code->length;
}

void bpf_jump(struct bpf_code *code, int comparison, int dst, uint32_t value,
	      struct bpf_jumps *jumps)
{
	remember(code, jumps);
	bpf_add(code, BPF_JMP32 | comparison | BPF_K, dst, 0, 0, value);
}

void bpf_jump_reg(struct bpf_code *code, int comparison, int dst, int src,
		  struct bpf_jumps *jumps)
{
	remember(code, jumps);
	bpf_add(code, BPF_JMP | comparison | BPF_X, dst, src, 0, 0);
}

void bpf_jump_null(struct bpf_code *code, int dst, struct bpf_jumps *jumps)
{
	remember(code, jumps);
	bpf_add(code, BPF_JMP | BPF_JEQ | BPF_K, dst, 0, 0, 0);
}

void bpf_jump_always(struct bpf_code *code, struct bpf_jumps *jumps)
{
	remember(code, jumps);
	bpf_add(code, BPF_JMP | BPF_JA, 0, 0, 0, 0);
}

void bpf_land(struct bpf_code *code, const struct bpf_jumps *jumps)
{
	for (unsigned int i = 0; i < jumps->count; i++)
		code->at[jumps->at[i]].off =
		    (int16_t)(code->length - jumps->at[i] - 1);
}

void bpf_load_packet(struct bpf_code *code, int size, uint32_t offset)
{
	bpf_add(code, BPF_LD | BPF_ABS | size, 0, 0, 0, offset);
}

void bpf_move(struct bpf_code *code, int dst, int src)
{
	bpf_add(code, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

void bpf_call(struct bpf_code *code, uint32_t function)
{
	bpf_add(code, BPF_JMP | BPF_CALL, 0, 0, 0, function);
}

void bpf_map_key(struct bpf_code *code, int map_fd, int key_offset)
{
	bpf_add(code, BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD,
		0, (uint32_t)map_fd);
	bpf_add(code, 0, 0, 0, 0, 0);
	bpf_move(code, BPF_REG_2, BPF_REG_10);
	bpf_add(code, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0,
		(uint32_t)key_offset);
}

void bpf_write_time(struct bpf_code *code, int table_fd, int key_offset)
{
	struct bpf_jumps none = {0};

	bpf_call(code, BPF_FUNC_ktime_get_ns);
	bpf_move(code, BPF_REG_9, BPF_REG_0);
	bpf_add(code, BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, key_offset, 0);
	bpf_map_key(code, table_fd, key_offset);
	bpf_call(code, BPF_FUNC_map_lookup_elem);
	bpf_jump_null(code, BPF_REG_0, &none);
	bpf_add(code, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_9, 0, 0);
	bpf_land(code, &none);
}

const int64_t *bpf_arrivals_or_die(int fd)
{
	static const char words[] = "the time at which packets come";
	struct bpf_code code;
	const int64_t *time_ns;
	int table_fd, program_fd;

	time_ns = bpf_table_or_die(sizeof(*time_ns), 1, words, &table_fd);
	bpf_begin(&code);
	bpf_write_time(&code, table_fd, -4);
	bpf_return(&code, UINT32_MAX);
	program_fd = bpf_program_or_die(&code, words);
	bpf_attach_or_die(fd, program_fd);
	close_or_die(program_fd);
	close_or_die(table_fd);
	return time_ns;
}

void bpf_return(struct bpf_code *code, uint32_t value)
{
	bpf_add(code, BPF_ALU | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, value);
	bpf_add(code, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}
