"""Whether what failed in a kept copy may be the fault of what earlier builds left there.

A whole build takes minutes, so an error is the source's if it is told of files of the source alone
and all of the source is as it was laid. Anything else may come of leavings: a file in the way of a
commit's, one of the source's that a makefile wrote, an object or a list that make takes up.
What is not found: a file that was left and that the source's own file includes.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from testbed.labs.virtual.own_source import build_failure
from testbed.labs.virtual.own_source.export import LINK, Listing

#: What the lab's own scripts write of a source: the timer frequency's prompt.
EDITED = frozenset({b"arch/um/Kconfig"})
_SHA1_DIGITS = 40


def may_be_why(log: str, source: Path, files: Listing) -> bool:
    """Return whether a build may have failed by more than the files of its source.

    Args:
        log: what the build said.
        source: the copy in which it ran; nothing runs there any more.
        files: what of it was laid there.
    """
    named = build_failure.files(log)
    if named is None or not {os.fsencode(name) for name in named} <= files.keys():
        return True
    return next(differing(source, files), None) is not None


def differing(source: Path, files: Listing) -> Iterator[bytes]:
    """Yield files that are not in the copy as they were laid; no link is followed.

    Linux is read in some seconds.
    """
    there = set(_files(source))
    for path, (mode, blob) in files.items():
        if path in EDITED:
            continue
        if path not in there or _blob(source, path, link=mode == LINK, like=blob) != blob:
            yield path


def _files(source: Path) -> Iterator[bytes]:
    top = os.fsencode(source)
    for place, folders, names in os.walk(top):
        below = place[len(top) + 1 :]
        for name in (*folders, *names):
            yield os.path.join(below, name)  # noqa: PTH118


def _blob(source: Path, path: bytes, *, link: bool, like: str) -> str:
    """Return what git calls a file's content, "" for none; ``like`` has as many digits."""
    place = os.path.join(os.fsencode(source), path)  # noqa: PTH118
    try:
        if link:
            return _named(os.readlink(place), like)  # noqa: PTH115
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        return _named(file.read(), like) if stat.S_ISREG(about.st_mode) else ""


def _named(content: bytes, like: str) -> str:
    state = hashlib.sha1() if len(like) == _SHA1_DIGITS else hashlib.sha256()
    state.update(b"blob %d\0" % len(content))
    state.update(content)
    return state.hexdigest()
