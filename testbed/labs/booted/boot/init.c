// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The lab's process 1: mounts what programs expect, runs the agent, powers off.
 *
 * usage (as kernel parameters after "--"): init [--mounted] VIRTUAL_LIMIT_S
 * PROGRAM [ARG...]
 * --mounted: what the host shares is mounted already, and time is not virtual.
 *
 * Says on the console how the agent ended, as one line that the host looks for:
 *   "lab: agent exited N", "lab: agent killed by signal N", "lab: virtual-time
 * limit of N s". The limit is an alarm of the guest's own clock, so it costs
 * nothing while traffic runs.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void power_off(void)
{
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	_exit(1);
}

static void die(const char *what, const char *where)
{
	printf("lab: init: %s %s: %s\n", what, where, strerror(errno));
	power_off();
}

static void mount_or_die(const char *type, const char *place)
{
	if (mount(type, place, type, 0, NULL) < 0)
		die("cannot mount", place);
}

/*
 * First of all: nothing on the root may be written, an inode's time of access
 * included. Left to relatime, the host's times decide which inodes are written
 * back, that reads the clock, and a clock that is read moves. The cell is a
 * mount of its own, the only one that can be written.
 */
static void mount_host(void)
{
	if (mount("none", "/", NULL, MS_REMOUNT | MS_RDONLY | MS_NOATIME,
		  NULL) < 0)
		die("cannot remount", "/");
	if (mount("none", "/cell", "hostfs", MS_NOATIME | MS_NOSUID | MS_NODEV,
		  "/cell") < 0)
		die("cannot mount", "/cell");
}

static void mount_all(void)
{
	mount_or_die("proc", "/proc");
	mount_or_die("sysfs", "/sys");
	mount_or_die("tmpfs", "/run");
	mount_or_die("tmpfs", "/tmp");
	mount_or_die("devtmpfs", "/dev");
	if (mkdir("/dev/pts", 0755) < 0 && errno != EEXIST)
		die("cannot make", "/dev/pts");
	mount_or_die("devpts", "/dev/pts");
	mount_or_die("tracefs", "/sys/kernel/tracing");
}

/* Whether the process of this folder of /proc is called ksoftirqd/N. */
static int is_softirq_thread(const char *pid)
{
	char path[64], name[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (!fgets(name, sizeof(name), f))
		name[0] = '\0';
	fclose(f);
	return strncmp(name, "ksoftirqd/", 10) == 0;
}

/*
 * Packet work goes before programs. When much falls due in one instant, the
 * kernel leaves the rest to ksoftirqd; a program woken in that instant would go
 * first, and as reading the clock takes virtual time, the packets would be
 * late. On a CPU that is infinitely fast none is.
 */
static void packet_work_first(void)
{
	const struct sched_param priority = {.sched_priority = 1};
	struct dirent *entry;
	int found = 0;
	DIR *proc;

	proc = opendir("/proc");
	if (!proc)
		die("cannot list", "/proc");
	while ((entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !is_softirq_thread(entry->d_name))
			continue;
		if (sched_setscheduler((pid_t)strtol(entry->d_name, NULL, 10),
				       SCHED_FIFO, &priority) < 0)
			die("cannot give a priority to", "ksoftirqd");
		found++;
	}
	closedir(proc);
	if (!found) {
		errno = ESRCH;
		die("cannot find", "ksoftirqd");
	}
}

/*
 * Memory that is short ends the lab. A kernel that kills its largest program
 * instead kills the agent, and may look for a page for ever without finding
 * one.
 */
static void no_memory_no_lab(void)
{
	static const char file[] = "/proc/sys/vm/panic_on_oom";
	FILE *f = fopen(file, "w");

	if (!f || fputs("1", f) < 0 || fclose(f) != 0)
		die("cannot set", file);
}

/* Wait for the agent or the deadline; reap whatever else ends meanwhile. */
static int agent_ended(pid_t agent, long limit_s, const sigset_t *set,
		       int *status)
{
	struct timespec now, left;
	time_t end;
	pid_t pid;

	if (clock_gettime(CLOCK_MONOTONIC, &now) < 0)
		die("cannot read", "the clock");
	end = now.tv_sec + limit_s;
	for (;;) {
		while ((pid = waitpid(-1, status, WNOHANG)) > 0) {
			if (pid == agent)
				return 1;
		}
		if (clock_gettime(CLOCK_MONOTONIC, &now) < 0)
			die("cannot read", "the clock");
		if (now.tv_sec >= end)
			return 0;
		left.tv_sec = end - now.tv_sec;
		left.tv_nsec = 0;
		sigtimedwait(set, NULL, &left);
	}
}

int main(int argc, char **argv)
{
	char *env[] = {
	    "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
	    "HOME=/tmp",
	    "LC_ALL=C.UTF-8",
	    "PYTHONPATH=/gt/code/lib:/usr/lib/python3/dist-packages",
	    "PYTHONDONTWRITEBYTECODE=1",
	    "PYTHONHASHSEED=0",
	    NULL,
	    NULL,
	};
	int status, virtual_time = 1;
	sigset_t set;
	long limit_s;
	pid_t agent;

	if (argc > 1 && strcmp(argv[1], "--mounted") == 0) {
		argc--;
		argv++;
		virtual_time = 0;
	} else {
		mount_host();
	}
	mount_all();
	no_memory_no_lab();
	if (virtual_time)
		packet_work_first();
	/* Of the agent alone: other programs are what they are. */
	if (virtual_time && strcmp(argv[argc - 1], "/gt/code/at_once.pyc") == 0)
		env[sizeof(env) / sizeof(*env) - 2] =
		    "LD_PRELOAD=/gt/code/memory_at_once.so";
	if (argc < 3) {
		printf(
		    "lab: init: wanted VIRTUAL_LIMIT_S PROGRAM, got %d words\n",
		    argc - 1);
		power_off();
	}
	limit_s = strtol(argv[1], NULL, 10);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	agent = fork();
	if (agent < 0)
		die("cannot fork for", argv[2]);
	if (agent == 0) {
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		execve(argv[2], argv + 2, env);
		die("cannot run", argv[2]);
	}
	if (!agent_ended(agent, limit_s, &set, &status))
		printf("lab: virtual-time limit of %ld s\n", limit_s);
	else if (WIFSIGNALED(status))
		printf("lab: agent killed by signal %d\n", WTERMSIG(status));
	else
		printf("lab: agent exited %d\n", WEXITSTATUS(status));
	power_off();
}
