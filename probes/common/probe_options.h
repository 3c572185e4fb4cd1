/*
 * Long options from tables: one row gives an option its parser, its range,
 * its line in --help and its key in the "options" event.
 *
 * Invariants: names match exactly (no abbreviations), a value is never
 * rounded or clipped, what was not asked for stays unset and is printed as
 * null ("the kernel decides"), and any mistake ends the probe with status 2.
 */
#ifndef PROBE_OPTIONS_H
#define PROBE_OPTIONS_H

#include "probe_common.h"

enum option_kind {
	OPTION_INTEGER,	  /* decimal digits */
	OPTION_SECONDS,	  /* decimal seconds, up to nine decimals */
	OPTION_FLAG,	  /* takes no value */
	OPTION_TEXT,	  /* any non-empty word */
	OPTION_ADDRESS,	  /* one numeric address */
	OPTION_ADDRESSES, /* one numeric address each time it is given */
};

struct probe_integer {
	bool is_set;
	uint64_t value;
};

struct probe_seconds {
	bool is_set;
	int64_t ns;
};

struct probe_option {
	const char *name;
	enum option_kind kind;
	bool required;
	/* The member that belongs to kind; it also holds the default. */
	union {
		struct probe_integer *integer;
		struct probe_seconds *seconds;
		bool *flag;
		const char **text;
		struct address_list *addresses;
	} to;
	/* OPTION_INTEGER: in the option's unit; OPTION_SECONDS: in ns. */
	uint64_t min;
	uint64_t max;
	const char *help;
};

#define MAX_OPTION_TABLES 5

struct probe_options {
	const char *purpose;
	/* Ends with NULL; each table ends with a row whose name is NULL. */
	const struct probe_option *tables[MAX_OPTION_TABLES + 1];
};

#define for_each_option(options, table, row)                                   \
	for ((table) = (options)->tables; *(table) != NULL; (table)++)         \
		for ((row) = *(table); (row)->name != NULL; (row)++)

/* Fills the tables' destinations, or prints help, or dies with status 2. */
void options_parse(const struct probe_options *options, int argc, char **argv);
_Noreturn void options_help(const struct probe_options *options);
bool option_was_given(const struct probe_option *row);
/* Prints the "options" event: every option, as asked. */
void options_report(const struct probe_options *options);

#endif
