// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What tests run in packetdrill's place: it does what its script says, a line
 * each.
 *
 * usage: packetdrill [--OPTION[=VALUE] | -D NAME=VALUE]... SCRIPT
 *   fail TEXT   end as packetdrill does where a line of its script is not met
 *   options     print the options it was given
 *   say N       print N lines of 100 bytes
 *   packets N   send N datagrams through a device of its own
 *   sleep S     let S seconds pass
 *   tick        wait for ten ticks with times(2), as packetdrill does
 *   run COMMAND run a command
 *   spin        compute for ever
 *   crash       end by a signal
 *   reboot      end the kernel
 *   +0 > PACKET expect a packet, as of a kernel whose packets all say "ack 1"
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/times.h>
#include <unistd.h>

static void run(const char *command)
{
	if (system(command) != 0)
		fprintf(stderr, "failed: %s\n", command);
}

static void send_packets(int count)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	run("ip link add tun0 type dummy && ip addr add 192.0.2.2/24 dev tun0 "
	    "&& ip link set tun0 up");
	inet_pton(AF_INET, "192.0.2.1", &to.sin_addr);
	for (int i = 0; i < count; i++)
		sendto(fd, "packet", 6, 0, (struct sockaddr *)&to, sizeof(to));
	close(fd);
}

static void wait_for_ticks(void)
{
	clock_t last = times(NULL);

	for (int ticks = 0; ticks < 10;) {
		clock_t now = times(NULL);

		ticks += now != last;
		last = now;
	}
}

static void act(const char *word, const char *rest, int argc, char **argv)
{
	if (!strcmp(word, "options")) {
		for (int i = 1; i < argc - 1; i++)
			puts(argv[i]);
	} else if (!strcmp(word, "say")) {
		for (int i = 0; i < atoi(rest); i++)
			printf("%099d\n", i);
	} else if (!strcmp(word, "packets")) {
		send_packets(atoi(rest));
	} else if (!strcmp(word, "sleep")) {
		sleep((unsigned int)atoi(rest));
	} else if (!strcmp(word, "tick")) {
		wait_for_ticks();
	} else if (!strcmp(word, "run")) {
		run(rest);
	} else if (!strcmp(word, "spin")) {
		for (volatile int i = 0;; i++)
			;
	} else if (!strcmp(word, "crash")) {
		raise(SIGSEGV);
	} else if (!strcmp(word, "reboot")) {
		reboot(RB_AUTOBOOT);
	}
}

int main(int argc, char **argv)
{
	const char *script = argv[argc - 1];
	char line[1024], word[32] = "";
	FILE *file = fopen(script, "r");
	int number = 0;

	if (!file) {
		perror(script);
		return 1;
	}
	while (fgets(line, sizeof(line), file)) {
		int length = 0;

		number++;
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%31s %n", word, &length) != 1)
			continue;
		if (!strcmp(word, "fail")) {
			fprintf(stderr, "%s:%d: %s\n", script, number,
				line + length);
			return 1;
		}
		if (line[length] == '>' && !strstr(line, " ack 1 ")) {
			fprintf(stderr, "%s:%d: expected another packet\n",
				script, number);
			return 1;
		}
		act(word, line + length, argc, argv);
	}
	return 0;
}
