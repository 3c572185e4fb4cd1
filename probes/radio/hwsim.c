/*
 * Frames from and to mac80211_hwsim, over generic netlink.
 *
 * Invariants: answers are gathered and go to the kernel in the order in which
 * they were made; a lost message ends the program, since nothing would add up.
 */
#include "bpf_code.h"
#include "medium.h"
#include "probe_ring.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <string.h>

#define OUT_BYTES 65536U
#define SOCKET_BYTES (8 << 20)
#define GROUP_BIT 1U
#define STAT_ACK_FLAG 4U
#define HEADER_3ADDR_BYTES 24U
/* As NLA_HDRLEN and NLA_ALIGN(), which are signed. */
#define ATTR_HEAD_BYTES 4U
#define PADDED(bytes) (((bytes) + 3U) & ~3U)

enum {
	CMD_REGISTER = 1,
	CMD_FRAME = 2,
	CMD_TX_INFO = 3,
};

enum {
	ATTR_RECEIVER = 1,
	ATTR_TRANSMITTER = 2,
	ATTR_FRAME = 3,
	ATTR_FLAGS = 4,
	ATTR_RX_RATE = 5,
	ATTR_SIGNAL = 6,
	ATTR_TX_INFO = 7,
	ATTR_COOKIE = 8,
	ATTR_FREQ = 19,
	ATTRS,
};

static int netlink = -1;
static uint16_t family;
static uint64_t refused;
static const int64_t *arrivals_ns;
static union {
	struct nlmsghdr align;
	uint8_t bytes[OUT_BYTES];
} out;
static uint32_t out_used;

static struct nlmsghdr *message_begin(uint16_t kind, uint8_t command)
{
	struct nlmsghdr *head;
	struct genlmsghdr *generic;

	if (out_used + MAX_FRAME_BYTES + 256 > OUT_BYTES)
		hwsim_flush();
	head = (struct nlmsghdr *)(void *)&out.bytes[out_used];
	memset(head, 0, NLMSG_HDRLEN + GENL_HDRLEN);
	head->nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN;
	head->nlmsg_type = kind;
	head->nlmsg_flags = NLM_F_REQUEST;
	generic = NLMSG_DATA(head);
	generic->cmd = command;
	generic->version = 1;
	return head;
}

static void message_put(struct nlmsghdr *head, uint16_t kind, const void *data,
			uint32_t bytes)
{
	uint8_t *at = (uint8_t *)head + head->nlmsg_len;
	struct nlattr attribute = {
	    .nla_len = (uint16_t)(ATTR_HEAD_BYTES + bytes),
	    .nla_type = kind,
	};
	uint32_t padded = PADDED(bytes);

	memcpy(at, &attribute, sizeof(attribute));
	memset(at + ATTR_HEAD_BYTES + bytes, 0, padded - bytes);
	memcpy(at + ATTR_HEAD_BYTES, data, bytes);
	head->nlmsg_len += ATTR_HEAD_BYTES + padded;
}

static void message_end(const struct nlmsghdr *head)
{
	out_used += NLMSG_ALIGN(head->nlmsg_len);
}

void hwsim_flush(void)
{
	if (out_used == 0)
		return;
	if (send(netlink, out.bytes, out_used, 0) != (ssize_t)out_used)
		die_errno("netlink", "a kernel that takes frames", NULL);
	out_used = 0;
}

void hwsim_flush_later(void)
{
	if (out_used > 0)
		ring_send(netlink, out.bytes, out_used);
	out_used = 0;
}

uint64_t hwsim_refused(void)
{
	return refused;
}

void hwsim_deliver(unsigned int to, const struct frame *frame,
		   int32_t signal_dbm)
{
	struct nlmsghdr *head = message_begin(family, CMD_FRAME);
	uint32_t rate = frame->rate_index, freq_mhz = radios[to].freq_mhz;

	message_put(head, ATTR_RECEIVER, radios[to].mac, MAC_BYTES);
	message_put(head, ATTR_FRAME, frame->data, frame->bytes);
	message_put(head, ATTR_RX_RATE, &rate, sizeof(rate));
	message_put(head, ATTR_SIGNAL, &signal_dbm, sizeof(signal_dbm));
	message_put(head, ATTR_FREQ, &freq_mhz, sizeof(freq_mhz));
	message_end(head);
}

