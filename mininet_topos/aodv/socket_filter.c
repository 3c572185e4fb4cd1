/* Filters in the kernel, so that only what matters wakes the daemon. */
#include "aodvd.h"
#include "probe_common.h"

#include <linux/filter.h>

void filter_or_die(int fd, struct sock_filter *code, unsigned short steps)
{
	struct sock_fprog program = {.len = steps, .filter = code};

	setsockopt_or_die(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
			  sizeof(program), "a filter on the socket");
}
