"""Do the same to many things at once, on threads, one to a core; keep on when one of them fails.

Invariant: when :func:`each` returns or raises, nothing of it still runs. Its threads wait for labs;
what they compute goes to a process beside each of them (:func:`in_process`); interrupts end those.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from model.errors import GroundtruthError
from testbed.machine.worker_process import WorkerProcess

Item = TypeVar("Item")
Result = TypeVar("Result")
#: How long the main thread sleeps at most before it looks for an interrupt.
WAKE_S = 0.25
_this_thread = threading.local()


def each(
    items: Iterable[Item],
    act: Callable[[Item], object],
    *,
    jobs: int,
    cancelled: threading.Event,
    ended: Callable[[Item, Exception | None], None],
) -> None:
    """Call ``act`` with every item, on ``jobs`` threads.

    Args:
        items: what to act on, begun in this order.
        act: may raise a project's error or an ``OSError``: then the others go on.
        jobs: how many at once.
        cancelled: set on an interrupt (whatever exception it is), so that ``act`` can end soon.
        ended: called on this thread with each item that ended, and what it raised.
    """
    allowed = sorted(os.sched_getaffinity(0))
    # Two campaigns of one job each should not share the first core.
    first = os.getpid() % len(allowed)
    cpus = itertools.cycle(allowed[first:] + allowed[:first])
    processes: list[WorkerProcess] = []
    with (
        contextlib.ExitStack() as made,
        ThreadPoolExecutor(
            max_workers=jobs,
            thread_name_prefix="cell",
            initializer=_begin,
            initargs=(cpus, made, processes),
        ) as pool,
    ):
        pending: dict[Future[object], Item] = {pool.submit(act, item): item for item in items}
        try:
            while pending:
                done, _ = wait(pending, timeout=WAKE_S, return_when=FIRST_COMPLETED)
                for future in done:
                    ended(pending.pop(future), _expected(future))
        except BaseException:
            # Also reached by an interrupt: who acts sees the event and ends, then the pool closes.
            cancelled.set()
            for future in pending:
                future.cancel()
            for process in processes:
                process.end()
            raise


def in_process(function: Callable[..., Result], *args: object) -> Result:
    """Return what a function gives, called in the process beside a thread of :func:`each`.

    Called here where there is none. Raises what the function raises.
    """
    process: WorkerProcess | None = getattr(_this_thread, "process", None)
    return function(*args) if process is None else process.call(function, *args)


def _begin(cpus: Iterator[int], made: contextlib.ExitStack, processes: list[WorkerProcess]) -> None:
    """Bind the calling worker thread, and so the lab it runs, to one core; promise it a process.

    The lab's kernel and its programs take turns and never run at once. On one core a turn costs
    a context switch; on two it costs waking an idle core, which takes many times as long.
    """
    os.sched_setaffinity(0, {next(cpus)})
    _this_thread.process = WorkerProcess()
    processes.append(_this_thread.process)
    made.callback(_this_thread.process.close)


def _expected(future: Future[object]) -> Exception | None:
    error = future.exception()
    if error is None or isinstance(error, GroundtruthError | OSError):
        return error
    raise error