void hwsim_report(unsigned int from, const struct frame *frame,
		  unsigned int tries, bool acked)
{
	struct nlmsghdr *head = message_begin(family, CMD_TX_INFO);
	struct {
		int8_t index;
		uint8_t count;
	} rates[TX_RATES] = {{(int8_t)frame->rate_index, (uint8_t)tries},
			     {-1, 0},
			     {-1, 0},
			     {-1, 0}};
	uint32_t flags = frame->flags | (acked ? STAT_ACK_FLAG : 0);
	int32_t signal_dbm = -50;

	message_put(head, ATTR_TRANSMITTER, radios[from].mac, MAC_BYTES);
	message_put(head, ATTR_FLAGS, &flags, sizeof(flags));
	message_put(head, ATTR_COOKIE, &frame->cookie, sizeof(frame->cookie));
	message_put(head, ATTR_SIGNAL, &signal_dbm, sizeof(signal_dbm));
	message_put(head, ATTR_TX_INFO, rates, sizeof(rates));
	message_end(head);
}

/* Fills where each attribute begins and how long it is. */
static void find_attributes(const uint8_t *data, size_t bytes,
			    const uint8_t *at[ATTRS], size_t length[ATTRS])
{
	while (bytes >= ATTR_HEAD_BYTES) {
		struct nlattr attribute;
		size_t step;

		memcpy(&attribute, data, sizeof(attribute));
		if (attribute.nla_len < ATTR_HEAD_BYTES ||
		    attribute.nla_len > bytes)
			die_run("netlink", "attributes that fit",
				"one that does not", NULL);
		if (attribute.nla_type < ATTRS) {
			at[attribute.nla_type] = data + ATTR_HEAD_BYTES;
			length[attribute.nla_type] =
			    (size_t)attribute.nla_len - ATTR_HEAD_BYTES;
		}
		step = PADDED((size_t)attribute.nla_len);
		step = step < bytes ? step : bytes;
		data += step;
		bytes -= step;
	}
}

