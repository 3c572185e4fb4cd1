"""Parts of a lab sent to workers whose machines lack them; :mod:`lab_arrives` is their end of it.

Invariants: a part is packed once, from what was found to be as it was built, however many machines
get it; a transfer ends with its worker, and with the campaign.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from model.errors import RunError
from testbed.cluster.lab_arrives import PIECE_BYTES, fetch, put
from testbed.machine import cache, carried, contents, scratch

if TYPE_CHECKING:
    from distributed import Client, Future

_SENDING = ".sending-"
#: How long it is waited before a worker that does something else is asked again.
BUSY_S = 0.2
#: Before cells of others, which may be many.
_PRIORITY = 100


class Parts:
    """The parts of labs, as archives beside them once they are asked for, until it is closed."""

    def __init__(self) -> None:
        self._held, self._lock = contextlib.ExitStack(), threading.Lock()
        self._packed: dict[Path, Path] = {}

    def close(self) -> None:
        """Remove the archives."""
        with self._lock:
            self._held.close()

    def packed(self, part: Path) -> Path:
        """Return a part's archive; raise :class:`RunError` if it is not as built, or no room is."""
        with self._lock:
            if part not in self._packed:
                try:
                    room = self._held.enter_context(scratch.scratch(cache.root(), _SENDING))
                except OSError as error:
                    raise RunError(
                        "a lab cannot be packed", where=str(part), got=str(error)
                    ) from error
                carried.pack([part], room / part.name, lambda _what, _done: None)
                self._packed[part] = room / part.name
            return self._packed[part]


def send(client: Client, worker: str, part: Path, packed: Path, goes_on: Callable[[], bool]) -> str:
    """Send a part to a worker; return why it has not got it, empty if it has.

    ``goes_on`` is whether the worker is still there and the campaign has not ended.

    Raises:
        OSError: the worker is gone.
        RunError: it went while it unpacked, or the campaign ended.
    """
    transfer = uuid.uuid4().hex
    future = client.submit(
        fetch, transfer, part.name, contents.digest(part), key=f"groundtruth-lab-{transfer}",
        pure=False, workers=[worker], priority=_PRIORITY,
    )  # fmt: skip
    try:
        with packed.open("rb") as source:
            piece = b"-"
            while piece and not future.done():
                piece = source.read(PIECE_BYTES)
                _hand_over(client, worker, transfer, piece, future, goes_on)
        while not future.done():
            _check(goes_on)
            time.sleep(BUSY_S)
        return str(future.result())
    finally:
        future.cancel()


def _hand_over(
    client: Client, worker: str, transfer: str, piece: bytes, future: Future,
    goes_on: Callable[[], bool],
) -> None:  # fmt: skip
    """Hand a piece over once it is taken: the worker may have to end a cell first."""
    while not future.done():
        _check(goes_on)
        (taken,) = client.run(put, transfer, piece, workers=[worker]).values()
        if taken:
            return
        time.sleep(BUSY_S)


def _check(goes_on: Callable[[], bool]) -> None:
    if not goes_on():
        raise RunError("a lab on its way came to no end", got="the worker or the campaign is gone")
