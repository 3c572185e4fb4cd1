/*
 * Frames without acknowledgement, from a monitor interface on the node's own
 * radio: mac80211 gives every frame it has sent to it, with radiotap's TX
 * flags. A filter in the kernel lets only those pass that have failed, so
 * that nothing else wakes the daemon.
 */
#include "aodvd.h"
#include "probe_common.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <string.h>

#define RADIOTAP_TX_FLAGS_BIT (1U << 15)
#define RADIOTAP_RATE_BIT (1U << 2)
#define RADIOTAP_HEADER_BYTES 8
#define TX_FAIL 0x01
#define FRAME_HEADER_BYTES 24
#define QOS_HEADER_BYTES 26
#define SNAP_BYTES 8
#define FRAME_TYPE_MASK 0x0c
#define FRAME_TYPE_DATA 0x08
#define FRAME_QOS 0x80
#define FRAME_NO_DATA 0x40
#define UDP_BYTES 8
#define MOST_FRAME_BYTES 4096

/*
 * mac80211's own header of what was sent has, in this order, rate (when there
 * is a plain one, and padding to 2 bytes), TX flags and retries: the flags
 * are the second or the first 16 bits after the 8 of the header. What was
 * received has no TX flags. A frame that a full queue dropped was not sent
 * and says nothing of the link: it has no retries.
 */
static void only_failed(int fd)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 0),
	    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 5),
	    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, RADIOTAP_TX_FLAGS_BIT >> 8, 0,
		     7),
	    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 4),
	    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, RADIOTAP_RATE_BIT, 0, 1),
	    BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 2),
	    BPF_STMT(BPF_LD | BPF_B | BPF_IND, RADIOTAP_HEADER_BYTES),
	    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, TX_FAIL, 0, 2),
	    BPF_STMT(BPF_LD | BPF_B | BPF_IND, RADIOTAP_HEADER_BYTES + 2),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};

	filter_or_die(fd, code, sizeof(code) / sizeof(code[0]));
}

int feedback_open(const char *monitor)
{
	struct sockaddr_ll where = {
	    .sll_family = AF_PACKET,
	    .sll_protocol = htons(ETH_P_ALL),
	    .sll_ifindex = (int)if_nametoindex(monitor),
	};
	int fd;

	if (!where.sll_ifindex)
		die_errno(monitor, "a monitor interface of this namespace",
			  NULL);
	fd = socket_or_die(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0,
			   "a packet socket");
	only_failed(fd);
	if (bind(fd, (struct sockaddr *)&where, sizeof(where)) != 0)
		die_errno("bind(AF_PACKET)", "a monitor interface", NULL);
	return fd;
}

/* Where the IPv4 packet in the frame begins; 0: there is none. */
static size_t packet_offset(const uint8_t *frame, size_t length)
{
	static const uint8_t snap[] = {0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00};
	size_t header_bytes = FRAME_HEADER_BYTES;

	if (length < FRAME_HEADER_BYTES ||
	    (frame[0] & FRAME_TYPE_MASK) != FRAME_TYPE_DATA ||
	    frame[0] & FRAME_NO_DATA)
		return 0;
	if (frame[0] & FRAME_QOS)
		header_bytes = QOS_HEADER_BYTES;
	if (length < header_bytes + SNAP_BYTES + 20 ||
	    memcmp(frame + header_bytes, snap, sizeof(snap)) != 0)
		return 0;
	return header_bytes + SNAP_BYTES;
}

static uint32_t address_at(const uint8_t *bytes)
{
	uint32_t address;

	memcpy(&address, bytes, sizeof(address));
	return ntohl(address);
}

/* AODV's own packets: a reply that failed is worth knowing (section 6.8). */
static bool is_control(const uint8_t *packet, size_t length, bool *is_reply)
{
	size_t header_bytes = (size_t)(packet[0] & 0xf) * 4;

	*is_reply = false;
	if (packet[9] != IPPROTO_UDP || length < header_bytes + UDP_BYTES + 1 ||
	    (packet[header_bytes + 2] << 8 | packet[header_bytes + 3]) !=
		AODV_PORT)
		return false;
	*is_reply = packet[header_bytes + UDP_BYTES] == AODV_RREP;
	return true;
}

static void frame_failed(unsigned int at, const uint8_t *frame, size_t length)
{
	uint32_t neighbour, source = 0, destination = 0;
	size_t offset = packet_offset(frame, length);
	bool is_reply = false, control = false;

	aodvd.counts.failed_frames++;
	if (length < FRAME_HEADER_BYTES)
		return;
	neighbour = neighbour_of_mac(aodvd.interface[at].index, frame + 4);
	if (!neighbour)
		return;
	if (offset) {
		control =
		    is_control(frame + offset, length - offset, &is_reply);
		source = address_at(frame + offset + 12);
		destination = address_at(frame + offset + 16);
	}
	if (is_reply)
		aodv_core_reply_failed(aodvd.core, aodvd.now_ns, neighbour);
	aodv_core_link_broken(aodvd.core, aodvd.now_ns, neighbour,
			      AODV_CAUSE_FEEDBACK, control ? 0 : source,
			      control ? 0 : destination);
	if (offset && !control && option_salvage())
		buffer_salvage(frame + offset, length - offset);
}

void feedback_receive(unsigned int at)
{
	static uint8_t bytes[MOST_FRAME_BYTES];
	ssize_t length = recv(aodvd.interface[at].monitor_fd, bytes,
			      sizeof(bytes), MSG_TRUNC);
	size_t header_bytes;

	if (length < RADIOTAP_HEADER_BYTES || (size_t)length > sizeof(bytes))
		return;
	header_bytes = (size_t)(bytes[2] | bytes[3] << 8);
	if (header_bytes <= (size_t)length)
		frame_failed(at, bytes + header_bytes,
			     (size_t)length - header_bytes);
}
