// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The second wall before the file system: Landlock. It holds even where the
 * sandbox's view should show more than it was meant to.
 *
 * Every right of the host's Landlock is taken, then a few are given back. Only
 * plain files and folders can be made in the cell: no links, no named pipes.
 */
#include "walls.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE                                                                  \
	(READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |  \
	 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |           \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |      \
	 LANDLOCK_ACCESS_FS_REFER)

/* Rights a version of Landlock's interface knows: from 1 up to its last. */
static uint64_t known_rights(long version)
{
	uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;

	if (version >= 2)
		rights |= LANDLOCK_ACCESS_FS_REFER;
	if (version >= 3)
		rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
	if (version >= 5)
		rights |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	return rights;
}

static void allow(int rules, const char *place, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = rights};

	rule.parent_fd = open(place, O_PATH | O_CLOEXEC);
	if (rule.parent_fd < 0)
		die("cannot open", place);
	if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH,
		    &rule, 0) < 0)
		die("cannot allow", place);
	close(rule.parent_fd);
}

void close_file_system(void)
{
	struct landlock_ruleset_attr taken = {0};
	long version;
	size_t size = sizeof(taken.handled_access_fs);
	uint64_t known;
	int rules;

	version = syscall(SYS_landlock_create_ruleset, NULL, 0,
			  LANDLOCK_CREATE_RULESET_VERSION);
	if (version < 1)
		return;
	known = known_rights(version);
	taken.handled_access_fs = known;
	if (version >= 4) {
		taken.handled_access_net = LANDLOCK_ACCESS_NET_BIND_TCP |
					   LANDLOCK_ACCESS_NET_CONNECT_TCP;
		size += sizeof(taken.handled_access_net);
	}
	if (version >= 6) {
		taken.scoped =
		    LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL;
		size += sizeof(taken.scoped);
	}
	rules = (int)syscall(SYS_landlock_create_ruleset, &taken, size, 0);
	if (rules < 0)
		die("cannot make rules for", "the file system");
	allow(rules, "/", READ | LANDLOCK_ACCESS_FS_EXECUTE);
	allow(rules, "/cell", WRITE & known);
	allow(rules, "/dev/shm", WRITE & known);
	allow(rules, "/tmp", WRITE & known);
	if (syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		die("cannot enforce", "Landlock's rules");
	close(rules);
}
