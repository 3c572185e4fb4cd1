"""Do the same to many things at once, in one process per core; keep on when one of them fails.

Each process has a lock of the interpreter, a core and threads of its own, so that nothing one of
them computes holds up another. They are not a pool's: when a process is killed a pool ends the
others in the midst of their work, and cannot tell whose it was, nor by which signal.

Invariants: when :func:`each` returns or raises, nothing of it still runs; its processes end at
once when this one is killed: what they write could be in the way of who goes on. What is acted on,
and what becomes of it, can be pickled; an error comes here as it was there.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
import math
import multiprocessing
import multiprocessing.spawn
import multiprocessing.util
import os
import pickle
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeVar

from model.errors import GroundtruthError, MachineError, RunError
from testbed.machine import lifeline, scratch, sent_errors

Item = TypeVar("Item")
Result = TypeVar("Result")
#: Set in a process of :func:`each` once it is to end, so that what it waits for can be ended first.
CANCELLED = threading.Event()
#: How long that may take; also a process that has nothing to do.
ENDED_WITHIN_S = 3.0
#: How long the main thread sleeps at most before it looks for an interrupt.
WAKE_S = 0.25
#: Forked from a server with one thread, never from this process, which may have many.
#: Where the server's socket lies while this process lives; a killed one's is swept by the next.
PREFIX = "groundtruth-workers-"
#: How many bytes an address of a socket can have; of it, what stands behind the temporary folder.
_MOST_ADDRESS, _BEHIND = 107, len(f"/{PREFIX}01234567/pymp-01234567/listener-01234567")
#: Where the server's socket lies if the temporary folder's name is too long.
_SHORT = Path("/tmp")
#: At exit, after multiprocessing has removed what it made in there.
LAST = -200
_CONTEXT = multiprocessing.get_context("forkserver")
#: What parsing and checking take a second to load: the server has it for all.
_LOADED_ONCE = ["collectors.tables.write", "testbed.campaign.calibration_checks"]
#: Memory that polars lets go goes back to the machine soon: many cells are parsed in one process
#: after the other. Not at once, which takes half as long again as the parsing itself.
_ALLOCATORS = {"_RJEM_MALLOC_CONF": "dirty_decay_ms:500,muzzy_decay_ms:0"}
#: What a server that was killed gives until it can be seen to have ended, and for how long at most.
_ENDS = (ConnectionRefusedError, ConnectionResetError, BrokenPipeError, EOFError)
_ENDED_S, _LOOK_S = 5.0, 0.02
#: What multiprocessing gives for the status of a process whose server was killed.
_UNKNOWN = 255
_CANCEL = signal.SIGUSR1
#: Sent by a terminal to the caller as well, who decides what is to end.
_PASSED_BY = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def each(
    items: Iterable[Item],
    act: Callable[[Item], Result],
    *,
    name: Callable[[Item], str],
    jobs: int,
    ended: Callable[[Item, Result | GroundtruthError | OSError], None],
    timeout_s: float = math.inf,
    bound: bool = True,
) -> None:
    """Call ``act`` with every item, in ``jobs`` processes.

    Args:
        items: what to act on, begun in this order.
        act: a module's function, or a partial one; may raise a project's error or an ``OSError``:
            then the others go on.
        name: says where an item was lost with its process.
        jobs: how many at once.
        ended: called here with each item that ended, and what ``act`` returned or raised: a
            ``MachineError`` if its process was killed, which another one follows, or if there could
            be none.
        timeout_s: how long one item may take.
        bound: whether each process has a core of its own; else they have all of them.
    """
    todo = collections.deque(items)
    allowed = sorted(os.sched_getaffinity(0))
    # Two campaigns of one job each should not share the first core.
    first = os.getpid() % len(allowed)
    cores = itertools.cycle(allowed[first:] + allowed[:first])
    own = ({core} if bound else {*allowed} for core in itertools.islice(cores, max(1, jobs)))
    workers = [_Worker(few, timeout_s) for few in own]
    busy: dict[_Worker, Item] = {}
    try:
        while todo or busy:
            for worker in workers:
                if todo and worker not in busy:
                    busy[worker] = todo.popleft()
                    try:
                        worker.begin(act, busy[worker])
                    except (RunError, OSError) as error:  # no room for a process, for this item
                        ended(busy.pop(worker), error)
            wait([worker.pipe for worker in busy], WAKE_S)
            for worker in [worker for worker in busy if worker.has_ended()]:
                item = busy.pop(worker)
                ended(item, _expected(worker.answer(name(item))))
    finally:
        # Also reached by an interrupt: who acts sees the event and ends.
        for worker in workers:
            worker.dismiss()
        for worker in workers:
            worker.end()


def _expected(answer: Any) -> Any:
    if isinstance(answer, Exception) and not isinstance(answer, GroundtruthError | OSError):
        raise answer
    return answer


class _Worker:
    """A process bound to cores, begun when it is needed, and again if it was killed.

    A lab's kernel and its programs take turns and never run at once. On one core a turn costs a
    context switch; on two it costs waking an idle core, which takes many times as long.
    """

    pipe: Connection

    def __init__(self, cores: set[int], timeout_s: float) -> None:
        self._cores = cores
        self._timeout_s = timeout_s
        self._runs = False

    def begin(self, act: Callable[[Item], object], item: Item) -> None:
        """Call a function in the process.

        Raises:
            MachineError: there can be no process.
        """
        # Bytes, not send(): a view of its buffer in an error's frames is an error of its own.
        call = pickle.dumps((act, item))
        if not self._runs:
            self._start_surely()
        self._deadline_s = time.monotonic() + self._timeout_s
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # its answer tells
            self.pipe.send_bytes(call)

    def _start_surely(self) -> None:
        """Start the process, also where the server was killed a moment ago.

        Its socket closes before it can be waited for: multiprocessing takes it for running then.
        """
        until_s = time.monotonic() + _ENDED_S
        while not self._runs:
            try:
                self._start()
            except MachineError as error:
                if not isinstance(error.__cause__, _ENDS) or time.monotonic() > until_s:
                    raise
                time.sleep(_LOOK_S)

    def _start(self) -> None:
        _settle_down()
        for name, value in _ALLOCATORS.items():
            os.environ.setdefault(name, value)  # the server is started with these
        self.pipe, theirs = _CONTEXT.Pipe()
        tied, self._lifeline = _CONTEXT.Pipe(duplex=False)
        _CONTEXT.set_forkserver_preload(_LOADED_ONCE)
        modules = _own_modules()
        own = {name: os.environ.get(name) for name in modules}
        self._process = _CONTEXT.Process(
            target=_serve, args=(theirs, tied, self._cores, own), daemon=True
        )
        try:
            _set(modules)  # the server is started with these too
            try:
                _begin_server()
                self._process.start()
            finally:
                _set(own)
            self._handle = os.pidfd_open(self._process.pid or 0)
            self._runs = True
        except BaseException as error:
            self._lifeline.close()  # the kernel ends it, if it has begun
            if isinstance(error, OSError | EOFError):
                raise MachineError("cannot start a process", got=repr(error)) from error
            raise
        theirs.close()
        tied.close()

    def has_ended(self) -> bool:
        """Return whether there is an answer, or will be none."""
        return self.pipe.poll() or time.monotonic() > self._deadline_s

    def answer(self, where: str) -> Any:
        """Return what the function gave or raised, or the error that tells why it did neither."""
        if not self.pipe.poll():
            self.end(0)
            return RunError("never ends", where=where, wanted=f"within {self._timeout_s:g} s")
        try:
            return sent_errors.unpacked(pickle.loads(self.pipe.recv_bytes()))
        except (EOFError, OSError):
            status = self.end()
        got = f"signal {-status}" if status < 0 else f"status {status}"
        if status == _UNKNOWN:
            got = "nobody knows how: status 255, or what it was forked from was ended too"
        return MachineError(
            "the process that worked on it was ended from outside",
            where=where,
            got=got,
            hint="the machine may be short of memory"
            if status in (-signal.SIGKILL, _UNKNOWN)
            else "",
        )

    def dismiss(self) -> None:
        """Let the process end, and first what it waits for."""
        if self._runs:
            self.pipe.close()
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, _CANCEL)

    def end(self, within_s: float = ENDED_WITHIN_S) -> int:
        """End the process; return its status, or less than 0 a signal's number."""
        if not self._runs:
            return 0
        self.pipe.close()
        try:
            wait([self._handle], within_s)
        finally:  # also where an interrupt ends the waiting
            self._lifeline.close()  # the kernel ends it
        wait([self._handle])
        self._runs = False
        os.close(self._handle)
        self._process.join()
        status = self._process.exitcode
        self._process.close()
        return status or 0


