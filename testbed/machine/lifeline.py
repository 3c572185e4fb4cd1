"""End this process at once when another one dies, however that dies and whatever this one does.

The other holds the writing end of a pipe into which nobody writes. The kernel closes it with its
holder, and sends SIGIO to whoever asked for it at the reading end; its default ends a process
without any of its threads, or a lock of the interpreter, having a say.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal


def tie(lifeline: int) -> None:
    """Tie this process to a pipe, by its reading end, which must stay open."""
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:  # it was closed before
        os.kill(os.getpid(), signal.SIGIO)
