"""Cells given to a cluster's workers, and taken back; what :mod:`testbed.machine.workers` is here.

Invariants: each cell ends here once, with its folder or with why there is none, whatever becomes of
workers; only as many are given away as there are workers for, so that what is lost with a scheduler
is what ran. Cells go to workers that were asked and have the campaign's code and labs: another one
would fail a cell in no time and so be given all others. A cell whose worker was lost is given to
others, by dask or, where none of those is left that it was for, again by this; it is the machine's
fault when workers were lost with it too often.
"""

from __future__ import annotations

import collections
import contextlib
import logging
import math
import queue
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from model import run_folder
from model.errors import GroundtruthError, MachineError, RunError, StudyError
from testbed.campaign import attempts
from testbed.campaign.run_cell import Executed, from_store
from testbed.campaign.run_cells import Task
from testbed.cluster import address, parcel
from testbed.cluster.address import Address
from testbed.cluster.on_worker import unfit, work
from testbed.cluster.parcel import Parcel, Returned, needs
from testbed.store.cells import Shelf

if TYPE_CHECKING:
    from distributed import Client, Future

#: How long a scheduler may take to answer.
CONNECT_S = 10.0
#: How long there may be no worker at all, with cells to run.
NO_WORKER_S = 60.0
#: How long the main thread sleeps at most before it looks for an interrupt, and at the workers.
WAKE_S = 0.25
LOOK_S = 1.0
#: How many folders are looked for in the store at once, and how many unpacked and checked; how many
#: wait for that at most while more are given away.
AT_ONCE = 4
MOST_ARRIVING = 32

Ended = Callable[[Task, "Executed | GroundtruthError | OSError"], None]


class GoneError(RunError):
    """There is no scheduler any more."""