def sweep() -> None:
    """Remove what killed processes left for their workers."""
    scratch.sweep(_place(), PREFIX)


def _place() -> Path:
    """Return the folder for the server's socket."""
    usual = Path(tempfile.gettempdir())
    return usual if len(os.fsencode(usual)) + _BEHIND <= _MOST_ADDRESS else _SHORT


@functools.cache
def _settle_down() -> None:
    """Have the server's socket, which lies in a folder of its own, where it can be swept."""
    usual = tempfile.gettempdir()
    place = contextlib.ExitStack()
    folder = place.enter_context(scratch.scratch(_place(), PREFIX))
    multiprocessing.util.Finalize(None, place.close, exitpriority=LAST)
    tempfile.tempdir = str(folder)
    try:
        multiprocessing.util.get_temp_dir()
    finally:
        tempfile.tempdir = usual


def _begin_server() -> None:
    """Have the server run, which a terminal's interrupt would otherwise end while it loads.

    It and its children begin with that signal blocked; a child lets it in once it knows what to do.
    """
    resource_tracker.ensure_running()  # lets the signal in again where it has to begin
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _own_modules() -> dict[str, str | None]:
    """Return the settings by which a server finds modules where this process does.

    It would look in the working folder first, where another copy of the project can lie, and what
    it has loaded is what all of its children have.
    """
    places = multiprocessing.spawn.get_preparation_data("")["sys_path"]
    return {"PYTHONPATH": os.pathsep.join(places), "PYTHONSAFEPATH": "1"}


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _serve(
    pipe: Connection, tied: Connection, cores: set[int], variables: Mapping[str, str | None]
) -> None:
    """Answer calls until the pipe closes; ``variables`` are those of whoever calls."""
    lifeline.tie(tied.fileno())
    _set(variables)
    for number in _PASSED_BY:  # if they were ignored, labs would ignore them as well
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(_CANCEL, lambda *_: CANCELLED.set())
    # Before polars works for the first time: it makes as many threads as there are cores then.
    os.sched_setaffinity(0, cores)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            pipe.send_bytes(_answer(pipe.recv_bytes()))


def _answer(call: bytes) -> bytes:
    """Return what a call gives or raises, pickled, and nothing that cannot be taken out again."""
    try:
        act, item = pickle.loads(call)
        return pickle.dumps(act(item))
    except Exception as error:  # noqa: BLE001  # handed on where the call came from
        error.add_note(traceback.format_exc())
        return sent_errors.pickled(error)
