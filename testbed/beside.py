"""A process beside the calling thread that does its computing: with a lock of the interpreter, a
core and threads of its own, so that parsing one cell never holds up another.

Invariants: what is called and what it takes and gives can be pickled; a project's error or any
other is raised here as it was there; the process ends when its pipe closes, so also when the
caller is killed.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from testbed.errors import RunError

Result = TypeVar("Result")
#: Forked from a server with one thread, never from this process, which has many.
_CONTEXT = multiprocessing.get_context("forkserver")
#: What parsing and judging take a second to load: the server has it for all.
_LOADED_ONCE = ["collectors.tables_parse", "testbed.judge"]
#: Ended by a terminal along with the caller, who waits for what is begun.
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENDED_WITHIN_S = 10.0


class Beside:
    """One such process; made by the thread that will use it, and bound to that thread's cores."""

    def __init__(self) -> None:
        self._pipe: Connection | None = None

    def call(self, function: Callable[..., Result], *args: Any) -> Result:
        """Return what a function of a module gives, called in the process.

        Raises:
            RunError: the process was killed; the next call starts another.
        """
        try:
            pipe = self._pipe = self._pipe or self._start()
            pipe.send((function, args))
            succeeded, value = pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            self.close()
            raise RunError(
                "the process that computes was ended from outside",
                where=function.__name__,
                hint="the machine may be short of memory",
            ) from error
        if not succeeded:
            raise value
        return value  # type: ignore[no-any-return]  # pickled

    def _start(self) -> Connection:
        ours, theirs = _CONTEXT.Pipe()
        _CONTEXT.set_forkserver_preload(_LOADED_ONCE)
        self._process = _CONTEXT.Process(
            target=_serve, args=(theirs, sorted(os.sched_getaffinity(0))), daemon=True
        )
        self._process.start()
        theirs.close()
        return ours

    def close(self) -> None:
        """End the process, if there is one."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
            self._process.join(ENDED_WITHIN_S)
            self._process.close()


def _serve(pipe: Connection, cpus: list[int]) -> None:
    """Answer calls until the pipe closes."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    # Before polars works for the first time: it makes as many threads as there are cores then.
    os.sched_setaffinity(0, cpus)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            function, args = pipe.recv()
            try:
                answer = True, function(*args)
            except Exception as error:  # noqa: BLE001  # raised again where the call came from
                error.add_note(traceback.format_exc())
                answer = False, error
            pipe.send(answer)
