/* Thresholds, states and timeouts of an SCTP association's paths. */
#include "probe_paths.h"

#include "probe_json.h"

#include <arpa/inet.h>
#include <string.h>

/* SCTP_PF_EXPOSE_ENABLE of the kernel, which its headers keep to itself. */
#define EXPOSE_PF 2
#define LOOK_AGAIN_NS NS_PER_S

struct path_settings paths_asked;

#define INTEGER(option, member, least, words)                                  \
	{.name = (option),                                                     \
	 .kind = OPTION_INTEGER,                                               \
	 .to.integer = &paths_asked.member,                                    \
	 .min = (least),                                                       \
	 .max = UINT16_MAX,                                                    \
	 .help = (words)}

const struct probe_option path_options[] = {
    INTEGER("path-max-retrans", path_max_retrans, 1,
	    "SCTP_PEER_ADDR_PARAMS: Path.Max.Retrans"),
    INTEGER("assoc-max-retrans", assoc_max_retrans, 1,
	    "SCTP_ASSOCINFO: Association.Max.Retrans"),
    INTEGER("pf-max-retrans", pf_max_retrans, 0,
	    "SCTP_PEER_ADDR_THLDS: PF.Max.Retrans of RFC 7829; from "
	    "Path.Max.Retrans\n      on it never applies"),
    INTEGER("ps-max-retrans", ps_max_retrans, 0,
	    "SCTP_PEER_ADDR_THLDS_V2: Primary.Switchover.Max.Retrans of\n"
	    "      RFC 7829; not below PF.Max.Retrans"),
    {0},
};

/* What was last printed of a path. */
struct path_seen {
	struct sockaddr_storage addr;
	int64_t t_ns;
	int32_t state;
	uint32_t rto_ms;
	uint64_t backoffs;
};

static struct path_seen seen[MAX_ADDRESSES];
static unsigned int seen_count;
static bool is_watched;

static void read_or_die(int fd, int name, void *value, socklen_t length,
			const char *words)
{
	if (getsockopt(fd, SOL_SCTP, name, value, &length) != 0)
		die_errno("getsockopt", words,
			  "does the association still exist?");
}

/* Both at once: the kernel refuses the one that is below the other. */
static void set_switchover_or_die(int fd)
{
	struct sctp_paddrthlds_v2 thresholds = {0};

	read_or_die(fd, SCTP_PEER_ADDR_THLDS_V2, &thresholds,
		    sizeof(thresholds), "SCTP_PEER_ADDR_THLDS_V2");
	thresholds.spt_pathcpthld = (uint16_t)paths_asked.ps_max_retrans.value;
	if (paths_asked.pf_max_retrans.is_set)
		thresholds.spt_pathpfthld =
		    (uint16_t)paths_asked.pf_max_retrans.value;
	setsockopt_or_die(fd, SOL_SCTP, SCTP_PEER_ADDR_THLDS_V2, &thresholds,
			  sizeof(thresholds),
			  "--ps-max-retrans (SCTP_PEER_ADDR_THLDS_V2)");
}

void paths_apply_or_die(int fd)
{
	struct sctp_paddrparams path = {
	    .spp_pathmaxrxt = (uint16_t)paths_asked.path_max_retrans.value,
	};
	struct sctp_assocparams assoc = {
	    .sasoc_asocmaxrxt = (uint16_t)paths_asked.assoc_max_retrans.value,
	};
	struct sctp_paddrthlds thresholds = {
	    .spt_pathpfthld = (uint16_t)paths_asked.pf_max_retrans.value,
	};

	/* The kernel leaves alone what is zero here. */
	if (paths_asked.path_max_retrans.is_set)
		setsockopt_or_die(fd, SOL_SCTP, SCTP_PEER_ADDR_PARAMS, &path,
				  sizeof(path),
				  "--path-max-retrans (SCTP_PEER_ADDR_PARAMS)");
	if (paths_asked.assoc_max_retrans.is_set)
		setsockopt_or_die(fd, SOL_SCTP, SCTP_ASSOCINFO, &assoc,
				  sizeof(assoc),
				  "--assoc-max-retrans (SCTP_ASSOCINFO)");
	if (paths_asked.ps_max_retrans.is_set)
		set_switchover_or_die(fd);
	else if (paths_asked.pf_max_retrans.is_set)
		setsockopt_or_die(fd, SOL_SCTP, SCTP_PEER_ADDR_THLDS,
				  &thresholds, sizeof(thresholds),
				  "--pf-max-retrans (SCTP_PEER_ADDR_THLDS)");
}

void paths_report_effective(int fd)
{
	struct sctp_paddrparams path = {0};
	struct sctp_assocparams assoc = {0};
	struct sctp_paddrthlds thresholds = {0};
	struct sctp_paddrthlds_v2 more = {0};

	if (!is_watched && !paths_asked.path_max_retrans.is_set &&
	    !paths_asked.assoc_max_retrans.is_set &&
	    !paths_asked.pf_max_retrans.is_set &&
	    !paths_asked.ps_max_retrans.is_set)
		return;
	read_or_die(fd, SCTP_PEER_ADDR_PARAMS, &path, sizeof(path),
		    "SCTP_PEER_ADDR_PARAMS");
	read_or_die(fd, SCTP_ASSOCINFO, &assoc, sizeof(assoc),
		    "SCTP_ASSOCINFO");
	read_or_die(fd, SCTP_PEER_ADDR_THLDS, &thresholds, sizeof(thresholds),
		    "SCTP_PEER_ADDR_THLDS");
	json_unsigned("path_max_retrans", path.spp_pathmaxrxt);
	json_unsigned("assoc_max_retrans", assoc.sasoc_asocmaxrxt);
	json_unsigned("pf_max_retrans", thresholds.spt_pathpfthld);
	if (!paths_asked.ps_max_retrans.is_set) /* Linux has it since 5.5. */
		return;
	read_or_die(fd, SCTP_PEER_ADDR_THLDS_V2, &more, sizeof(more),
		    "SCTP_PEER_ADDR_THLDS_V2");
	json_unsigned("ps_max_retrans", more.spt_pathcpthld);
}

