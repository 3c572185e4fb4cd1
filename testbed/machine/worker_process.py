"""A process beside the calling thread that does its computing: with a lock of the interpreter, a
core and threads of its own, so that parsing one cell never holds up another.

Invariants: what is called and what it takes and gives can be pickled; a project's error or any
other is raised here as it was there; the process ends when its pipe closes, and at once when the
caller is killed: what it writes could be in the way of who goes on.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from model.errors import RunError
from testbed.machine import lifeline

Result = TypeVar("Result")
#: Forked from a server with one thread, never from this process, which has many.
_CONTEXT = multiprocessing.get_context("forkserver")
#: What parsing and checking take a second to load: the server has it for all.
_LOADED_ONCE = ["collectors.tables.write", "testbed.campaign.calibration_checks"]
#: Ended by a terminal along with the caller, who waits for what is begun.
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENDED_WITHIN_S = 10.0


class WorkerProcess:
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
            # Bytes, not send(): a view of its buffer in an error's frames is an error of its own.
            pipe.send_bytes(pickle.dumps((function, args)))
            succeeded, value = pickle.loads(pipe.recv_bytes())
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            status = self.close()
            killed = status == -signal.SIGKILL
            raise RunError(
                "the process that computes was ended from outside",
                where=function.__name__,
                got=f"signal {-status}" if status < 0 else f"status {status}",
                hint="the machine may be short of memory" if killed else "",
            ) from error
        if not succeeded:
            raise value
        return value  # type: ignore[no-any-return]  # pickled

    def _start(self) -> Connection:
        ours, theirs = _CONTEXT.Pipe()
        tied, self._lifeline = _CONTEXT.Pipe(duplex=False)
        _CONTEXT.set_forkserver_preload(_LOADED_ONCE)
        self._process = _CONTEXT.Process(
            target=_serve, args=(theirs, tied, sorted(os.sched_getaffinity(0))), daemon=True
        )
        self._process.start()
        theirs.close()
        tied.close()
        return ours

    def end(self) -> None:
        """End the process in the midst of a call, which then raises; for another thread to call."""
        if self._pipe is not None:
            self._lifeline.close()

    def close(self) -> int:
        """End the process, if there is one; return its status, or less than 0 a signal's number."""
        if self._pipe is None:
            return 0
        self._pipe.close()
        self._pipe = None
        self._process.join(ENDED_WITHIN_S)
        status = self._process.exitcode
        if status is None:
            self._process.kill()
            self._process.join()
        self._process.close()
        self._lifeline.close()
        return -signal.SIGKILL if status is None else status


def _serve(pipe: Connection, tied: Connection, cpus: list[int]) -> None:
    """Answer calls until the pipe closes."""
    lifeline.tie(tied.fileno())
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    # Before polars works for the first time: it makes as many threads as there are cores then.
    os.sched_setaffinity(0, cpus)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            pipe.send_bytes(_answer(pipe.recv_bytes()))


def _answer(call: bytes) -> bytes:
    """Return what a call gives or raises, pickled, and nothing that cannot be taken out again."""
    try:
        function, args = pickle.loads(call)
        return pickle.dumps((True, function(*args)))
    except Exception as error:  # noqa: BLE001  # raised again where the call came from
        error.add_note(traceback.format_exc())
        return _pickled(error)


def _pickled(error: Exception) -> bytes:
    try:
        answer = pickle.dumps((False, error))
        pickle.loads(answer)
    except Exception:  # noqa: BLE001  # an error of any kind may not be made for it
        told = RunError("the process that computes failed", got=f"{type(error).__name__}: {error}")
        told.add_note("".join(error.__notes__))
        return pickle.dumps((False, told))
    return answer
