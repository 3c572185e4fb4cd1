// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a guest may learn of the host's files and machine, preloaded into the
 * User-Mode Linux process.
 *
 * hostfs hands the host's metadata on to the guest: times, owners, inode
 * numbers, the sizes of folders, the order of their entries, free space. All of
 * it changes when the same files are copied, read or put on another disk, and
 * some of it moves the guest's clock. So the calls hostfs makes are answered
 * here with what the files' names and contents decide, and nothing else: fixed
 * times, owner 0, modes that only tell whether a file can be run, inodes
 * numbered as they are first seen, entries in order of their names, fixed
 * space. The same for what the kernel asks of the machine: its name and the
 * processor's features.
 *
 * No libc function that allocates is used: the kernel's own memory lies where
 * the heap would grow.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

/* 2026-01-01T00:00:00Z, the date the guest's clock starts at. */
#define EPOCH_S INT64_C(1767225600)
#define BLOCK_BYTES 4096
#define SECTOR_BYTES 512
#define FREE_BLOCKS 1000000

/* Files, numbered from 1 as they are first seen: open addressing, doubled
 * before it is full. The time of birth tells a new file from one whose inode it
 * got. */
struct known_file {
	uint64_t device, inode, born_ns, number;
};

static struct known_file *known;
static size_t known_room, known_count;

static void *pages_or_die(size_t bytes)
{
	void *place = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (place == MAP_FAILED)
		abort();
	return place;
}

static struct known_file *slot_of(const struct known_file *wanted)
{
	size_t at = (size_t)((wanted->inode ^ (wanted->device << 32) ^
			      wanted->born_ns) *
			     UINT64_C(0x9e3779b97f4a7c15)) >>
		    20;
	struct known_file *slot;

	for (;; at++) {
		slot = &known[at & (known_room - 1)];
		if (slot->number == 0 || (slot->inode == wanted->inode &&
					  slot->device == wanted->device &&
					  slot->born_ns == wanted->born_ns))
			return slot;
	}
}

static void grow_known(void)
{
	struct known_file *old = known;
	size_t old_room = known_room, i;

	known_room = old_room ? old_room * 2 : 4096;
	known = pages_or_die(known_room * sizeof(*known));
	for (i = 0; i < old_room; i++)
		if (old[i].number != 0)
			*slot_of(&old[i]) = old[i];
	if (old)
		munmap(old, old_room * sizeof(*old));
}

static uint64_t number_of(const struct statx *file)
{
	struct known_file wanted = {
	    .device = makedev(file->stx_dev_major, file->stx_dev_minor),
	    .inode = file->stx_ino,
	    .born_ns = (uint64_t)file->stx_btime.tv_sec * 1000000000 +
		       file->stx_btime.tv_nsec,
	};
	struct known_file *slot;

	if (known_count * 2 >= known_room)
		grow_known();
	slot = slot_of(&wanted);
	if (slot->number == 0) {
		*slot = wanted;
		slot->number = ++known_count;
	}
	return slot->number;
}

/* Only whether its owner may run a file is the file's own; the rest is umask.
 */
static unsigned int plain_mode(unsigned int mode)
{
	if (S_ISLNK(mode))
		return S_IFLNK | 0777;
	if (S_ISDIR(mode) || (mode & S_IXUSR))
		return (mode & S_IFMT) | 0755;
	return (mode & S_IFMT) | 0644;
}

static int64_t sectors_of(uint64_t size)
{
	return (int64_t)((size + BLOCK_BYTES - 1) / BLOCK_BYTES *
			 (BLOCK_BYTES / SECTOR_BYTES));
}

int statx(int at, const char *restrict path, int flags, unsigned int mask,
	  struct statx *restrict out)
{
	const struct statx_timestamp when = {.tv_sec = EPOCH_S};

	mask |= STATX_BASIC_STATS | STATX_BTIME;
	if (syscall(SYS_statx, at, path, flags, mask, out) < 0)
		return -1;
	out->stx_ino = number_of(out);
	out->stx_dev_major = 0;
	out->stx_dev_minor = 1;
	out->stx_mode = (uint16_t)plain_mode(out->stx_mode);
	if (S_ISDIR(out->stx_mode))
		out->stx_size = BLOCK_BYTES;
	out->stx_blocks = (uint64_t)sectors_of(out->stx_size);
	out->stx_blksize = BLOCK_BYTES;
	out->stx_nlink = 1;
	out->stx_uid = out->stx_gid = 0;
	out->stx_atime = out->stx_mtime = out->stx_ctime = when;
	out->stx_btime = when;
	out->stx_attributes = out->stx_attributes_mask = 0;
	return 0;
}

static int plain_stat(int at, const char *path, int flags, struct stat64 *out)
{
	struct statx file;

	if (statx(at, path, flags, 0, &file) < 0)
		return -1;
	memset(out, 0, sizeof(*out));
	out->st_ino = file.stx_ino;
	out->st_dev = makedev(file.stx_dev_major, file.stx_dev_minor);
	out->st_rdev = makedev(file.stx_rdev_major, file.stx_rdev_minor);
	out->st_mode = file.stx_mode;
	out->st_nlink = file.stx_nlink;
	out->st_size = (off64_t)file.stx_size;
	out->st_blocks = (blkcnt64_t)file.stx_blocks;
	out->st_blksize = BLOCK_BYTES;
	out->st_atim.tv_sec = out->st_mtim.tv_sec = out->st_ctim.tv_sec =
	    EPOCH_S;
	return 0;
}

int stat64(const char *restrict path, struct stat64 *restrict out)
{
	return plain_stat(AT_FDCWD, path, 0, out);
}