void paths_watch_or_die(int fd)
{
	struct sctp_assoc_value expose = {.assoc_value = EXPOSE_PF};
	struct sctp_event event = {
	    .se_type = SCTP_PEER_ADDR_CHANGE,
	    .se_on = 1,
	};

	setsockopt_or_die(fd, SOL_SCTP, SCTP_EXPOSE_POTENTIALLY_FAILED_STATE,
			  &expose, sizeof(expose),
			  "word of potentially failed paths "
			  "(SCTP_EXPOSE_POTENTIALLY_FAILED_STATE)");
	setsockopt_or_die(fd, SOL_SCTP, SCTP_EVENT, &event, sizeof(event),
			  "a notification (SCTP_EVENT)");
	is_watched = true;
}

bool paths_are_watched(void)
{
	return is_watched;
}

const char *paths_address_text(const struct sockaddr_storage *addr)
{
	static char text[INET6_ADDRSTRLEN];
	const void *number =
	    addr->ss_family == AF_INET
		? (const void *)&((const struct sockaddr_in *)addr)->sin_addr
		: &((const struct sockaddr_in6 *)addr)->sin6_addr;

	if (inet_ntop(addr->ss_family, number, text, sizeof(text)) == NULL)
		die_errno("inet_ntop", "an address of IPv4 or IPv6", NULL);
	return text;
}

static const char *state_word(int32_t state)
{
	switch (state) {
	case SCTP_INACTIVE:
		return "inactive";
	case SCTP_PF:
		return "potentially_failed";
	case SCTP_ACTIVE:
		return "active";
	case SCTP_UNCONFIRMED:
		return "unconfirmed";
	default:
		return "unknown";
	}
}

static const char *change_word(int state)
{
	switch (state) {
	case SCTP_ADDR_AVAILABLE:
		return "available";
	case SCTP_ADDR_UNREACHABLE:
		return "unreachable";
	case SCTP_ADDR_REMOVED:
		return "removed";
	case SCTP_ADDR_ADDED:
		return "added";
	case SCTP_ADDR_MADE_PRIM:
		return "made_primary";
	case SCTP_ADDR_CONFIRMED:
		return "confirmed";
	case SCTP_ADDR_POTENTIALLY_FAILED:
		return "potentially_failed";
	default:
		return "unknown";
	}
}

static void look_at(int fd, struct path_seen *path, bool everything)
{
	struct sctp_paddrinfo info = {0};
	socklen_t length = sizeof(info);
	int64_t now_ns = clock_now_ns();
	bool is_new = path->t_ns == NO_TIME_NS;
	bool grew, shrank;

	memcpy(&info.spinfo_address, &path->addr, sizeof(path->addr));
	/* EINVAL and its like: the association is gone. */
	if (getsockopt(fd, SOL_SCTP, SCTP_GET_PEER_ADDR_INFO, &info, &length) !=
	    0)
		return;
	grew = !is_new && info.spinfo_rto >= path->rto_ms + path->rto_ms / 2;
	shrank = info.spinfo_rto + info.spinfo_rto / 2 <= path->rto_ms;
	if (!everything && !is_new && !grew && !shrank &&
	    info.spinfo_state == path->state &&
	    now_ns < path->t_ns + LOOK_AGAIN_NS)
		return;
	path->backoffs += grew;
	path->t_ns = now_ns;
	path->state = info.spinfo_state;
	path->rto_ms = info.spinfo_rto;
	json_begin("path");
	json_time_ns("t_ns", now_ns);
	json_text("address", paths_address_text(&path->addr));
	json_text("state", state_word(info.spinfo_state));
	json_unsigned("cwnd_bytes", info.spinfo_cwnd);
	json_unsigned("rto_ms", info.spinfo_rto);
	json_unsigned("backoffs", path->backoffs);
	json_end();
}

/* Which paths there are is known once the association is. */
static void find_paths(int fd)
{
	struct sockaddr *packed = NULL;
	int count = sctp_getpaddrs(fd, 0, &packed);
	const char *next = (const char *)packed;

	for (int i = 0; i < count && seen_count < MAX_ADDRESSES; i++) {
		const struct sockaddr *addr = (const void *)next;
		size_t length = (size_t)sctp_getaddrlen(addr->sa_family);

		memcpy(&seen[seen_count].addr, addr, length);
		seen[seen_count++].t_ns = NO_TIME_NS;
		next += length;
	}
	if (count > 0)
		sctp_freepaddrs(packed);
}

void paths_look(int fd, bool everything)
{
	if (!is_watched)
		return;
	if (seen_count == 0)
		find_paths(fd);
	for (unsigned int i = 0; i < seen_count; i++)
		look_at(fd, &seen[i], everything);
}

void paths_take_change(int fd, const struct sctp_paddr_change *change)
{
	struct sockaddr_storage addr;

	memcpy(&addr, &change->spc_aaddr, sizeof(addr));
	json_begin("path_change");
	json_time_ns("t_ns", clock_now_ns());
	json_text("address", paths_address_text(&addr));
	json_text("change", change_word(change->spc_state));
	json_integer("error", change->spc_error);
	json_end();
	paths_look(fd, false);
}
