"""Lines of JSON between a session and who asks it: said, read, and where nobody is there."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

#: After so long without a word the other end is gone.
SILENCE_S = 60.0


class Lost(Exception):  # noqa: N818  # no error: how a session ends
    """Nobody is at the other end any more."""


def say(kind: str, **content: Any) -> None:
    """Say one line."""
    text = f"{json.dumps({'say': kind, **content})}\n".encode()
    try:
        while text:
            text = text[os.write(1, text) :]
    except OSError as error:
        raise Lost from error


@dataclass
class Lines:
    """Lines of a descriptor as they come; what was read and not yet taken is kept."""

    handle: int
    left: bytes = b""
    whole: deque[str] = field(default_factory=deque)

    def read(self) -> None:
        """Read once; raise :class:`Lost` at the end."""
        content = os.read(self.handle, 1 << 16)
        if not content:
            raise Lost
        *lines, self.left = (self.left + content).split(b"\n")
        self.whole += (line.decode(errors="replace") for line in lines)

    def taken(self) -> Iterator[str]:
        """Take the whole lines that are there, each as it is asked for."""
        while self.whole:
            yield self.whole.popleft()


def tell_clock(number: int) -> None:
    """Say what both clocks show now."""
    before_ns = time.monotonic_ns()
    real_ns = time.time_ns()
    after_ns = time.monotonic_ns()
    middle_ns = (before_ns + after_ns) // 2
    say("clock", number=number, monotonic_ns=middle_ns, ahead_ns=real_ns - middle_ns)


def tell(line: str) -> None:
    """Say what was undone; nobody need hear it."""
    with contextlib.suppress(Lost):
        say("undone", line=line)