static void check_sender(int from, const uint8_t *mac, uint32_t freq_mhz)
{
	char got[64];

	if (from < 0) {
		snprintf(got, sizeof(got), "%02x:%02x:%02x:%02x:%02x:%02x",
			 mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
		die_run("a frame of the kernel", "a radio of --radios-file",
			got, "list every radio there is");
	}
	if (freq_mhz != radios[from].freq_mhz) {
		snprintf(got, sizeof(got), "%u MHz from radio %d", freq_mhz,
			 from);
		die_run("a frame of the kernel", "the channel of --radios-file",
			got, NULL);
	}
}

static void address(struct frame *frame)
{
	const uint8_t *receiver = frame->data + 4;
	bool is_management = (frame->data[0] >> 2 & 3) == 0;

	frame->to = receiver[0] & GROUP_BIT ? TO_ALL : table_find(receiver);
	frame->kind = frame->to == TO_ALL ? AIR_BROADCAST : AIR_DATA;
	if (is_management)
		frame->kind = AIR_MANAGEMENT;
	if (rate_bps_of_index(frame->rate_index) == 0)
		die_run("a frame of the kernel",
			"a rate of 802.11b, index 0 to 3", "another",
			"pin the rate when the interface joins");
}

static void take_frame(const uint8_t *data, size_t bytes, int64_t now_ns)
{
	const uint8_t *at[ATTRS] = {NULL};
	size_t length[ATTRS] = {0};
	static struct frame frame;
	uint32_t freq_mhz;
	int from;

	find_attributes(data, bytes, at, length);
	if (length[ATTR_TRANSMITTER] != MAC_BYTES || length[ATTR_FLAGS] != 4 ||
	    length[ATTR_COOKIE] != 8 || length[ATTR_FREQ] != 4 ||
	    length[ATTR_TX_INFO] < 2 ||
	    length[ATTR_FRAME] < HEADER_3ADDR_BYTES ||
	    length[ATTR_FRAME] > MAX_FRAME_BYTES)
		die_run("a frame of the kernel", "what hwsim tells of a frame",
			"something else", NULL);
	memcpy(&frame.flags, at[ATTR_FLAGS], 4);
	memcpy(&frame.cookie, at[ATTR_COOKIE], 8);
	memcpy(&freq_mhz, at[ATTR_FREQ], 4);
	frame.bytes = (uint32_t)length[ATTR_FRAME];
	memcpy(frame.data, at[ATTR_FRAME], frame.bytes);
	frame.rate_index = at[ATTR_TX_INFO][0];
	from = table_find(at[ATTR_TRANSMITTER]);
	check_sender(from, at[ATTR_TRANSMITTER], freq_mhz);
	address(&frame);
	station_hand_in((unsigned int)from, &frame, now_ns);
}

void hwsim_take(const uint8_t *data, size_t bytes, int64_t now_ns)
{
	const size_t heads = NLMSG_HDRLEN + GENL_HDRLEN;
	struct nlmsghdr head;

	if (bytes < sizeof(head))
		die_run("netlink", "whole messages", "part of one", NULL);
	memcpy(&head, data, sizeof(head));
	if (head.nlmsg_type == NLMSG_ERROR) {
		refused++;
		return;
	}
	if (head.nlmsg_type != family || head.nlmsg_len < heads ||
	    head.nlmsg_len > bytes || data[NLMSG_HDRLEN] != CMD_FRAME)
		return;
	take_frame(data + heads, head.nlmsg_len - heads, now_ns);
}

/* Sends what was gathered and returns the answer, a negative errno or 0. */
static int ask(uint8_t *answer, size_t room, size_t *bytes)
{
	struct nlmsgerr status;
	struct nlmsghdr head;
	ssize_t got;

	hwsim_flush();
	got = recv(netlink, answer, room, 0);
	if (got < (ssize_t)sizeof(head))
		die_errno("netlink", "an answer", NULL);
	memcpy(&head, answer, sizeof(head));
	*bytes = (size_t)got;
	if (head.nlmsg_type != NLMSG_ERROR)
		return 0;
	memcpy(&status, answer + NLMSG_HDRLEN, sizeof(status));
	return status.error;
}

static void find_family_or_die(void)
{
	static const char name[] = "MAC80211_HWSIM";
	struct nlmsghdr *head = message_begin(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	const uint8_t *at[ATTRS] = {NULL};
	size_t length[ATTRS] = {0}, bytes;
	const size_t heads = NLMSG_HDRLEN + GENL_HDRLEN;
	uint8_t answer[8192];

	message_put(head, CTRL_ATTR_FAMILY_NAME, name, sizeof(name));
	message_end(head);
	if (ask(answer, sizeof(answer), &bytes) != 0 || bytes < heads)
		die_unsupported("netlink", name, "no such family",
				"this kernel lacks MAC80211_HWSIM");
	find_attributes(answer + heads, bytes - heads, at, length);
	if (length[CTRL_ATTR_FAMILY_ID] != sizeof(family))
		die_run("netlink", "the number of a family", "none", NULL);
	memcpy(&family, at[CTRL_ATTR_FAMILY_ID], sizeof(family));
	/* The acknowledgement follows only if it was asked for; it was not. */
}

int64_t hwsim_last_frame_ns(void)
{
	return __atomic_load_n(arrivals_ns, __ATOMIC_RELAXED);
}

int hwsim_open_or_die(void)
{
	struct sockaddr_nl here = {.nl_family = AF_NETLINK};
	int room = SOCKET_BYTES, status;
	struct nlmsghdr *head;
	uint8_t answer[8192];
	size_t bytes;

	netlink = socket_or_die(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC,
				"generic netlink");
	if (bind(netlink, (struct sockaddr *)&here, sizeof(here)) != 0)
		die_errno("netlink", "a socket that is bound", NULL);
	/* First: where there are no radios, that is what matters. */
	find_family_or_die();
	setsockopt_or_die(netlink, SOL_SOCKET, SO_RCVBUFFORCE, &room,
			  sizeof(room), "SO_RCVBUFFORCE");
	setsockopt_or_die(netlink, SOL_SOCKET, SO_SNDBUFFORCE, &room,
			  sizeof(room), "SO_SNDBUFFORCE");
	head = message_begin(family, CMD_REGISTER);
	head->nlmsg_flags |= NLM_F_ACK;
	message_end(head);
	status = ask(answer, sizeof(answer), &bytes);
	if (status != 0) {
		errno = -status;
		die_errno("registering with mac80211_hwsim",
			  "to be the one medium there is",
			  "does another medium run?");
	}
	arrivals_ns = bpf_arrivals_or_die(netlink);
	return netlink;
}
