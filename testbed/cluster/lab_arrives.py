"""Parts of a lab that a worker's machine lacks, taken from the campaign that needs them.

A task on the worker unpacks a part while its archive comes, in pieces, over the connections that
there are; a piece is taken once there is room for it, so neither end nor the scheduler holds much.

Invariants: nothing is used of which not every byte was read and found to have the digest that was
asked for; a part is in the cache whole or not at all; of several workers with one cache one takes a
part and the others wait for it; what is cut short leaves nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Iterator

from model.errors import GroundtruthError, RunError
from testbed.cluster.waiting import wanted
from testbed.machine import cache, carried

#: How large a piece is, and how many wait for the disk.
PIECE_BYTES = 1 << 20
MOST_WAITING = 4
#: How long no piece may come.
SILENT_S = 300.0
_LOOK_S = 0.5
_FULL_S = 0.01
#: What arrives in this process now, by the name of its transfer.
_arriving: dict[str, queue.Queue[bytes]] = {}


def fetch(transfer: str, part: str, digest: str) -> str:
    """Take a part of this name and digest into the cache; return why not. Called by dask."""
    with _receiving(transfer) as pieces, wanted() as cancelled:
        if (cache.root() / part).is_dir():
            return ""
        try:
            source = _Source(pieces, cancelled)
            carried.unpack_from(source, {part: digest}, lambda _what, _done: None)
        except (GroundtruthError, OSError) as error:
            return str(error)
    return ""


async def put(transfer: str, piece: bytes) -> bool:
    """Hand a piece over, the last one empty; return whether it was taken. Called by dask."""
    while (pieces := _arriving.get(transfer)) is not None:
        try:
            pieces.put_nowait(piece)
        except queue.Full:
            await asyncio.sleep(_FULL_S)
        else:
            return True
    return False


@contextlib.contextmanager
def _receiving(transfer: str) -> Iterator[queue.Queue[bytes]]:
    # What a task does when it is run elsewhere after a loss has no name here, and so gets nothing.
    pieces = _arriving[transfer] = queue.Queue(MOST_WAITING)
    try:
        yield pieces
    finally:
        del _arriving[transfer]


class _Source:
    """What arrives, as a file that is read once."""

    def __init__(self, pieces: queue.Queue[bytes], cancelled: threading.Event) -> None:
        self._pieces, self._cancelled = pieces, cancelled
        self._left = b""
        self._ended = False

    def read(self, count: int) -> bytes:
        """Return so many bytes, fewer only at the end; raise :class:`RunError` if none come."""
        while len(self._left) < count and not self._ended:
            piece = self._next()
            self._ended = not piece
            self._left += piece
        found, self._left = self._left[:count], self._left[count:]
        return found

    def _next(self) -> bytes:
        deadline_s = time.monotonic() + SILENT_S
        while time.monotonic() < deadline_s and not self._cancelled.is_set():
            with contextlib.suppress(queue.Empty):
                return self._pieces.get(timeout=_LOOK_S)
        raise RunError("the lab came to no end", got="nobody sends it any more")
