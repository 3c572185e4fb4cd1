/*
 * JSON lines on stdout, one object per line, written key by key.
 *
 * Invariants: output is fully buffered and reaches the reader only at
 * json_end_flush(), because every write costs far more in the lab than the
 * work it reports; a failed write ends the probe. Keys are ours and plain
 * ASCII; text values are escaped.
 */
#ifndef PROBE_JSON_H
#define PROBE_JSON_H

#include <stdbool.h>
#include <stdint.h>

void json_begin(const char *event);
void json_end(void);
void json_end_flush(void);

void json_integer(const char *key, int64_t value);
void json_unsigned(const char *key, uint64_t value);
/* Null for NO_TIME_NS: a time that never came. */
void json_time_ns(const char *key, int64_t t_ns);
/* Exact decimal seconds, no floating point on the way. */
void json_seconds(const char *key, int64_t time_ns);
void json_bool(const char *key, bool value);
void json_text(const char *key, const char *value);
void json_null(const char *key);

void json_array_begin(const char *key);
void json_array_unsigned(uint64_t value);
void json_array_text(const char *value);
void json_array_end(void);

#endif
