"""Load an eBPF program into the kernel of a lab: bpf(2) itself, for there is no library for it.

Standard library only. Every failure is a :class:`RunError` with the kernel's reason.
"""

from __future__ import annotations

import ctypes
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from model.errors import RunError

#: The system call's number on x86-64, the only machine User-Mode Linux is built for here.
SYS_BPF = 321
MAP_CREATE, MAP_LOOKUP, MAP_UPDATE, PROG_LOAD, OBJ_PIN, INFO_BY_FD = 0, 1, 2, 5, 6, 15
MAP_TYPE_ARRAY, PROG_TYPE_SOCKET_FILTER, PROG_TYPE_SCHED_CLS = 2, 1, 3
INSTRUCTION_BYTES = 8
LICENSE = b"GPL"
LOG_BYTES = 1 << 16
# Arguments of the commands (union bpf_attr in linux/bpf.h), as far as they are used.
MAP_CREATE_ARGS = struct.Struct("=IIIII")  # type, key bytes, value bytes, entries, flags
MAP_VALUE_ARGS = struct.Struct("=IxxxxQQQ")  # map, key, value, flags
# type, instructions, their address, licence, log level, log bytes, log, kernel version, flags
PROG_LOAD_ARGS = struct.Struct("=IIQQIIQII")
OBJ_PIN_ARGS = struct.Struct("=QII")  # path, descriptor, flags
INFO_ARGS = struct.Struct("=IIQ")  # descriptor, bytes, address
PROG_INFO = struct.Struct("=II8s")  # type, id, tag: the beginning of struct bpf_prog_info


@dataclass(frozen=True, kw_only=True)
class Program:
    """A loaded program: its descriptor, and the number and digest the kernel gave it."""

    fd: int
    id: int
    tag: str


def create_value(size_bytes: int) -> int:
    """Return the descriptor of a new array map with one value, all zero."""
    args = MAP_CREATE_ARGS.pack(MAP_TYPE_ARRAY, 4, size_bytes, 1, 0)
    return _call(MAP_CREATE, args, "cannot create a map")


def read_value(map_fd: int, size_bytes: int) -> bytes:
    """Return the only value of a map."""
    key, value = ctypes.create_string_buffer(4), ctypes.create_string_buffer(size_bytes)
    args = MAP_VALUE_ARGS.pack(map_fd, ctypes.addressof(key), ctypes.addressof(value), 0)
    _call(MAP_LOOKUP, args, "cannot read a map")
    return value.raw


def write_value(map_fd: int, content: bytes) -> None:
    """Set the only value of a map, which must be as long as that."""
    key, value = ctypes.create_string_buffer(4), ctypes.create_string_buffer(content, len(content))
    args = MAP_VALUE_ARGS.pack(map_fd, ctypes.addressof(key), ctypes.addressof(value), 0)
    _call(MAP_UPDATE, args, "cannot write a map")


def load_classifier(instructions: bytes) -> Program:
    """Load a tc classifier; the kernel's verifier must accept it."""
    return _load(PROG_TYPE_SCHED_CLS, instructions)


def load_socket_filter(instructions: bytes) -> Program:
    """Load what decides how much of a packet a socket gets; the verifier must accept it."""
    return _load(PROG_TYPE_SOCKET_FILTER, instructions)


def _load(kind: int, instructions: bytes) -> Program:
    code, licence = ctypes.create_string_buffer(instructions), ctypes.create_string_buffer(LICENSE)
    log = ctypes.create_string_buffer(LOG_BYTES)

    def arguments(level: int, log_bytes: int, log_at: int) -> bytes:
        return PROG_LOAD_ARGS.pack(
            kind, len(instructions) // INSTRUCTION_BYTES, ctypes.addressof(code),
            ctypes.addressof(licence), level, log_bytes, log_at, 0, 0,
        )  # fmt: skip

    what = "the kernel refuses a program"
    try:
        fd = _call(PROG_LOAD, arguments(0, 0, 0), what)
    except RunError:
        # Once more with the verifier's log: its end says why. A log that overflows is an error.
        fd = _call(PROG_LOAD, arguments(1, LOG_BYTES, ctypes.addressof(log)), what, log)
    info = ctypes.create_string_buffer(PROG_INFO.size)
    args = INFO_ARGS.pack(fd, PROG_INFO.size, ctypes.addressof(info))
    _call(INFO_BY_FD, args, "cannot tell of a program")
    _, number, tag = PROG_INFO.unpack(info.raw)
    return Program(fd=fd, id=number, tag=tag.hex())


def pin(fd: int, path: Path) -> None:
    """Give a program a name in a mounted bpf file system, where other programs find it."""
    name = ctypes.create_string_buffer(os.fsencode(path))
    _call(OBJ_PIN, OBJ_PIN_ARGS.pack(ctypes.addressof(name), fd, 0), f"cannot pin {path}")


def _call(
    command: int, args: bytes, what: str, log: ctypes.Array[ctypes.c_char] | None = None
) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(args, len(args))
    result = int(libc.syscall(SYS_BPF, command, buffer, len(args)))
    if result < 0:
        number = ctypes.get_errno()
        said = log.value.decode(errors="replace").strip()[-400:] if log is not None else ""
        got = os.strerror(number) + (f": {said}" if said else "")
        raise RunError(what, where=f"bpf({command})", got=got)
    return result
