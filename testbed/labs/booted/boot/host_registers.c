// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Registers of the guest's processes as the host's processor has them,
 * preloaded into the User-Mode Linux process.
 *
 * Kernels before 6.13 hold 2696 bytes of extended registers for each process,
 * those of AVX-512. A host takes them back whole or not at all, and with AMX
 * they are 11008 bytes. So they are handed back with zeros behind them: what
 * lies there is in use by no process, because none has asked the host for it,
 * and the header says so; the host reads no more than its own size. A guest
 * thus gets the same registers on every host.
 *
 * What a process is known to have already is not handed back at all: one that
 * has not run since its registers were read. Kernels that trace nothing (from
 * 6.16) never call any of this.
 */
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* More than any processor has: the largest known is 11008. */
#define MOST_BYTES 65536
/* What such a kernel has room for. */
#define KNOWN_BYTES 2696
/* A power of two, so many that processes seldom share one. */
#define SLOTS 1024

/* The registers of a process that has not run since they were read. To take
 * them costs the host microseconds, and a kernel hands them back after each
 * system call of the process. */
struct known_registers {
	long pid;     /* 0: none */
	size_t count; /* of bytes: as many as the host has, and room is for */
	unsigned char bytes[KNOWN_BYTES];
};

static struct known_registers known[SLOTS];

static struct known_registers *slot_of(long pid)
{
	return &known[(unsigned long)pid % SLOTS];
}

static void forget(long pid)
{
	if (slot_of(pid)->pid == pid)
		slot_of(pid)->pid = 0;
}

static long get_registers(long pid, const struct iovec *out)
{
	long status =
	    syscall(SYS_ptrace, PTRACE_GETREGSET, pid, NT_X86_XSTATE, out);

	if (status == 0 && out->iov_len <= KNOWN_BYTES) {
		slot_of(pid)->pid = pid;
		slot_of(pid)->count = out->iov_len;
		memcpy(slot_of(pid)->bytes, out->iov_base, out->iov_len);
	}
	return status;
}

static int is_known(long pid, const unsigned char *bytes)
{
	const struct known_registers *slot = slot_of(pid);

	return slot->pid == pid && memcmp(slot->bytes, bytes, slot->count) == 0;
}

static long set_registers(long pid, const struct iovec *given)
{
	/* Behind what is given there has never been but zeros. */
	static unsigned char whole[MOST_BYTES];
	struct iovec wide = {.iov_base = whole, .iov_len = sizeof(whole)};

	if (given->iov_len != KNOWN_BYTES)
		wide = *given;
	else if (is_known(pid, given->iov_base))
		return 0;
	else
		memcpy(whole, given->iov_base, KNOWN_BYTES);
	forget(pid);
	return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, NT_X86_XSTATE, &wide);
}

static long peek(enum __ptrace_request request, long pid, void *address)
{
	long word, status = syscall(SYS_ptrace, request, pid, address, &word);

	/* The host stores what it peeked at; callers expect it returned. */
	return status < 0 ? status : word;
}

long ptrace(enum __ptrace_request request, ...)
{
	void *address, *data;
	va_list rest;
	long pid;

	va_start(rest, request);
	pid = va_arg(rest, int);
	address = va_arg(rest, void *);
	data = va_arg(rest, void *);
	va_end(rest);
	switch (request) {
	case PTRACE_GETREGSET:
		if ((long)address == NT_X86_XSTATE)
			return get_registers(pid, data);
		break;
	case PTRACE_SETREGSET:
		if ((long)address == NT_X86_XSTATE)
			return set_registers(pid, data);
		break;
	case PTRACE_PEEKTEXT:
	case PTRACE_PEEKDATA:
	case PTRACE_PEEKUSER:
		return peek(request, pid, address);
	case PTRACE_GETREGS:
	case PTRACE_SETREGS:
	case PTRACE_GETSIGINFO:
		break;
	default: /* it may run, or is another than had this number before */
		forget(pid);
	}
	return syscall(SYS_ptrace, request, pid, address, data);
}
