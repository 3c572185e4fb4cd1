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
 * thus gets the same registers on every host. Kernels that trace nothing
 * (from 6.16) never call this.
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

static long set_registers(long pid, void *kind, const struct iovec *given)
{
	/* Behind the longest given so far there has never been but zeros. */
	static unsigned char whole[MOST_BYTES];
	struct iovec wide = {.iov_base = whole, .iov_len = sizeof(whole)};

	if ((long)kind != NT_X86_XSTATE || given->iov_len > sizeof(whole))
		wide = *given;
	else
		memcpy(whole, given->iov_base, given->iov_len);
	return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, kind, &wide);
}

long ptrace(enum __ptrace_request request, ...)
{
	void *address, *data;
	long pid, word, status;
	va_list rest;

	va_start(rest, request);
	pid = va_arg(rest, int);
	address = va_arg(rest, void *);
	data = va_arg(rest, void *);
	va_end(rest);
	if (request == PTRACE_SETREGSET)
		return set_registers(pid, address, data);
	if (request != PTRACE_PEEKTEXT && request != PTRACE_PEEKDATA &&
	    request != PTRACE_PEEKUSER)
		return syscall(SYS_ptrace, request, pid, address, data);
	/* The host stores what it peeked at; callers expect it returned. */
	status = syscall(SYS_ptrace, request, pid, address, &word);
	return status < 0 ? status : word;
}
