/*
 * What a route says besides the way: metrics that the kernel's TCP begins a
 * connection with, as options of the daemon. All its routes have them.
 *
 * The kernel takes no heed of an RTO_MIN that is not locked, so it is.
 */
#include "aodvd.h"

#include <linux/rtnetlink.h>
#include <string.h>

/* What ip_metrics_convert() of the kernel would cut a metric to. */
#define MOST_ADVMSS (65535 - 40)
#define MOST_MTU (65535 - 15)
/* TCP_RTO_MAX. */
#define MOST_RTO_MIN_MS 120000

static struct probe_integer advmss, initcwnd, initrwnd, mtu, quickack, rto_min,
    window;

static const struct {
	unsigned short type;
	const struct probe_integer *asked;
} metrics[] = {
    {RTAX_ADVMSS, &advmss},	{RTAX_INITCWND, &initcwnd},
    {RTAX_INITRWND, &initrwnd}, {RTAX_MTU, &mtu},
    {RTAX_QUICKACK, &quickack}, {RTAX_RTO_MIN, &rto_min},
    {RTAX_WINDOW, &window},
};

const struct probe_option route_metric_options[] = {
    COUNT("advmss-bytes", &advmss, 1, MOST_ADVMSS,
	  "of its routes: the segment size that TCP asks for"),
    COUNT("initcwnd-segments", &initcwnd, 1, 65535,
	  "of its routes: TCP's initial congestion window"),
    COUNT("initrwnd-segments", &initrwnd, 1, 65535,
	  "of its routes: TCP's initial receive window"),
    COUNT("mtu-bytes", &mtu, 552, MOST_MTU, "of its routes"),
    COUNT("quickack", &quickack, 0, 1,
	  "of its routes: 1: acknowledge each segment"),
    COUNT("rto-min-ms", &rto_min, 1, MOST_RTO_MIN_MS,
	  "of its routes: the least of TCP's timeout above the round trip"),
    COUNT("window-bytes", &window, 1, UINT32_MAX,
	  "of its routes: most that TCP advertises"),
    {0},
};

static uint32_t put(char *at, unsigned short type, uint32_t value)
{
	struct rtattr attribute = {
	    .rta_len = RTA_LENGTH(sizeof(value)),
	    .rta_type = type,
	};

	memcpy(at, &attribute, sizeof(attribute));
	memcpy(at + RTA_LENGTH(0), &value, sizeof(value));
	return RTA_SPACE(sizeof(value));
}

uint32_t route_metrics_write(char *at)
{
	struct rtattr nest = {.rta_type = RTA_METRICS};
	uint32_t length = RTA_LENGTH(0);

	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		if (metrics[i].asked->is_set)
			length += put(at + length, metrics[i].type,
				      (uint32_t)metrics[i].asked->value);
	if (length == RTA_LENGTH(0))
		return 0;
	if (rto_min.is_set)
		length += put(at + length, RTAX_LOCK, 1U << RTAX_RTO_MIN);
	nest.rta_len = (unsigned short)length;
	memcpy(at, &nest, sizeof(nest));
	return length;
}
