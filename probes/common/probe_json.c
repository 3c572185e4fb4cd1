/* JSON lines on stdout. */
#include "probe_json.h"

#include "probe_common.h"

#include <inttypes.h>
#include <stdio.h>

static char buffer[256 * 1024];
static bool array_has_items;

void json_begin(const char *event)
{
	static bool buffered;

	if (!buffered) {
		setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
		buffered = true;
	}
	/* The event is always the first member, so each key below may begin
	 * with a comma. */
	printf("{\"event\":\"%s\"", event);
}

void json_end(void)
{
	if (fputs("}\n", stdout) == EOF)
		die_errno("stdout", "room for a line of data", NULL);
}

void json_end_flush(void)
{
	json_end();
	if (fflush(stdout) != 0 || ferror(stdout))
		die_errno("stdout", "all lines written",
			  "does the reader still read?");
}

static void key_out(const char *key)
{
	printf(",\"%s\":", key);
}

static void text_out(const char *text)
{
	putchar('"');
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			printf("\\%c", *c);
		else if (*c < 0x20)
			printf("\\u%04x", *c);
		else
			putchar(*c);
	}
	putchar('"');
}

void json_integer(const char *key, int64_t value)
{
	key_out(key);
	printf("%" PRId64, value);
}

void json_unsigned(const char *key, uint64_t value)
{
	key_out(key);
	printf("%" PRIu64, value);
}

void json_time_ns(const char *key, int64_t t_ns)
{
	if (t_ns == NO_TIME_NS)
		json_null(key);
	else
		json_integer(key, t_ns);
}

void json_seconds(const char *key, int64_t time_ns)
{
	int64_t magnitude_ns = time_ns < 0 ? -time_ns : time_ns;
	int64_t fraction_ns = magnitude_ns % NS_PER_S;
	int digits = 9;

	key_out(key);
	printf("%s%" PRId64, time_ns < 0 ? "-" : "", magnitude_ns / NS_PER_S);
	if (fraction_ns == 0)
		return;
	for (; fraction_ns % 10 == 0; digits--)
		fraction_ns /= 10;
	printf(".%0*" PRId64, digits, fraction_ns);
}

void json_bool(const char *key, bool value)
{
	key_out(key);
	fputs(value ? "true" : "false", stdout);
}

void json_text(const char *key, const char *value)
{
	key_out(key);
	text_out(value);
}

void json_null(const char *key)
{
	key_out(key);
	fputs("null", stdout);
}

void json_array_begin(const char *key)
{
	key_out(key);
	putchar('[');
	array_has_items = false;
}

static void item_begin(void)
{
	if (array_has_items)
		putchar(',');
	array_has_items = true;
}

void json_array_unsigned(uint64_t value)
{
	item_begin();
	printf("%" PRIu64, value);
}

void json_array_text(const char *value)
{
	item_begin();
	text_out(value);
}

void json_array_end(void)
{
	putchar(']');
}
