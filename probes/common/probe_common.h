/*
 * What every probe needs: exit statuses, error reports, the clock and system
 * calls that either succeed or end the program with a full report.
 *
 * Invariants: one thread; time is CLOCK_MONOTONIC in nanoseconds and nothing
 * else; stdout belongs to probe_json, words for people go to stderr.
 *
 * Arrival times come from clock_gettime() after the receiving call returns,
 * not from SO_TIMESTAMPNS: in virtual time no time passes between the arrival
 * of a packet and the wake-up of its reader, so both are the same instant.
 */
#ifndef PROBE_COMMON_H
#define PROBE_COMMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NO_TIME_NS INT64_C(-1)

#define MAX_ADDRESSES 8

enum probe_exit {
	EXIT_OK = 0,
	EXIT_USAGE = 2,
	EXIT_RUN_FAILED = 3,
	EXIT_UNSUPPORTED = 4,
};

/* Numeric addresses as given, repeatable up to MAX_ADDRESSES times. */
struct address_list {
	unsigned int count;
	struct {
		const char *text;
		struct sockaddr_storage addr;
	} at[MAX_ADDRESSES];
};

/* Must be the first call of main(): everything else reports with the name. */
void probe_start(const char *name);
const char *probe_name(void);

_Noreturn void die_usage(const char *option, const char *wanted,
			 const char *got);
/* wanted, got and hint are words; hint may be NULL. */
_Noreturn void die_run(const char *where, const char *wanted, const char *got,
		       const char *hint);
/* As die_run(), with errno as what was got. */
_Noreturn void die_errno(const char *where, const char *wanted,
			 const char *hint);
_Noreturn void die_unsupported(const char *where, const char *wanted,
			       const char *got, const char *hint);

int64_t clock_now_ns(void);
/*
 * Sleeps until the absolute time or until a signal was handled; returns true
 * when the time was reached.
 */
bool sleep_until_ns(int64_t t_ns);

void *calloc_or_die(size_t count, size_t size_bytes);

socklen_t address_length(const struct sockaddr_storage *addr);
void address_set_port(struct sockaddr_storage *addr, uint16_t port);
/* The wildcard address of a family. */
struct sockaddr_storage address_any(int family);

int socket_or_die(int family, int type, int protocol, const char *words);
void bind_or_die(int fd, struct sockaddr_storage addr, const char *text,
		 uint16_t port);
void listen_or_die(int fd);
uint16_t local_port_or_die(int fd);
void setsockopt_or_die(int fd, int level, int name, const void *value,
		       socklen_t length, const char *words);
void setsockopt_int_or_die(int fd, int level, int name, uint64_t value,
			   const char *words);
int getsockopt_int_or_die(int fd, int level, int name, const char *words);
void close_or_die(int fd);

#endif
