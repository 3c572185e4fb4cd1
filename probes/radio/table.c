/*
 * The radios: which node each sits on, its address and its channel.
 *
 * Invariant: the file's header is "radio,node,mac,freq_mhz"; radios are
 * numbered from 0 in order, nodes from 0 without a gap, no address is twice.
 */
#include "medium.h"

#include <string.h>

#define HEADER "radio,node,mac,freq_mhz\n"
#define MAX_LINE_BYTES 96

struct radio radios[MAX_RADIOS];
unsigned int radio_count;

int table_find(const uint8_t mac[MAC_BYTES])
{
	for (unsigned int r = 0; r < radio_count; r++) {
		if (memcmp(radios[r].mac, mac, MAC_BYTES) == 0)
			return (int)r;
	}
	return TO_NOBODY;
}

static void take_line(const char *path, unsigned int line, const char *text,
		      unsigned int *nodes)
{
	struct radio *radio = &radios[radio_count];
	unsigned int number, freq_mhz;
	uint8_t mac[MAC_BYTES];
	char where[320], again[MAX_LINE_BYTES];

	snprintf(where, sizeof(where), "%s:%u", path, line);
	if (radio_count == MAX_RADIOS)
		die_run(where, "at most 128 radios", "more", NULL);
	if (sscanf(text, "%u,%u,%hhx:%hhx:%hhx:%hhx:%hhx:%hhx,%u\n", &number,
		   &radio->node, &mac[0], &mac[1], &mac[2], &mac[3], &mac[4],
		   &mac[5], &freq_mhz) != 9)
		die_run(where, "radio,node,mac,freq_mhz", text, NULL);
	/* Written again it is the same, so nothing was overlooked. */
	snprintf(again, sizeof(again),
		 "%u,%u,%02x:%02x:%02x:%02x:%02x:%02x,%u\n", number,
		 radio->node, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5],
		 freq_mhz);
	if (strcmp(again, text) != 0)
		die_run(where, again, text, NULL);
	if (number != radio_count)
		die_run(where, "radios numbered from 0 in order", text, NULL);
	if (radio->node > *nodes)
		die_run(where, "nodes numbered from 0 without a gap", text,
			NULL);
	if (table_find(mac) >= 0)
		die_run(where, "an address that no other radio has", text,
			NULL);
	if (freq_mhz < 2412 || freq_mhz > 2484)
		die_run(where, "a frequency from 2412 to 2484 MHz", text, NULL);
	if (radio->node == *nodes)
		(*nodes)++;
	memcpy(radio->mac, mac, MAC_BYTES);
	radio->freq_mhz = freq_mhz;
	radio_count++;
}

void table_read_or_die(const char *path)
{
	char text[MAX_LINE_BYTES];
	unsigned int line = 0, nodes = 0;
	FILE *file = fopen(path, "re");

	if (file == NULL)
		die_errno(path, "a file that can be read", NULL);
	while (fgets(text, sizeof(text), file) != NULL) {
		line++;
		if (line > 1)
			take_line(path, line, text, &nodes);
		else if (strcmp(text, HEADER) != 0)
			die_run(path, HEADER, text, NULL);
	}
	fclose(file);
	if (radio_count == 0)
		die_run(path, "a line for each radio", "none", NULL);
}
