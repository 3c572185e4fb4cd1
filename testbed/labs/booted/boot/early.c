// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first program of a kernel of modules, from its first root: loads them,
 * mounts what the lab is made of, and becomes init.
 *
 * usage: as the kernel starts it; what stands after "--" on the kernel's
 * command line is passed on: VIRTUAL_LIMIT_S PROGRAM [ARG...]
 *
 * The host shares three folders by name (virtio, 9P): "image", the root, and
 * "code", both read-only, and "cell", the only one that can be written.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MODULES "/modules"
#define SHARED "trans=virtio,version=9p2000.L,cache=loose,msize=524288"
#define MOST_ARGUMENTS 64

static void die(const char *what, const char *where)
{
	printf("lab: init: %s %s: %s\n", what, where, strerror(errno));
	fflush(stdout);
	reboot(RB_POWER_OFF);
	_exit(1);
}

/* In the order of their names, which begin with a number. */
static void load_modules(void)
{
	struct dirent **found;
	int count = scandir(MODULES, &found, NULL, alphasort);
	int place = open(MODULES, O_PATH | O_DIRECTORY);
	int number;

	if (count < 0 || place < 0)
		die("cannot look into", MODULES);
	for (number = 0; number < count; number++) {
		const char *name = found[number]->d_name;
		int file;

		if (name[0] == '.')
			continue;
		file = openat(place, name, O_RDONLY | O_CLOEXEC);
		/* EEXIST: built in; ENODEV: not for this processor. */
		if (file < 0 || (syscall(SYS_finit_module, file, "", 0) < 0 &&
				 errno != EEXIST && errno != ENODEV))
			die("cannot load", name);
		close(file);
	}
	close(place);
}

static void share_or_die(const char *name, const char *place,
			 unsigned long flags)
{
	if (mount(name, place, "9p", flags | MS_NOATIME | MS_NODEV, SHARED) < 0)
		die("cannot mount", place);
}

static void become_root(void)
{
	if (chdir("/root") < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 ||
	    chroot(".") < 0 || chdir("/") < 0)
		die("cannot enter", "the image");
}

int main(int argc, char **argv)
{
	char *const env[] = {NULL};
	char *arguments[MOST_ARGUMENTS + 3] = {"/gt/code/init", "--mounted"};

	if (argc < 1 || argc > MOST_ARGUMENTS) {
		errno = EINVAL;
		die("cannot pass on", "the command line");
	}
	memcpy(arguments + 2, argv + 1, sizeof(char *) * (size_t)(argc - 1));
	load_modules();
	share_or_die("image", "/root", MS_RDONLY);
	if (mount("tmpfs", "/root/gt", "tmpfs", 0, "mode=755") < 0 ||
	    mkdir("/root/gt/code", 0755) < 0)
		die("cannot mount", "/gt");
	share_or_die("code", "/root/gt/code", MS_RDONLY | MS_NOSUID);
	share_or_die("cell", "/root/cell", MS_NOSUID);
	become_root();
	execve(arguments[0], arguments, env);
	die("cannot run", arguments[0]);
}
