// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The second wall before the host's kernel: a list of the system calls that a
 * User-Mode kernel, its hostfs and the processes of its guests make, and of
 * those that QEMU with its 9P makes besides. All others fail: with ENOSYS if
 * they are newer than this list, so that a C library falls back, with EPERM
 * otherwise.
 *
 * None may be answered by killing the process: in the kernel's seccomp mode a
 * guest's program makes its calls for real, and a filter of the kernel's own,
 * which is asked too and outweighs an error, hands them to the kernel.
 */
#include "walls.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __x86_64__
#error "the list of system calls is that of x86-64"
#endif

#define FIELD(name) ((unsigned int)offsetof(struct seccomp_data, name))
#define ARGUMENT(n) (FIELD(args) + 8 * (unsigned int)(n))
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)
#define UNLESS_EQUAL(value, skip)                                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define IF_BITS(mask, skip) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, mask, skip, 0)
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, value)
#define FAIL(error) ANSWER(SECCOMP_RET_ERRNO | (error))
#define PASS ANSWER(SECCOMP_RET_ALLOW)

/* Calls of this list's time; newer ones do not exist for the lab. */
#define FIRST_UNKNOWN 463U
#define NEW_NAMESPACES                                                         \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |         \
	 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define SET_ID_BITS (S_ISUID | S_ISGID)
#define MOST_STEPS 512
#define MOST_VALUES 5

static const unsigned int ALLOWED[] = {
    SYS_futex,
    SYS_rt_sigreturn,
    SYS_recvmsg,
    SYS_sendmsg,
    SYS_mmap,
    SYS_munmap,
    SYS_close,
    SYS_pread64,
    SYS_pwrite64,
    SYS_read,
    SYS_write,
    SYS_epoll_wait,
    SYS_wait4,
    SYS_statx,
    SYS_newfstatat,
    SYS_fstat,
    SYS_access,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_readlink,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_lseek,
    SYS_mkdirat,
    SYS_rmdir,
    SYS_unlink,
    SYS_unlinkat,
    SYS_rename,
    SYS_renameat,
    SYS_renameat2,
    SYS_truncate,
    SYS_ftruncate,
    SYS_fsync,
    SYS_fdatasync,
    SYS_utimensat,
    SYS_statfs,
    SYS_fstatfs,
    SYS_readv,
    SYS_writev,
    SYS_poll,
    SYS_ppoll,
    SYS_epoll_create,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_eventfd2,
    SYS_signalfd4,
    SYS_pipe,
    SYS_pipe2,
    SYS_dup,
    SYS_dup2,
    SYS_dup3,
    SYS_fcntl,
    SYS_close_range,
    SYS_memfd_create,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_msync,
    SYS_brk,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigpending,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait,
    SYS_sigaltstack,
    SYS_kill,
    SYS_tgkill,
    SYS_tkill,
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    SYS_getpgrp,
    SYS_setsid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_execve,
    SYS_execveat,
    SYS_fork,
    SYS_vfork,
    SYS_exit,
    SYS_exit_group,
    SYS_set_tid_address,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_arch_prctl,
    SYS_sched_yield,
    SYS_uname,
    SYS_umask,
    SYS_getcwd,
    SYS_getrlimit,
    SYS_setrlimit, /* only ever downwards */
    SYS_prlimit64,
    SYS_getrandom,
    SYS_gettimeofday,
    SYS_time,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_timer_create,
    SYS_timer_settime,
    SYS_timer_gettime,
    SYS_timer_getoverrun,
    SYS_timer_delete,
    SYS_setitimer,
    SYS_restart_syscall,
};

/* QEMU reads and writes files in pieces, tells a guest of their attributes, and
 * asks what machine it is on.
 */
static const unsigned int EMULATORS[] = {
    SYS_preadv,	   SYS_pwritev, SYS_llistxattr,
    SYS_lgetxattr, SYS_sysinfo, SYS_sched_getaffinity,
};

/* One call that is allowed with some values of one argument only. */
struct restricted {
	unsigned int call;
	unsigned int argument;
	unsigned int values[MOST_VALUES]; /* one of these; 0 ends the list */
	unsigned int never; /* or, without values: none of these bits */
};

/* In place of bits: any value but those listed. */
#define ALL_BUT (~0U)

