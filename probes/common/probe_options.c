/* Parsing of table-driven long options. */
#include "probe_options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS "0123456789"

static const struct probe_option *
find_option(const struct probe_options *options, const char *name,
	    size_t length)
{
	const struct probe_option *const *table, *row;

	for_each_option(options, table, row)
	{
		if (strlen(row->name) == length &&
		    memcmp(row->name, name, length) == 0)
			return row;
	}
	return NULL;
}

static _Noreturn void die_value(const struct probe_option *row,
				const char *wanted, const char *got)
{
	char option[64], quoted[128];

	snprintf(option, sizeof(option), "--%s", row->name);
	snprintf(quoted, sizeof(quoted), "'%s'", got);
	die_usage(option, wanted, quoted);
}

static void parse_integer(const struct probe_option *row, const char *text)
{
	char wanted[96];
	uint64_t value;

	snprintf(wanted, sizeof(wanted),
		 "an integer from %" PRIu64 " to %" PRIu64, row->min, row->max);
	/* strtoull() alone would take blanks and signs. */
	if (*text == '\0' || text[strspn(text, DIGITS)] != '\0')
		die_value(row, wanted, text);
	errno = 0;
	value = strtoull(text, NULL, 10);
	if (errno != 0 || value < row->min || value > row->max)
		die_value(row, wanted, text);
	*row->to.integer = (struct probe_integer){true, value};
}

static void parse_seconds(const struct probe_option *row, const char *text)
{
	size_t whole = strspn(text, DIGITS), decimals = 0;
	int64_t scale_ns = NS_PER_S;
	char wanted[128];
	uint64_t s;
	int64_t ns;

	snprintf(wanted, sizeof(wanted),
		 "seconds from %g to %g, at most nine decimals",
		 (double)row->min / (double)NS_PER_S,
		 (double)row->max / (double)NS_PER_S);
	if (text[whole] == '.')
		decimals = strspn(text + whole + 1, DIGITS);
	if (whole == 0 || whole > 9 || decimals > 9 ||
	    text[whole + (decimals ? decimals + 1 : 0)] != '\0')
		die_value(row, wanted, text);
	s = strtoull(text, NULL, 10);
	ns = (int64_t)s * NS_PER_S;
	for (size_t i = 1; i <= decimals; i++) {
		scale_ns /= 10;
		ns += (text[whole + i] - '0') * scale_ns;
	}
	if (ns < (int64_t)row->min || ns > (int64_t)row->max)
		die_value(row, wanted, text);
	*row->to.seconds = (struct probe_seconds){true, ns};
}

static void parse_address(const struct probe_option *row, const char *text)
{
	struct address_list *list = row->to.addresses;
	unsigned int most = row->kind == OPTION_ADDRESS ? 1 : MAX_ADDRESSES;
	struct sockaddr_storage addr = {0};
	char wanted[64];

	snprintf(wanted, sizeof(wanted), "at most %u address%s", most,
		 most == 1 ? "" : "es");
	if (list->count == most)
		die_value(row, wanted, text);
	if (inet_pton(AF_INET, text,
		      &((struct sockaddr_in *)&addr)->sin_addr) == 1)
		addr.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text,
			   &((struct sockaddr_in6 *)&addr)->sin6_addr) == 1)
		addr.ss_family = AF_INET6;
	else
		die_value(row, "a numeric IPv4 or IPv6 address", text);
	if (list->count && list->at[0].addr.ss_family != addr.ss_family)
		die_value(row, "addresses of one family", text);
	list->at[list->count].text = text;
	list->at[list->count].addr = addr;
	list->count++;
}

static void parse_value(const struct probe_option *row, const char *text)
{
	switch (row->kind) {
	case OPTION_INTEGER:
		parse_integer(row, text);
		break;
	case OPTION_SECONDS:
		parse_seconds(row, text);
		break;
	case OPTION_TEXT:
		if (*text == '\0')
			die_value(row, "a word", text);
		*row->to.text = text;
		break;
	case OPTION_ADDRESS:
	case OPTION_ADDRESSES:
		parse_address(row, text);
		break;
	case OPTION_FLAG:
		break;
	}
}

static void check_required(const struct probe_options *options)
{
	const struct probe_option *const *table, *row;
	char option[64];

	for_each_option(options, table, row)
	{
		if (!row->required || option_was_given(row))
			continue;
		snprintf(option, sizeof(option), "--%s", row->name);
		die_usage(option, row->help, "nothing");
	}
}

void options_parse(const struct probe_options *options, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const struct probe_option *row = NULL;
		const char *value;

		if (strcmp(argv[i], "--help") == 0)
			options_help(options);
		value = strchr(argv[i], '=');
		if (strncmp(argv[i], "--", 2) == 0)
			row = find_option(options, argv[i] + 2,
					  value ? (size_t)(value - argv[i]) - 2
						: strlen(argv[i] + 2));
		if (row == NULL)
			die_usage(argv[i], "an option of this probe",
				  "an unknown word");
		if (row->kind == OPTION_FLAG) {
			if (value != NULL)
				die_value(row, "no value", value + 1);
			*row->to.flag = true;
			continue;
		}
		if (value != NULL)
			value++;
		else if (++i < argc)
			value = argv[i];
		else
			die_usage(argv[i - 1], row->help, "nothing");
		parse_value(row, value);
	}
	check_required(options);
}
