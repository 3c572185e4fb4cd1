/* Exit statuses, error reports, the clock and the *_or_die system calls. */
#include "probe_common.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static const char *program = "probe";

void probe_start(const char *name)
{
	program = name;
	/*
	 * By default the kernel may end a sleep up to 50 us late to save
	 * wake-ups; a paced sender must not inherit that.
	 */
	if (prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL) != 0)
		die_errno("prctl(PR_SET_TIMERSLACK)", "1 ns", NULL);
}

const char *probe_name(void)
{
	return program;
}

void die_usage(const char *option, const char *wanted, const char *got)
{
	fprintf(stderr, "%s: %s: wanted %s, got %s; try --help\n", program,
		option, wanted, got);
	exit(EXIT_USAGE);
}

static _Noreturn void die(enum probe_exit status, const char *where,
			  const char *wanted, const char *got, const char *hint)
{
	fprintf(stderr, "%s: %s: wanted %s, got %s%s%s\n", program, where,
		wanted, got, hint ? "; hint: " : "", hint ? hint : "");
	exit(status);
}

void die_run(const char *where, const char *wanted, const char *got,
	     const char *hint)
{
	die(EXIT_RUN_FAILED, where, wanted, got, hint);
}

void die_errno(const char *where, const char *wanted, const char *hint)
{
	int error = errno;
	const char *name = strerrorname_np(error);
	char got[160];

	snprintf(got, sizeof(got), "%s (%s)", name ? name : "unknown errno",
		 strerror(error));
	die(EXIT_RUN_FAILED, where, wanted, got, hint);
}

void die_unsupported(const char *where, const char *wanted, const char *got,
		     const char *hint)
{
	die(EXIT_UNSUPPORTED, where, wanted, got, hint);
}

int64_t clock_now_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
		die_errno("clock_gettime(CLOCK_MONOTONIC)", "a time", NULL);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

bool sleep_until_ns(int64_t t_ns)
{
	struct timespec until = {
	    .tv_sec = (time_t)(t_ns / NS_PER_S),
	    .tv_nsec = (long)(t_ns % NS_PER_S),
	};
	int error;

	error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	if (error != 0 && error != EINTR) {
		errno = error;
		die_errno("clock_nanosleep", "a sleep to an absolute time",
			  NULL);
	}
	return error == 0;
}

void *calloc_or_die(size_t count, size_t size_bytes)
{
	void *memory = calloc(count, size_bytes);

	if (memory == NULL)
		die_errno("calloc", "memory", NULL);
	return memory;
}

socklen_t address_length(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return sizeof(struct sockaddr_in);
	return sizeof(struct sockaddr_in6);
}

void address_set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET)
		((struct sockaddr_in *)addr)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
}

struct sockaddr_storage address_any(int family)
{
	/* All zero bits are INADDR_ANY and in6addr_any alike. */
	struct sockaddr_storage addr = {.ss_family = (sa_family_t)family};

	return addr;
}

int socket_or_die(int family, int type, int protocol, const char *words)
{
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);

	if (fd >= 0)
		return fd;
	if (errno == EPROTONOSUPPORT || errno == ESOCKTNOSUPPORT)
		die_unsupported("socket", words, strerrorname_np(errno),
				"this kernel has no such protocol: load or "
				"build it, or use another lab");
	die_errno("socket", words, NULL);
}

void bind_or_die(int fd, struct sockaddr_storage addr, const char *text,
		 uint16_t port)
{
	char where[128];

	address_set_port(&addr, port);
	if (bind(fd, (struct sockaddr *)&addr, address_length(&addr)) == 0)
		return;
	snprintf(where, sizeof(where), "bind %s port %u", text, port);
	die_errno(where, "a local address and a free port",
		  "is the address on an interface of this namespace, "
		  "and the port's last user gone?");
}

void listen_or_die(int fd)
{
	if (listen(fd, 1) != 0)
		die_errno("listen", "a listening socket", NULL);
}

uint16_t local_port_or_die(int fd)
{
	struct sockaddr_storage addr;
	socklen_t length = sizeof(addr);

	if (getsockname(fd, (struct sockaddr *)&addr, &length) != 0)
		die_errno("getsockname", "the local port", NULL);
	if (addr.ss_family == AF_INET)
		return ntohs(((struct sockaddr_in *)&addr)->sin_port);
	return ntohs(((struct sockaddr_in6 *)&addr)->sin6_port);
}

void setsockopt_or_die(int fd, int level, int name, const void *value,
		       socklen_t length, const char *words)
{
	if (setsockopt(fd, level, name, value, length) != 0)
		die_errno("setsockopt", words,
			  "does this kernel know the option and its range?");
}

void setsockopt_int_or_die(int fd, int level, int name, uint64_t value,
			   const char *words)
{
	int number = (int)value;

	setsockopt_or_die(fd, level, name, &number, sizeof(number), words);
}

int getsockopt_int_or_die(int fd, int level, int name, const char *words)
{
	int number = 0;
	socklen_t length = sizeof(number);

	if (getsockopt(fd, level, name, &number, &length) != 0)
		die_errno("getsockopt", words, NULL);
	return number;
}

void close_or_die(int fd)
{
	if (close(fd) != 0)
		die_errno("close", "a closed descriptor", NULL);
}
