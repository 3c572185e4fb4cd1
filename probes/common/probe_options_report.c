/* The two printed forms of the option tables: --help and the event. */
#include "probe_json.h"
#include "probe_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *value_words(const struct probe_option *row)
{
	switch (row->kind) {
	case OPTION_INTEGER:
		return " N";
	case OPTION_SECONDS:
		return " SECONDS";
	case OPTION_TEXT:
		return " WORD";
	case OPTION_ADDRESS:
	case OPTION_ADDRESSES:
		return " ADDR";
	case OPTION_FLAG:
		break;
	}
	return "";
}

static void print_option_help(const struct probe_option *row)
{
	printf("  --%s%s\n      %s", row->name, value_words(row), row->help);
	if (row->kind == OPTION_INTEGER) {
		printf("; %" PRIu64 " to %" PRIu64, row->min, row->max);
		if (row->to.integer->is_set)
			printf(" (default %" PRIu64 ")",
			       row->to.integer->value);
	}
	if (row->kind == OPTION_SECONDS && row->to.seconds->is_set)
		printf(" (default %g)",
		       (double)row->to.seconds->ns / (double)NS_PER_S);
	if (row->kind == OPTION_ADDRESSES)
		printf("; repeatable");
	printf("%s\n", row->required ? " (required)" : "");
}

_Noreturn void options_help(const struct probe_options *options)
{
	const struct probe_option *const *table, *row;

	printf("usage: %s [options]\n%s\n\nUnits are in the names; seconds are "
	       "decimal and times absolute CLOCK_MONOTONIC.\nWhat is not given "
	       "is left to the kernel unless a default is named.\n\n",
	       probe_name(), options->purpose);
	for_each_option(options, table, row) print_option_help(row);
	printf("  --help\n      print this and exit\n\n"
	       "exit status: 0 ok, 2 usage, 3 run failed, 4 the kernel lacks "
	       "the protocol\n");
	if (fflush(stdout) != 0)
		die_errno("stdout", "the help written", NULL);
	exit(EXIT_OK);
}

bool option_was_given(const struct probe_option *row)
{
	switch (row->kind) {
	case OPTION_INTEGER:
		return row->to.integer->is_set;
	case OPTION_SECONDS:
		return row->to.seconds->is_set;
	case OPTION_TEXT:
		return *row->to.text != NULL;
	case OPTION_ADDRESS:
	case OPTION_ADDRESSES:
		return row->to.addresses->count > 0;
	case OPTION_FLAG:
		return *row->to.flag;
	}
	return false;
}

static void report_addresses(const char *key, const struct probe_option *row)
{
	const struct address_list *list = row->to.addresses;

	if (row->kind == OPTION_ADDRESS) {
		json_text(key, list->at[0].text);
		return;
	}
	json_array_begin(key);
	for (unsigned int i = 0; i < list->count; i++)
		json_array_text(list->at[i].text);
	json_array_end();
}

static void report_option(const struct probe_option *row)
{
	char key[64];

	snprintf(key, sizeof(key), "%s", row->name);
	for (char *c = key; *c; c++)
		*c = *c == '-' ? '_' : *c;
	if (row->kind == OPTION_FLAG)
		json_bool(key, *row->to.flag);
	else if (row->kind == OPTION_ADDRESSES)
		report_addresses(key, row);
	else if (!option_was_given(row))
		json_null(key);
	else if (row->kind == OPTION_INTEGER)
		json_unsigned(key, row->to.integer->value);
	else if (row->kind == OPTION_SECONDS)
		json_seconds(key, row->to.seconds->ns);
	else if (row->kind == OPTION_TEXT)
		json_text(key, *row->to.text);
	else
		report_addresses(key, row);
}

void options_report(const struct probe_options *options)
{
	const struct probe_option *const *table, *row;

	json_begin("options");
	json_text("probe", probe_name());
	for_each_option(options, table, row) report_option(row);
	json_end_flush();
}
