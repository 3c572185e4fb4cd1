"""Who a confined program is on the host: never root, and nobody else's user id.

When root starts a sandbox, what runs inside gets a user id of its own that no account and no other
sandbox has. What root lends it (the folder it may write) is that id's while it runs. An ordinary
user's sandbox runs as that user, in a user namespace.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.errors import UnsupportedError

UID_MAP = Path("/proc/self/uid_map")
#: Above all ids that systemd, containers and packages hand out; thread ids are below 2^22.
FIRST_UNUSED, MOST_THREADS = 1_879_048_192, 1 << 22
#: Of the 65 536 ids of a container: below nobody's, above those of its accounts.
FIRST_OF_CONTAINER, MOST_OF_CONTAINER = 61_184, 4_096
#: What the sandbox does not change: the user who starts it, who is not root.
STARTER = 0


@dataclass(frozen=True)
class Mapped:
    """A range of user ids that exist here, and what they are one namespace further out."""

    first: int
    outside: int
    count: int

    def holds(self, first: int, count: int) -> bool:
        """Return whether all these ids exist."""
        return self.first <= first and first + count <= self.first + self.count


#: What there is where no namespace takes any away.
ALL_IDS = Mapped(0, 0, (1 << 32) - 1)


def mapped(text: str) -> list[Mapped]:
    """Read ``/proc/self/uid_map``."""
    return [Mapped(*map(int, line.split())) for line in text.splitlines() if line.strip()]


def choose(ranges: Sequence[Mapped], thread: int) -> int:
    """Return an id for a sandbox started by root in that thread, or ``STARTER``.

    Raises:
        UnsupportedError: root here is root outside, and there is nobody else to be.
    """
    for first, count in ((FIRST_UNUSED, MOST_THREADS), (FIRST_OF_CONTAINER, MOST_OF_CONTAINER)):
        if any(mapped.holds(first, count) for mapped in ranges):
            return first + thread % count
    if any(mapped.first == 0 and mapped.outside != 0 for mapped in ranges):
        return STARTER  # an ordinary user who is called root here
    raise UnsupportedError(
        "root has no other user id to run a lab as",
        where=str(UID_MAP),
        wanted=f"user ids from {FIRST_OF_CONTAINER}",
        got="; ".join(f"{one.count} from {one.first}" for one in ranges) or "none",
        hint="run as an ordinary user, or where all user ids exist",
    )


def of_sandbox() -> int:
    """Return the user id for a sandbox of this thread; ``STARTER`` where a user starts it."""
    if os.geteuid() != 0:
        return STARTER
    try:
        ranges = mapped(UID_MAP.read_text())
    except FileNotFoundError as error:
        if not UID_MAP.with_name("stat").exists():  # there is no /proc to tell
            raise UnsupportedError(
                "cannot see which user ids exist here", got=str(error)
            ) from error
        ranges = [ALL_IDS]  # a kernel without user namespaces
    except OSError as error:
        raise UnsupportedError("cannot see which user ids exist here", got=str(error)) from error
    return choose(ranges, threading.get_native_id())


def lend(folder: Path, uid: int) -> None:
    """Make a tree that user's own; nobody else may be writing in it. Links are not followed."""
    if os.geteuid() != 0:
        return  # it is the user's already
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(Path(place, name), uid, uid, follow_symlinks=False)
    os.chown(folder, uid, uid, follow_symlinks=False)


@contextlib.contextmanager
def lent(folder: Path) -> Iterator[int]:
    """Lend a tree to a sandbox's user, which is returned, and take it back."""
    uid = of_sandbox()
    lend(folder, uid)
    try:
        yield uid
    finally:
        lend(folder, os.geteuid())
