/*
 * Where nodes are: rows of a file, and straight lines between them.
 *
 * Invariants: the file is read once, a line at a time, never held as text;
 * rows are ordered by node and then by time; a mistake names its line.
 */
#include "medium.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HEADER "t_ns,node,x_mm,y_mm"
#define MAX_FILE_BYTES (INT64_C(128) << 20)
#define MAX_LINE_BYTES 96
#define MAX_PLACE_MM 1000000000
#define FIRST_ROOM 1024U

struct row {
	int64_t t_ns;
	int32_t x_mm, y_mm;
};

static struct row *rows;
static size_t row_count, room;
static size_t first[MAX_RADIOS + 1];
static size_t last_used[MAX_RADIOS];
static const char *movement_path;

static _Noreturn void die_line(uint64_t line, const char *wanted,
			       const char *got)
{
	char where[320], shown[MAX_LINE_BYTES];
	size_t i;

	/* Whatever the file holds, the message is one line of plain text. */
	for (i = 0; i + 1 < sizeof(shown) && got[i] != '\0'; i++)
		shown[i] = got[i] < ' ' || got[i] > '~' ? '?' : got[i];
	shown[i] = '\0';
	snprintf(where, sizeof(where), "%s:%" PRIu64, movement_path, line);
	die_run(where, wanted, shown, NULL);
}

/* Reads digits up to a separator; returns what follows it, or NULL. */
static const char *read_number(const char *text, char separator, int64_t most,
			       int64_t *value)
{
	bool is_negative = *text == '-';
	int64_t number = 0;

	if (is_negative)
		text++;
	if (*text < '0' || *text > '9' ||
	    (*text == '0' && text[1] >= '0' && text[1] <= '9'))
		return NULL;
	for (; *text >= '0' && *text <= '9'; text++) {
		if (number > (most - (*text - '0')) / 10)
			return NULL;
		number = number * 10 + (*text - '0');
	}
	if (*text != separator)
		return NULL;
	*value = is_negative ? -number : number;
	return text + 1;
}

static void keep(const struct row *row)
{
	if (row_count == room) {
		room = room ? room * 2 : FIRST_ROOM;
		rows = realloc(rows, room * sizeof(*rows));
		if (rows == NULL)
			die_errno(movement_path, "memory for its rows", NULL);
	}
	rows[row_count++] = *row;
}

static void take_line(const char *text, uint64_t line, unsigned int nodes,
		      int64_t *last_node)
{
	int64_t t_ns, node, x_mm, y_mm;
	const char *at = text;
	struct row row;

	if ((at = read_number(at, ',', INT64_MAX / 4, &t_ns)) == NULL ||
	    (at = read_number(at, ',', UINT32_MAX, &node)) == NULL ||
	    (at = read_number(at, ',', MAX_PLACE_MM, &x_mm)) == NULL ||
	    (at = read_number(at, '\0', MAX_PLACE_MM, &y_mm)) == NULL ||
	    t_ns < 0 || node < 0)
		die_line(line, "four integers, " HEADER, text);
	if (node >= nodes)
		die_line(line, "a node that has a radio", text);
	if (node != *last_node && node != *last_node + 1)
		die_line(line, "rows of all nodes, in order of node", text);
	if (node == *last_node && t_ns <= rows[row_count - 1].t_ns)
		die_line(line, "a later time than in the line before", text);
	if (node != *last_node)
		first[node] = row_count;
	row.t_ns = t_ns;
	row.x_mm = (int32_t)x_mm;
	row.y_mm = (int32_t)y_mm;
	keep(&row);
	*last_node = node;
}

static FILE *open_or_die(void)
{
	FILE *file = fopen(movement_path, "re");
	struct stat status;
	char got[64];

	if (file == NULL || fstat(fileno(file), &status) != 0)
		die_errno(movement_path, "a file that can be read", NULL);
	if (!S_ISREG(status.st_mode))
		die_run(movement_path, "a plain file", "something else", NULL);
	if (status.st_size > MAX_FILE_BYTES) {
		snprintf(got, sizeof(got), "%" PRId64 " bytes",
			 (int64_t)status.st_size);
		die_run(movement_path, "at most 134217728 bytes", got,
			"one row for each turn of a node is enough");
	}
	return file;
}

void movement_read_or_die(const char *path, unsigned int nodes)
{
	char text[MAX_LINE_BYTES];
	int64_t last_node = -1;
	uint64_t line = 0;
	FILE *file;

	movement_path = path;
	file = open_or_die();
	while (fgets(text, sizeof(text), file) != NULL) {
		size_t length = strlen(text);

		line++;
		if (length == 0 || text[length - 1] != '\n')
			die_line(line, "a line of at most 94 characters, ended",
				 "one that is longer, cut off or has a zero");
		text[length - 1] = '\0';
		if (line > 1)
			take_line(text, line, nodes, &last_node);
		else if (strcmp(text, HEADER) != 0)
			die_line(line, HEADER, text);
	}
	if (ferror(file))
		die_errno(path, "a file that can be read", NULL);
	fclose(file);
	if (line == 0)
		die_line(1, HEADER, "an empty file");
	if (last_node + 1 != (int64_t)nodes)
		die_line(line + 1, "a row for every node that has a radio",
			 "the end");
	first[nodes] = row_count;
	for (unsigned int node = 0; node < nodes; node++)
		last_used[node] = first[node];
}

void movement_position(unsigned int node, int64_t t_ns, double *x_mm,
		       double *y_mm)
{
	size_t end = first[node + 1], at = last_used[node];
	const struct row *from, *to;
	double part;

	t_ns -= dcf.origin_ns;
	/* Time goes on only, so the search goes on from where it was. */
	while (at + 1 < end && rows[at + 1].t_ns <= t_ns)
		at++;
	last_used[node] = at;
	from = &rows[at];
	*x_mm = from->x_mm;
	*y_mm = from->y_mm;
	if (t_ns <= from->t_ns || at + 1 == end)
		return;
	to = &rows[at + 1];
	part = (double)(t_ns - from->t_ns) / (double)(to->t_ns - from->t_ns);
	*x_mm += part * (double)(to->x_mm - from->x_mm);
	*y_mm += part * (double)(to->y_mm - from->y_mm);
}