int lstat64(const char *restrict path, struct stat64 *restrict out)
{
	return plain_stat(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, out);
}

int fstat64(int fd, struct stat64 *out)
{
	return plain_stat(fd, "", AT_EMPTY_PATH, out);
}

int statfs64(const char *path, struct statfs64 *out)
{
	if (syscall(SYS_statfs, path, out) < 0)
		return -1;
	/* The type is for the kernel alone: it looks for memory to live in. */
	memset(&out->f_fsid, 0, sizeof(out->f_fsid));
	out->f_bsize = out->f_frsize = BLOCK_BYTES;
	out->f_blocks = out->f_files = 2 * FREE_BLOCKS;
	out->f_bfree = out->f_bavail = out->f_ffree = FREE_BLOCKS;
	out->f_namelen = NAME_MAX;
	return 0;
}

/* A folder's entries, read whole and put in order of their names. */
struct folder {
	size_t bytes, count, at;
	struct dirent64 *entries[];
};

static int by_name(const void *left, const void *right)
{
	const struct dirent64 *const *one = left, *const *two = right;

	return strcmp((*one)->d_name, (*two)->d_name);
}

/* Heapsort: qsort() may allocate. */
static void sift(struct dirent64 **all, size_t at, size_t count)
{
	struct dirent64 *moved = all[at];
	size_t child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count &&
		    by_name(&all[child], &all[child + 1]) < 0)
			child++;
		if (by_name(&moved, &all[child]) >= 0)
			break;
		all[at] = all[child];
		at = child;
	}
	all[at] = moved;
}

static void sort_entries(struct dirent64 **all, size_t count)
{
	struct dirent64 *last;
	size_t i;

	for (i = count / 2; i-- > 0;)
		sift(all, i, count);
	for (i = count; i-- > 1;) {
		last = all[i];
		all[i] = all[0];
		all[0] = last;
		sift(all, 0, i);
	}
}

/* Return all entries of an open folder in pages of our own, *room bytes of
 * them.
 */
static char *entries_read(int fd, size_t *room, size_t *used)
{
	char *text, *more;
	long got;

	*room = 1 << 16;
	*used = 0;
	text = pages_or_die(*room);
	while ((got = syscall(SYS_getdents64, fd, text + *used,
			      *room - *used)) != 0) {
		if (got < 0) {
			munmap(text, *room);
			return NULL;
		}
		*used += (size_t)got;
		if (*room - *used < sizeof(struct dirent64)) {
			more = pages_or_die(2 * *room);
			memcpy(more, text, *used);
			munmap(text, *room);
			text = more;
			*room *= 2;
		}
	}
	return text;
}

static void number_entry(int fd, struct dirent64 *entry)
{
	struct statx file;

	if (statx(fd, entry->d_name, AT_SYMLINK_NOFOLLOW, 0, &file) == 0)
		entry->d_ino = file.stx_ino;
	else
		entry->d_ino = 1;
}

static struct folder *folder_of(int fd, const char *text, size_t used)
{
	struct dirent64 *entry;
	struct folder *made;
	size_t at, count = 0, bytes;

	for (at = 0; at < used; at += entry->d_reclen, count++)
		entry = (struct dirent64 *)(uintptr_t)(text + at);
	bytes = sizeof(*made) + count * sizeof(made->entries[0]) + used;
	made = pages_or_die(bytes);
	made->bytes = bytes;
	made->count = count;
	memcpy(&made->entries[count], text, used);
	text = (char *)&made->entries[count];
	for (at = 0, count = 0; at < used; at += entry->d_reclen) {
		entry = (struct dirent64 *)(uintptr_t)(text + at);
		made->entries[count++] = entry;
	}
	sort_entries(made->entries, count);
	for (at = 0; at < count; at++) {
		number_entry(fd, made->entries[at]);
		made->entries[at]->d_off = (off64_t)(at + 1);
	}
	return made;
}

DIR *opendir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), kept;
	struct folder *made = NULL;
	size_t room, used;
	char *text;

	if (fd < 0)
		return NULL;
	text = entries_read(fd, &room, &used);
	if (text != NULL) {
		made = folder_of(fd, text, used);
		munmap(text, room);
	}
	kept = errno;
	close(fd);
	errno = kept;
	return (DIR *)made;
}

struct dirent64 *readdir64(DIR *stream)
{
	struct folder *from = (struct folder *)stream;

	return from->at < from->count ? from->entries[from->at++] : NULL;
}

void seekdir(DIR *stream, long place)
{
	((struct folder *)stream)->at = (size_t)place;
}

long telldir(DIR *stream)
{
	return (long)((struct folder *)stream)->at;
}

int closedir(DIR *stream)
{
	return munmap(stream, ((struct folder *)stream)->bytes);
}

int uname(struct utsname *out)
{
	memset(out, 0, sizeof(*out));
	strcpy(out->sysname, "Linux");
	strcpy(out->nodename, "lab");
	strcpy(out->release, "6.12.0");
	strcpy(out->version, "#1");
	strcpy(out->machine, "x86_64");
	return 0;
}

/* The processor's features: those that every 64-bit x86 has. */
FILE *fopen64(const char *restrict path, const char *restrict mode)
{
	static char features[] = "flags\t\t: fpu tsc cx8 cmov mmx fxsr sse "
				 "sse2\ncache_alignment\t: 64\n";

	if (strcmp(path, "/proc/cpuinfo") == 0)
		return fmemopen(features, sizeof(features) - 1, "r");
	return fopen(path, mode);
}
