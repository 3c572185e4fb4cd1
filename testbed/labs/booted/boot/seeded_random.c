// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * getrandom() from a seed, preloaded into the User-Mode Linux process.
 *
 * UML fills its whole entropy pool through the C library's getrandom(), so
 * answering that call from a seeded generator fixes everything random in the
 * guest: ports, initial sequence numbers, hash seeds, netem's own seeds. The
 * generator is SplitMix64 (Steele, Lea and Flood, 2014); it needs to be
 * repeatable and well spread, not secret.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#define SEED_VARIABLE "LAB_SEED"

static uint64_t state;
static int seeded;

static void seed_or_die(void)
{
	const char *text = getenv(SEED_VARIABLE);
	char *end;

	if (text == NULL || *text == '\0') {
		fprintf(stderr, "seeded_random: %s is not set\n",
			SEED_VARIABLE);
		abort();
	}
	state = strtoull(text, &end, 10);
	if (*end != '\0') {
		fprintf(stderr, "seeded_random: %s: wanted a number, got %s\n",
			SEED_VARIABLE, text);
		abort();
	}
	seeded = 1;
}

static uint64_t next_u64(void)
{
	uint64_t z;

	state += UINT64_C(0x9e3779b97f4a7c15);
	z = state;
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	unsigned char *out = buffer;
	uint64_t word = 0;
	size_t i;

	(void)flags;
	if (!seeded)
		seed_or_die();
	for (i = 0; i < length; i++) {
		if (i % 8 == 0)
			word = next_u64();
		out[i] = (unsigned char)(word >> (8 * (i % 8)));
	}
	return (ssize_t)length;
}