class FullError(RunError):
    """A worker, by its address, has no room on its disk."""

    worker = ""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A scheduler, and what it is asked with."""

    address: Address

    def each(self, todo: Sequence[Task], ended: Ended) -> None:
        """Run cells on the cluster's workers; ``ended`` is called here with each that ended.

        Raises:
            RunError: there is no such scheduler, it went away, or it has no workers.
            UnsupportedError: its keys are missing.
            StudyError: a cell belongs on this machine alone.
        """
        if real := [task for task in todo if task.lab.properties.clock == "real"]:
            raise StudyError(
                "a lab in real time on a cluster", where=f"LAB={real[0].lab.properties.name}",
                wanted="a lab whose cells can run on any machine, such as virtual",
                hint="leave out CLUSTER",
            )  # fmt: skip
        with _connected(self.address) as client:
            _Giving(client, self.address, todo, ended).all()


@contextlib.contextmanager
def _connected(where: Address) -> Any:
    from distributed import Client  # when needed: it takes a second to load

    # What it would say of a lost scheduler, with all of its frames, is said here in a line.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(
            str(where), security=address.security(where), timeout=CONNECT_S, name="groundtruth",
            set_as_default=False,
        )  # fmt: skip
    except (OSError, TimeoutError) as error:
        raise RunError(
            "no scheduler answers", where=str(where), got=str(error)[:300],
            hint="start one there: groundtruth scheduler",
        ) from error  # fmt: skip
    try:
        yield client
    finally:
        client.close(timeout=CONNECT_S)


class _Giving:
    """Cells on their way to workers and back."""

    def __init__(self, client: Client, where: Address, tasks: Sequence[Task], ended: Ended) -> None:
        self._client, self._where, self._ended = client, where, ended
        self._todo = collections.deque(tasks)
        #: What is looked for in the store here, what is to be given away, what is away and which
        #: workers it may go to, and what is being taken over.
        self._sought: dict[Any, Task] = {}
        self._ready: collections.deque[tuple[Task, Parcel]] = collections.deque()
        self._given: dict[Future, tuple[Task, Parcel, frozenset[str]]] = {}
        self._arriving: dict[Any, Task] = {}
        #: Whatever of these has come to its end.
        self._news: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._needs = needs(tasks)
        #: Threads of each worker that can be given cells; why each other one cannot.
        self._fit: dict[str, int] = {}
        self._unfit: dict[str, str] = {}
        self._looked_s, self._alone_since_s = -math.inf, time.monotonic()

    def all(self) -> None:
        """Give all cells away and take them back."""
        seeking, unpacking = ThreadPoolExecutor(AT_ONCE), ThreadPoolExecutor(AT_ONCE)
        try:
            while self._todo or self._sought or self._ready or self._given or self._arriving:
                self._look()
                self._seek(seeking)
                while self._ready and self._may_give():
                    self._give(*self._ready.popleft())
                for one in self._ended_now():
                    self._take(one, unpacking)
        finally:
            # Also reached by an interrupt: workers end what nobody waits for.
            with contextlib.suppress(OSError, TimeoutError, CancelledError):
                self._client.cancel(list(self._given), force=True)
            for pool in (seeking, unpacking):
                pool.shutdown(cancel_futures=True)

    def _may_give(self) -> bool:
        """Return whether a worker has nothing to do, and what comes back is taken over in time."""
        return len(self._given) < sum(self._fit.values()) and len(self._arriving) < MOST_ARRIVING

    def _seek(self, seeking: ThreadPoolExecutor) -> None:
        """Have the next cells looked for in the store here, as far ahead as there is use of it."""
        while self._todo and len(self._sought) + len(self._ready) < AT_ONCE:
            task = self._todo.popleft()
            self._await(seeking.submit(_sought, task), self._sought, task)

    def _await(self, one: Any, among: dict[Any, Task], task: Task) -> None:
        among[one] = task
        one.add_done_callback(self._news.put)

    def _take(self, one: Any, unpacking: ThreadPoolExecutor) -> None:
        """Go on with a cell that was looked for, has come back, or was taken over."""
        if one in self._given:
            task, *_ = self._given.pop(one)
            self._await(unpacking.submit(_arrived, one, task, self._where), self._arriving, task)
        elif one in self._arriving:
            self._end(self._arriving.pop(one), one)
        elif one in self._sought:
            task = self._sought.pop(one)
            try:
                found: Executed | Parcel = one.result()
            except (GroundtruthError, OSError) as error:
                self._ended(task, error)
            else:
                if isinstance(found, Executed):
                    self._ended(task, found)
                else:
                    self._ready.append((task, found))

    def _look(self) -> None:
        """See which workers there are, now and then, and ask new ones whether they are fit."""
        now_s = time.monotonic()
        if now_s - self._looked_s < LOOK_S:
            return
        self._looked_s = now_s
        if self._client.status != "running":
            raise _gone(self._where)
        try:
            threads = self._client.nthreads()
            if new := [one for one in threads if one not in self._fit and one not in self._unfit]:
                said = self._client.run(unfit, self._needs, workers=new, on_error="return")
                self._unfit |= {one: str(why) for one, why in said.items() if why}
        except (OSError, TimeoutError) as error:
            raise _gone(self._where) from error
        self._fit = {one: count for one, count in threads.items() if one not in self._unfit}
        self._give_again()
        self._check_some(now_s)

    def _give_again(self) -> None:
        """Take back what could only go to workers that are no more."""
        for future, (task, given, allowed) in list(self._given.items()):
            if not allowed & self._fit.keys() and not future.done():
                del self._given[future]
                future.cancel()
                self._ready.appendleft((task, given))

    def _check_some(self, now_s: float) -> None:
        if self._fit or not self._ready:  # what the store here has needs none
            self._alone_since_s = now_s
        elif now_s - self._alone_since_s > NO_WORKER_S:
            why = "; ".join(dict.fromkeys(self._unfit.values()))
            raise RunError(
                "no worker that can run these cells", where=str(self._where),
                wanted=f"one within {NO_WORKER_S:.0f} s", got=why[:500] or "none at all",
                hint=f"groundtruth worker {self._where}; needs: docs/guides/campaigns.md",
            )  # fmt: skip

    def _give(self, task: Task, given: Parcel) -> None:
        allowed = frozenset(self._fit)
        key = f"groundtruth-{given.id}-{uuid.uuid4().hex}"  # no other campaign has it
        future = self._client.submit(work, given, key=key, pure=False, workers=sorted(allowed))
        self._given[future] = task, given, allowed
        future.add_done_callback(self._news.put)

    def _ended_now(self) -> list[Any]:
        """Return what has come to its end; wait for something for a moment."""
        found = []
        with contextlib.suppress(queue.Empty):
            found.append(self._news.get(timeout=WAKE_S))
            while True:
                found.append(self._news.get_nowait())
        return found

    def _end(self, task: Task, arrived: Any) -> None:
        try:
            how = arrived.result()
        except GoneError:  # no cell's fault
            raise
        except FullError as error:
            self._unfit[error.worker] = str(error)
            self._fit.pop(error.worker, None)
            self._todo.appendleft(task)
            return
        except (GroundtruthError, OSError) as error:
            how = error
        self._ended(task, how)


def _sought(task: Task) -> Executed | Parcel:
    """Finish a cell that the store here has; else return what a worker needs for it."""
    planned = task.planned
    attempts.set_aside(task.run, planned.id)
    folder = run_folder.cell_folder(task.run, planned.id)
    there = from_store(planned.cell, folder, task.lab, task.store)
    return there or parcel.parcel(
        task.run, planned.id, planned.cell, task.lab, is_kept=_shelf(task) is not None
    )


def _shelf(task: Task) -> Shelf | None:
    """Return a cell's place in the store here, if there is one and it is of use."""
    lab = task.lab.properties
    return task.store.shelf(task.planned.cell, lab) if task.store and lab.repeatable else None


def _arrived(future: Future, task: Task, where: Address) -> Executed:
    """Take a cell's folder over; raise why it has not come."""
    from distributed import CancelledError as TakenBackError
    from distributed.scheduler import KilledWorker

    name = f"cell {task.planned.id}"
    try:
        returned: Returned = future.result()
    except KilledWorker as error:
        raise MachineError(
            "the workers that ran it were lost", where=name, got=str(error)[:300],
            hint="they may be short of memory",
        ) from error  # fmt: skip
    except TakenBackError as error:
        raise _gone(where) from error
    finally:
        future.release()
    if returned.is_full:
        full = FullError("a worker's disk is full", where=returned.worker, got=str(returned.error))
        full.worker = returned.address
        raise full
    shelf = _shelf(task)
    parcel.take_over(returned, task.run, task.planned.id, task.planned.cell, shelf)
    said = (*returned.said, *(shelf.said if shelf else ()))
    return Executed(from_store=returned.from_store, said=said)


def _gone(where: Address) -> GoneError:
    return GoneError(
        "the scheduler went away", where=str(where),
        hint="finished cells are kept; start it again, then groundtruth resume",
    )  # fmt: skip
