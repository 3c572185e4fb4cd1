"""Run in the place of the lab's kernel: try what a kernel turned hostile could try.

Prints one JSON object. Opens files for writing, and closes them again; never writes.
"""

import ctypes
import errno
import json
import os
import signal
import time
from collections.abc import Callable

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET = 0x10000000, 0x20000, 0x40000000


def call(number: int, *arguments: object) -> str:
    """Make a system call; return the name of its error, or "done"."""
    ctypes.set_errno(0)
    result = libc.syscall(
        number, *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)
    )
    return errno.errorcode[ctypes.get_errno()] if result == -1 else "done"


def clone(flags: int) -> str:
    """Start a process; its end is at once, if there is one."""
    ctypes.set_errno(0)
    pid = libc.syscall(56, ctypes.c_long(flags | signal.SIGCHLD), 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    if pid > 0:
        os.waitpid(pid, 0)
        return "done"
    return errno.errorcode[ctypes.get_errno()]


def attempt(function: Callable[..., object], *arguments: object) -> str:
    """Call; return the name of the error, or "done"."""
    try:
        function(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "done"


def openable(place: str) -> tuple[list[str], int]:
    """Return all below a folder that opens for writing, and how much there is."""
    found: list[str] = []
    seen = 0
    for folder, folders, files in os.walk(place):
        seen += len(files)
        for name in files:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                continue
            for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND):
                try:
                    os.close(os.open(path, flags | os.O_NONBLOCK))
                except OSError:
                    continue
                found.append(path)
                break
        for name in [".", *folders]:
            path = os.path.normpath(os.path.join(folder, name))
            if os.path.islink(path):
                continue
            try:
                os.close(os.open(path, os.O_TMPFILE | os.O_WRONLY, 0o600))
            except OSError:
                continue
            found.append(path)
    return sorted(set(found)), seen


writable, seen = openable("/")
own = "/cell/own"
os.close(os.open(own, os.O_CREAT | os.O_WRONLY, 0o600))
buffer = ctypes.create_string_buffer(256)
child = os.fork()
if child == 0:
    time.sleep(600)
    os._exit(0)
attempts = {
    "socket of the network": call(41, 2, 1, 0),
    "socket of a file": call(41, 1, 1, 0),
    "socket of netlink": call(41, 16, 3, 0),
    "abstract socket": call(42, 0, b"\1\0\0name", 7),
    "trace": call(101, 16, os.getppid(), 0, 0),
    "trace, newer": call(101, 0x4206, os.getppid(), 0, 0),
    "trace one of its own that did not ask": call(101, 16, child, 0, 0),
    "read another's memory": call(310, 1, buffer, 1, buffer, 1, 0),
    "mount": call(165, b"none", b"/tmp", b"tmpfs", 0, 0),
    "unmount": call(166, b"/cell", 2),
    "mount, newer": call(428, -100, b"/", 1),
    "pivot_root": call(155, b"/", b"/cell"),
    "chroot": call(161, b"/cell"),
    "unshare users": call(272, CLONE_NEWUSER),
    "unshare mounts": call(272, CLONE_NEWNS),
    "clone users": clone(CLONE_NEWUSER),
    "clone network": clone(CLONE_NEWNET),
    "clone3": call(435, buffer, 88),
    "setns": call(308, 0, 0),
    "named pipe": call(133, b"/cell/pipe", 0o010600, 0),
    "device": call(133, b"/cell/null", 0o020600, 0x103),
    "symbolic link": call(88, b"/etc/passwd", b"/cell/link"),
    "hard link": call(86, own.encode(), b"/cell/other"),
    "hard link to the image": call(86, b"/etc/passwd", b"/cell/passwd"),
    "set-user-id": call(90, own.encode(), 0o4755),
    "set-group-id at birth": call(257, -100, b"/cell/born", os.O_CREAT | os.O_WRONLY, 0o2755),
    "chmod of the image": call(90, b"/etc/passwd", 0o666),
    "chown": call(92, own.encode(), 0, 0),
    "chown of the image": call(92, b"/etc/passwd", os.getuid(), os.getgid()),
    "times of the image": attempt(os.utime, "/etc/passwd"),
    "remove from the image": attempt(os.unlink, "/etc/passwd"),
    "make in the image": attempt(os.mkdir, "/etc/made"),
    "make beside the cell": attempt(os.mkdir, "/made"),
    "make in the code": attempt(os.mkdir, "/gt/made"),
    "extended attribute": call(188, own.encode(), b"user.x", b"y", 1, 0),
    "become root": call(105, 0),
    "become another group": call(106, 0),
    "keys": call(250, 0, -3, 0),
    "add a key": call(248, b"user", b"name", b"x", 1, -3),
    "bpf": call(321, 5, buffer, 72),
    "performance counters": call(298, buffer, 0, -1, -1, 0),
    "io_uring": call(425, 1, buffer),
    "page faults of its own": call(323, 0),
    "load a module": call(175, buffer, 1, b""),
    "another kernel": call(246, 0, 0, 0, 0),
    "reboot": call(169, 0xFEE1DEAD, 672274793, 0x89ABCDEF, 0),
    "swap": call(167, b"/cell/own", 0),
    "accounting": call(163, b"/cell/own"),
    "kernel's log": call(103, 3, buffer, 256),
    "quotas": call(179, 0, 0, 0, 0),
    "files by handle": call(304, 0, buffer, 0),
    "signal to the first process": attempt(os.kill, 1, 0),
    "more memory for scripts": call(135, 0x0400000),
    "type for the terminal": call(16, 1, 0x5412, b"x"),
    "set the clock": call(227, 0, buffer),
    "host's name": call(170, b"name", 4),
    "larger files": call(160, 1, (ctypes.c_ulong * 2)(1 << 50, 1 << 50)),
}
os.kill(child, signal.SIGKILL)
print(
    json.dumps(
        {
            "writable": writable,
            "seen": seen,
            "attempts": attempts,
            "ids": [os.getuid(), os.geteuid(), os.getgid(), os.getegid()],
            "proc": os.listdir("/proc"),
            "sys": os.listdir("/sys"),
            "handles": [n for n in range(3, 100) if attempt(os.fstat, n) == "done"],
            "environment": sorted(os.environ),
        }
    )
)
