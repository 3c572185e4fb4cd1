/*
 * What was on the air, for people: a line per transmission, and a pcap.
 *
 * The pcap is the whole medium's: radiotap headers with rate, channel, retries
 * and, where it was sent to one radio that sensed it, the signal there; frames
 * without their checksum; times of CLOCK_REALTIME, which in virtual time is the
 * monotonic clock plus a constant.
 */
#include "medium.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define PCAP_MAGIC_NS 0xa1b23c4dU
#define LINKTYPE_RADIOTAP 127U
#define RADIOTAP_MOST_BYTES 16U
#define HAS_FLAGS_RATE_CHANNEL_RETRIES (1U << 1 | 1U << 2 | 1U << 3 | 1U << 17)
#define HAS_SIGNAL_DBM (1U << 5)
#define CHANNEL_2GHZ_CCK 0x00a0U
#define RETRY_BIT 0x08U

static FILE *frames, *pcap;
static const uint8_t control_types[AIR_KINDS] = {
    [AIR_ACK] = 0xd4,
    [AIR_RTS] = 0xb4,
    [AIR_CTS] = 0xc4,
};
static int64_t realtime_offset_ns;

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, value);
	put16(at + 2, value >> 16);
}

static FILE *open_or_die(const char *path)
{
	FILE *file = fopen(path, "we");

	if (file == NULL)
		die_errno(path, "a file that can be written", NULL);
	return file;
}

void record_open_or_die(const char *frames_path, const char *pcap_path)
{
	uint8_t head[24] = {0};
	struct timespec now;

	if (frames_path != NULL) {
		frames = open_or_die(frames_path);
		fputs("begin_ns\tend_ns\tkind\tfrom\tto\ttry\trate_bps\tbytes"
		      "\toutcome\n",
		      frames);
	}
	if (pcap_path == NULL)
		return;
	pcap = open_or_die(pcap_path);
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		die_errno("clock_gettime(CLOCK_REALTIME)", "a time", NULL);
	realtime_offset_ns =
	    (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec - clock_now_ns();
	put32(head, PCAP_MAGIC_NS);
	put16(head + 4, 2);
	put16(head + 6, 4);
	put32(head + 16, 65535);
	put32(head + 20, LINKTYPE_RADIOTAP);
	fwrite(head, sizeof(head), 1, pcap);
}

/* Writes what is on the air, without its checksum; returns its bytes. */
static uint32_t write_body(const struct radio *sender, uint8_t *body)
{
	const struct transmission *tx = &sender->tx;

	if (tx->frame != NULL) {
		memcpy(body, tx->frame->data, tx->frame->bytes);
		if (tx->tries > 1)
			body[1] |= RETRY_BIT;
	} else {
		body[0] = control_types[tx->kind];
		if (tx->kind == AIR_RTS) {
			memcpy(body + 4, sender->ring[sender->head].data + 4,
			       MAC_BYTES);
			memcpy(body + 10, sender->mac, MAC_BYTES);
		} else {
			memcpy(body + 4, radios[tx->to].mac, MAC_BYTES);
		}
	}
	if (tx->to != TO_ALL)
		put16(body + 2, (uint32_t)((tx->nav_ns + 999) / 1000));
	return tx->bytes - FCS_BYTES;
}

/* Writes the radiotap header of what is on the air; returns its bytes. */
static uint32_t write_radiotap(const struct radio *sender, uint8_t *head)
{
	const struct transmission *tx = &sender->tx;
	uint32_t has = HAS_FLAGS_RATE_CHANNEL_RETRIES, bytes = 14;

	head[9] = (uint8_t)(tx->rate_bps / 500000);
	put16(head + 10, sender->freq_mhz);
	put16(head + 12, CHANNEL_2GHZ_CCK);
	if (tx->to >= 0 && tx->heard[tx->to] != UNHEARD) {
		has |= HAS_SIGNAL_DBM;
		head[bytes++] = (uint8_t)air_signal_dbm(tx->power[tx->to]);
	}
	head[bytes++] = (uint8_t)(tx->tries - 1);
	put16(head + 2, bytes);
	put32(head + 4, has);
	return bytes;
}

static void write_packet(unsigned int sender)
{
	const struct transmission *tx = &radios[sender].tx;
	uint8_t head[16 + RADIOTAP_MOST_BYTES] = {0};
	uint8_t body[MAX_FRAME_BYTES] = {0};
	int64_t t_ns = tx->begin_ns + realtime_offset_ns;
	uint32_t bytes = write_body(&radios[sender], body);
	uint32_t head_bytes = write_radiotap(&radios[sender], head + 16);

	put32(head, (uint32_t)(t_ns / NS_PER_S));
	put32(head + 4, (uint32_t)(t_ns % NS_PER_S));
	put32(head + 8, bytes + head_bytes);
	put32(head + 12, bytes + head_bytes);
	fwrite(head, 16 + head_bytes, 1, pcap);
	fwrite(body, bytes, 1, pcap);
}

void record_transmission(unsigned int sender, enum outcome outcome)
{
	static const char *const kinds[] = {"data", "broadcast", "management",
					    "ack",  "rts",	 "cts"};
	static const char *const outcomes[] = {
	    "delivered",     "duplicate",	 "collided",
	    "out_of_range",  "receiver_sending", "other_channel",
	    "no_such_radio", "under_way"};
	const struct transmission *tx = &radios[sender].tx;

	if (frames != NULL)
		fprintf(frames,
			"%" PRId64 "\t%" PRId64 "\t%s\t%u\t%d\t%u\t%" PRIu64
			"\t%u\t%s\n",
			tx->begin_ns, tx->end_ns, kinds[tx->kind], sender,
			tx->to, tx->tries, tx->rate_bps, tx->bytes,
			tx->to == TO_ALL ? "" : outcomes[outcome]);
	if (pcap != NULL)
		write_packet(sender);
}

static void close_or_die_written(FILE *file, const char *option)
{
	if (file == NULL)
		return;
	if (ferror(file) || fclose(file) != 0)
		die_errno(option, "all of it written", "is the disk full?");
}

void record_close_or_die(void)
{
	close_or_die_written(frames, "--frames");
	close_or_die_written(pcap, "--pcap");
}
