/* Records of messages, written a large buffer at a time. */
#include "message_log.h"

#include "probe_common.h"

#include <endian.h>
#include <stdio.h>

/* Each write is dear in virtual time. */
#define BUFFER_BYTES (1 << 20)

struct __attribute__((packed)) sent_record {
	uint64_t ready_ns;
	uint64_t accepted_ns;
};

struct __attribute__((packed)) delivered_record {
	uint64_t delivered_ns;
	uint32_t number;
	uint32_t bytes;
	uint16_t stream;
	uint16_t flags;
};

static FILE *file;

void message_log_open_or_die(const char *path)
{
	if (path == NULL)
		return;
	file = fopen(path, "we");
	if (file == NULL)
		die_errno("--messages", "a new file", "does its folder exist?");
	if (setvbuf(file, NULL, _IOFBF, BUFFER_BYTES) != 0)
		die_errno("setvbuf", "a buffer for --messages", NULL);
}

bool message_log_is_open(void)
{
	return file != NULL;
}

static void write_or_die(const void *record, size_t size_bytes)
{
	if (fwrite(record, size_bytes, 1, file) != 1)
		die_errno("--messages", "a record written",
			  "is there space left?");
}

void message_log_sent_or_die(int64_t ready_ns, int64_t accepted_ns)
{
	struct sent_record record = {
	    .ready_ns = htole64((uint64_t)ready_ns),
	    .accepted_ns = htole64((uint64_t)accepted_ns),
	};

	write_or_die(&record, sizeof(record));
}

void message_log_delivered_or_die(int64_t delivered_ns, uint64_t number,
				  uint64_t bytes, uint16_t stream,
				  uint16_t flags)
{
	struct delivered_record record = {
	    .delivered_ns = htole64((uint64_t)delivered_ns),
	    .number = htole32((uint32_t)number),
	    .bytes = htole32((uint32_t)bytes),
	    .stream = htole16(stream),
	    .flags = htole16(flags),
	};

	write_or_die(&record, sizeof(record));
}

void message_log_close_or_die(void)
{
	if (file != NULL && fclose(file) != 0)
		die_errno("--messages", "all records written",
			  "is there space left?");
	file = NULL;
}
