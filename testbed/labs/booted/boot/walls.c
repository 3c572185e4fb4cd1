// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first program in a lab's sandbox: it gives up what is left of the host's
 * rights, closes the second walls, and becomes the lab's kernel.
 *
 * usage: walls --open-files N --processes N --file-bytes N [--identity N]
 * [--may-trace] [--emulator] -- PROGRAM [ARG...]
 * --emulator: the program is QEMU, which makes some calls more than a User-Mode
 * kernel, and then refuses itself system calls by a list of its own.
 *
 * Standard input is a socket of the program that started the sandbox. One byte
 * is sent on it once everything that ends this process with its starter is in
 * place; one byte back lets it go on, and an end of file, from a starter that
 * has died, ends it. Nothing of what it inherits but its standard output gets
 * further.
 */
#include "walls.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FAILED 71
#define PATIENCE_MS 60000
#define STACK_BYTES (8UL << 20)

struct options {
	rlim_t open_files;
	rlim_t processes;
	rlim_t file_bytes;
	uid_t identity; /* 0: stays who it is */
	int may_trace;
	int emulator;
};

void die(const char *what, const char *where)
{
	fprintf(stderr, "lab: walls: %s %s: %s\n", what, where,
		strerror(errno));
	exit(FAILED);
}

static unsigned long number_or_die(const char *text, const char *what)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end != '\0') {
		errno = EINVAL;
		die(what, text);
	}
	return value;
}

static char **parse_or_die(int argc, char **argv, struct options *options)
{
	static const struct option KNOWN[] = {
	    {"open-files", required_argument, NULL, 'f'},
	    {"processes", required_argument, NULL, 'p'},
	    {"file-bytes", required_argument, NULL, 'b'},
	    {"identity", required_argument, NULL, 'i'},
	    {"may-trace", no_argument, NULL, 't'},
	    {"emulator", no_argument, NULL, 'e'},
	    {NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "+", KNOWN, NULL)) != -1) {
		if (option == 'f')
			options->open_files =
			    number_or_die(optarg, "--open-files");
		else if (option == 'p')
			options->processes =
			    number_or_die(optarg, "--processes");
		else if (option == 'b')
			options->file_bytes =
			    number_or_die(optarg, "--file-bytes");
		else if (option == 'i')
			options->identity =
			    (uid_t)number_or_die(optarg, "--identity");
		else if (option == 't')
			options->may_trace = 1;
		else if (option == 'e')
			options->emulator = 1;
		else
			exit(FAILED);
	}
	errno = EINVAL;
	if (optind == argc || !options->open_files || !options->processes ||
	    !options->file_bytes)
		die("wanted all limits and", "a program");
	return argv + optind;
}

static void wait_for_starter_or_die(void)
{
	struct pollfd starter = {.fd = STDIN_FILENO, .events = POLLIN};
	char byte = 'r';
	int nothing;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		die("cannot end with", "the starter");
	if (write(STDIN_FILENO, &byte, 1) != 1)
		die("cannot tell", "the starter");
	if (poll(&starter, 1, PATIENCE_MS) != 1 ||
	    read(STDIN_FILENO, &byte, 1) != 1)
		exit(FAILED);
	/* An empty file of nobody's: always at its end, never to be waited for.
	 */
	nothing = memfd_create("stdin", MFD_CLOEXEC);
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
		die("cannot replace", "standard input");
	if (syscall(SYS_close_range, 3U, ~0U, 0U) < 0)
		die("cannot close", "what was inherited");
}

static void limit_or_die(const char *what, __rlimit_resource_t resource,
			 rlim_t value)
{
	const struct rlimit limit = {.rlim_cur = value, .rlim_max = value};

	if (setrlimit(resource, &limit) < 0)
		die("cannot limit", what);
}

/* A host that grants less than a lab may take need not be too small for it: if
 * it is, the lab fails where it meets that limit.
 */
static void allow_at_most(const char *what, __rlimit_resource_t resource,
			  rlim_t value)
{
	struct rlimit granted;

	if (getrlimit(resource, &granted) < 0)
		die("cannot read the limit of", what);
	limit_or_die(what, resource,
		     value < granted.rlim_max ? value : granted.rlim_max);
}

static void set_limits(const struct options *options)
{
	allow_at_most("open files", RLIMIT_NOFILE, options->open_files);
	allow_at_most("processes", RLIMIT_NPROC, options->processes);
	allow_at_most("file sizes", RLIMIT_FSIZE, options->file_bytes);
	limit_or_die("core dumps", RLIMIT_CORE, 0);
	limit_or_die("message queues", RLIMIT_MSGQUEUE, 0);
	limit_or_die("the stack", RLIMIT_STACK, STACK_BYTES);
}

/* The same signals, mask and addresses whoever started it. */
static void forget_starter(void)
{
	const struct sigaction usual = {.sa_handler = SIG_DFL};
	const struct sigaction ignored = {.sa_handler = SIG_IGN};
	sigset_t none;
	int number;

	for (number = 1; number < NSIG; number++)
		sigaction(number, &usual, NULL); /* some cannot be set */
	/* A file that grows too large is an error of its writer, not its end.
	 */
	sigaction(SIGXFSZ, &ignored, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(022);
	if (personality(ADDR_NO_RANDOMIZE) < 0)
		die("cannot fix", "addresses");
}

static void change_identity(uid_t identity)
{
	uid_t real, effective, saved;
	int capability;

	for (capability = 0; capability <= CAP_LAST_CAP; capability++)
		prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
	if (setgroups(0, NULL) < 0)
		die("cannot leave", "the groups");
	if (setresgid(identity, identity, identity) < 0 ||
	    setresuid(identity, identity, identity) < 0)
		die("cannot become", "the lab's user");
	if (getresuid(&real, &effective, &saved) < 0 || real != identity ||
	    effective != identity || saved != identity || setuid(0) == 0)
		die("still is", "root");
}

static void drop_rights_or_die(uid_t identity)
{
	struct __user_cap_header_struct head = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}, {0}};

	if (identity)
		change_identity(identity);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &head, none) < 0)
		die("cannot drop", "capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		die("cannot renounce", "new privileges");
	/* A change of identity has taken this back. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		die("cannot end with", "the starter");
}

int main(int argc, char **argv)
{
	struct options options = {0};
	char **program = parse_or_die(argc, argv, &options);

	wait_for_starter_or_die();
	forget_starter();
	set_limits(&options);
	drop_rights_or_die(options.identity);
	close_file_system();
	close_system_calls(options.may_trace, options.emulator);
	execv(program[0], program);
	die("cannot run", program[0]);
}