static const struct restricted RESTRICTED[] = {
    /* A kernel that may trace at all: only what asked for it. */
    {SYS_ptrace, 0, {PTRACE_ATTACH, PTRACE_SEIZE}, ALL_BUT},
    {SYS_clone, 0, {0}, NEW_NAMESPACES},
    {SYS_mkdir, 1, {0}, SET_ID_BITS},
    {SYS_chmod, 1, {0}, SET_ID_BITS},
    {SYS_fchmod, 1, {0}, SET_ID_BITS},
    {SYS_fchmodat, 2, {0}, SET_ID_BITS},
    {SYS_openat, 3, {0}, SET_ID_BITS},
    {SYS_open, 2, {0}, SET_ID_BITS},
    {SYS_socketpair, 0, {AF_UNIX}, 0},
    {SYS_ioctl, 1, {TCGETS, TIOCGWINSZ}, 0},
    {SYS_personality, 0, {ADDR_NO_RANDOMIZE, 0xffffffff}, 0},
    {SYS_prctl,
     0,
     {PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_NO_NEW_PRIVS, PR_SET_VMA,
      PR_SET_TIMERSLACK},
     0},
    {SYS_seccomp, 1, {0}, ~(unsigned int)SECCOMP_FILTER_FLAG_TSYNC},
};

/* What happens to a call: one of these, or FIRST_RULE + its place in
 * RESTRICTED. */
enum verdict { REFUSED, PASSED, MISSING, FIRST_RULE };

static unsigned char verdicts[FIRST_UNKNOWN + 1];
static unsigned int starts[FIRST_UNKNOWN + 1]; /* of calls with one verdict */
static struct sock_filter steps[MOST_STEPS];
static unsigned short count;

static void add(struct sock_filter step)
{
	if (count == MOST_STEPS) {
		errno = E2BIG;
		die("cannot hold", "the list of system calls");
	}
	steps[count++] = step;
}

/* Only the lower half of an argument is looked at: the kernel reads no more of
 * these. */
static void add_rule(const struct restricted *rule)
{
	const struct sock_filter pass = PASS, fail = FAIL(EPERM);
	int i, all_but = rule->never == ALL_BUT;

	add((struct sock_filter)LOAD(ARGUMENT(rule->argument)));
	if (rule->values[0] == 0) {
		add((struct sock_filter)IF_BITS(rule->never, 1));
		add(pass);
	}
	for (i = 0; i < MOST_VALUES && rule->values[i] != 0; i++) {
		add((struct sock_filter)UNLESS_EQUAL(rule->values[i], 1));
		add(all_but ? fail : pass);
	}
	add(all_but ? pass : fail);
}

/* Ask by halves: a call of a guest's program passes here each time. */
static void add_search(unsigned int first, unsigned int end)
{
	unsigned int middle = (first + end) / 2, verdict;
	unsigned short jump;

	if (end - first > 1) {
		add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K,
						 starts[middle], 0, 1));
		jump = count;
		add((struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
		add_search(first, middle);
		steps[jump].k = (unsigned int)(count - jump - 1);
		add_search(middle, end);
		return;
	}
	verdict = verdicts[starts[first]];
	if (verdict == PASSED)
		add((struct sock_filter)PASS);
	else if (verdict == MISSING)
		add((struct sock_filter)FAIL(ENOSYS));
	else if (verdict == REFUSED)
		add((struct sock_filter)FAIL(EPERM));
	else
		add_rule(&RESTRICTED[verdict - FIRST_RULE]);
}

static unsigned int judge_calls(int may_trace, int emulator)
{
	unsigned int call, runs = 0;
	size_t i;

	for (i = 0; i < sizeof(ALLOWED) / sizeof(ALLOWED[0]); i++)
		verdicts[ALLOWED[i]] = PASSED;
	for (i = 0; emulator && i < sizeof(EMULATORS) / sizeof(EMULATORS[0]);
	     i++)
		verdicts[EMULATORS[i]] = PASSED;
	for (i = 0; i < sizeof(RESTRICTED) / sizeof(RESTRICTED[0]); i++)
		verdicts[RESTRICTED[i].call] = (unsigned char)(FIRST_RULE + i);
	if (!may_trace)
		verdicts[SYS_ptrace] = REFUSED;
	/* Glibc starts threads with the older call where this one is missing.
	 */
	verdicts[SYS_clone3] = MISSING;
	verdicts[FIRST_UNKNOWN] = MISSING;
	for (call = 0; call <= FIRST_UNKNOWN; call++) {
		if (call == 0 || verdicts[call] != verdicts[call - 1])
			starts[runs++] = call;
	}
	return runs;
}

void close_system_calls(int may_trace, int emulator)
{
	struct sock_fprog filter;

	add((struct sock_filter)LOAD(FIELD(arch)));
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
					 AUDIT_ARCH_X86_64, 1, 0));
	add((struct sock_filter)FAIL(EPERM));
	add((struct sock_filter)LOAD(FIELD(nr)));
	add_search(0, judge_calls(may_trace, emulator));
	filter = (struct sock_fprog){.len = count, .filter = steps};
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0)
		die("cannot install", "the list of system calls");
}
