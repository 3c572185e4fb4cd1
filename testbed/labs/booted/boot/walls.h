/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What confines the lab's process besides its view of the file system. */
#ifndef WALLS_H
#define WALLS_H

/* Say what is wrong on standard error and exit with status 71. */
void die(const char *what, const char *where) __attribute__((noreturn));

/*
 * Let this process and all it starts only read the image and write the cell
 * and the private temporary folders. No-op where the host has no Landlock.
 */
void close_file_system(void);

/* Allow the calls a User-Mode kernel makes, or an emulator; refuse all others.
 */
void close_system_calls(int may_trace, int emulator);

#endif
