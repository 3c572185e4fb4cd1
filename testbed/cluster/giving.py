"""Cells on their way to a cluster's workers and back.

Invariants: each cell ends here once, with its folder or with why there is none, whatever becomes of
workers; only as many are given away as there are workers for, so that what is lost with a scheduler
is what ran. A cell whose worker was lost is given to others, by dask or, where none is left that it
was for, again by this; it is the machine's fault when workers were lost with it too often, the last
time while it was the only one.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import queue
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.errors import GroundtruthError
from testbed.campaign.run_cell import Executed
from testbed.campaign.run_cells import Task
from testbed.cluster.address import Address, ClusterError
from testbed.cluster.artefacts import Artefacts
from testbed.cluster.cells_here import (
    GoneError,
    LostError,
    UnfitError,
    arrived,
    given,
    gone,
    lost,
    sought,
)
from testbed.cluster.crew import Crew
from testbed.cluster.on_worker import work
from testbed.cluster.parcel import Parcel

if TYPE_CHECKING:
    from distributed import Client, Future

#: How long there may be no worker at all, with cells to run.
NO_WORKER_S = 60.0
#: How often all workers that a cell was for may be lost before the cell is taken for the reason. Of
#: fewer workers than four dask never sees as many lost with a cell as make it give up.
MOST_LOST = 4
#: After so many it waits until all others have ended, and is then tried alone: one that ends whole
#: machines would have those beside it taken for the reason as well.
LAST_ALONE = MOST_LOST - 1
#: How long the main thread sleeps at most before it looks for an interrupt, and at the workers.
WAKE_S = 0.25
#: How many folders are looked for in the store at once, and how many unpacked and checked; how many
#: wait for that at most while more are given away.
AT_ONCE = 4
MOST_ARRIVING = 32

Ended = Callable[[Task, "Executed | GroundtruthError | OSError"], None]


@dataclass(kw_only=True, eq=False)
class _Away:
    """A cell that was given away, and the workers it may go to."""

    task: Task
    packed: Parcel
    allowed: frozenset[str]
    future: Future
    #: None of those is left, and it has not come back.
    is_lost: bool = False

    @property
    def cell(self) -> tuple[Path, str]:
        """Its run and its name there."""
        return self.task.run, self.packed.id


class Giving:
    """Cells on their way to workers and back."""

    def __init__(
        self, client: Client, where: Address, crew: Crew, through: Artefacts | None,
        tasks: Sequence[Task], ended: Ended,
    ) -> None:  # fmt: skip
        self._client, self._where, self._through, self._tell = client, where, through, ended
        self._todo = collections.deque(tasks)
        #: What is looked for in the store here, what is to be given away, what is away, and what is
        #: being taken over; that may be lost as well, with the worker that has it.
        self._sought: dict[Any, Task] = {}
        self._ready: collections.deque[tuple[Task, Parcel]] = collections.deque()
        #: What goes away alone, after all others.
        self._last: collections.deque[tuple[Task, Parcel]] = collections.deque()
        self._given: dict[Future, _Away] = {}
        self._arriving: dict[Any, _Away] = {}
        #: How often each cell was taken back from workers that are no more.
        self._lost: collections.Counter[tuple[Path, str]] = collections.Counter()
        #: Nobody waits for cells any more.
        self._ends = threading.Event()
        #: Whatever of these has come to its end.
        self._news: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._crew = crew
        self._alone_since_s = time.monotonic()

    def all(self) -> None:
        """Give all cells away and take them back."""
        from distributed.client import ClosedClientError  # loaded by whoever made the client

        seeking, unpacking = ThreadPoolExecutor(AT_ONCE), ThreadPoolExecutor(AT_ONCE)
        try:
            while self._others_are_left() or self._last:
                self._look()
                self._seek(seeking)
                while self._may_give() and (one := self._next()):
                    self._give(*one)
                for news in self._ended_now():
                    self._take(news, unpacking)
        except ClosedClientError as error:
            raise gone(self._where) from error
        finally:
            self._ends.set()
            # Also reached by an interrupt: workers end what nobody waits for. What is being fetched
            # has a moment to arrive, whatever has become of the scheduler (cells_here.arrived).
            coming = [one.future for one in self._arriving.values() if not one.future.done()]
            with contextlib.suppress(OSError, CancelledError, ClosedClientError):
                self._client.cancel([*self._given, *coming], force=True)
            for pool in (seeking, unpacking):
                pool.shutdown(cancel_futures=True)

    def _may_give(self) -> bool:
        """Return whether a worker has nothing to do, and what comes back is taken over in time."""
        fit = self._crew.fit()
        busy = sum(1 for one in self._given.values() if one.allowed & fit.keys())
        return busy < sum(fit.values()) and len(self._arriving) < MOST_ARRIVING

    def _others_are_left(self) -> bool:
        return bool(self._todo or self._sought or self._ready or self._given or self._arriving)

    def _next(self) -> tuple[Task, Parcel] | None:
        """Take what is to be given away next, if there is any that may be now."""
        if self._ready:
            return self._ready.popleft()
        if self._last and not self._others_are_left():
            return self._last.popleft()
        return None

    def _seek(self, seeking: ThreadPoolExecutor) -> None:
        """Have the next cells looked for in the store here, as far ahead as there is use of it."""
        while self._todo and len(self._sought) + len(self._ready) < AT_ONCE:
            task = self._todo.popleft()
            one = seeking.submit(sought, task, self._through)
            self._sought[one] = task
            one.add_done_callback(self._news.put)

    def _take(self, one: Any, unpacking: ThreadPoolExecutor) -> None:
        """Go on with a cell that was looked for, has come back, or was taken over."""
        if one in self._given:
            away = self._given.pop(one)
            arriving = unpacking.submit(arrived, one, away.task, self._where, self._ends)
            self._arriving[arriving] = away
            arriving.add_done_callback(self._news.put)
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
        """See which workers there are, now and then."""
        if self._client.status != "running":
            raise gone(self._where)
        try:
            looked = self._crew.look()
        except (OSError, TimeoutError) as error:
            raise gone(self._where) from error
        if looked:
            self._give_again()
            self._check_some()

    def _give_again(self) -> None:
        """Take back what could only go to workers that are no more."""
        there = self._crew.there()
        for one in [*self._given.values(), *self._arriving.values()]:
            if one.is_lost or one.allowed & there or one.future.done():
                continue
            one.is_lost = True
            one.future.cancel()
            if self._given.pop(one.future, None):  # who waits for another tells of it
                self._give_lost(one)

    def _give_lost(self, away: _Away, gave_up: LostError | None = None) -> None:
        """Give a cell away once more whose workers are no more, unless that was too often.

        ``gave_up`` is why dask gave it up: it has lost as many workers as make it do so.
        """
        lost_before = self._lost[away.cell]
        self._lost[away.cell] = max(lost_before + 1, LAST_ALONE if gave_up else 0)
        if self._lost[away.cell] < LAST_ALONE:
            self._ready.append((away.task, away.packed))  # others first: it may be the reason
        elif self._lost[away.cell] == LAST_ALONE:
            self._last.append((away.task, away.packed))
        else:
            why = gave_up or lost(away.task, f"{MOST_LOST} times all that it was for")
            self._ended(away.task, why)

    def _check_some(self) -> None:
        now_s = time.monotonic()
        # What the store here has needs no worker, and who is asked may be one.
        waits = (self._ready or self._last) and not self._given
        if self._crew.fit() or self._crew.is_awaited() or not waits:
            self._alone_since_s = now_s
        elif now_s - self._alone_since_s > NO_WORKER_S:
            raise ClusterError(
                "no worker that can run these cells", where=str(self._where),
                wanted=f"one within {NO_WORKER_S:.0f} s",
                got=self._crew.why_not()[:500] or "none at all",
                hint=f"groundtruth worker {self._where}; needs: docs/guides/campaigns.md",
            )  # fmt: skip

    def _give(self, task: Task, packed: Parcel) -> None:
        allowed = frozenset(self._crew.fit())
        if self._lost[task.run, packed.id] == LAST_ALONE:
            allowed = frozenset(sorted(allowed)[:1])  # no other machine is ended by it
        key = f"groundtruth-{packed.id}-{uuid.uuid4().hex}"  # no other campaign has it
        given(task)
        future = self._client.submit(work, packed, key=key, pure=False, workers=sorted(allowed))
        self._given[future] = _Away(task=task, packed=packed, allowed=allowed, future=future)
        future.add_done_callback(self._news.put)

    def _ended_now(self) -> list[Any]:
        """Return what has come to its end; wait for something for a moment."""
        found = []
        with contextlib.suppress(queue.Empty):
            found.append(self._news.get(timeout=WAKE_S))
            while True:
                found.append(self._news.get_nowait())
        return found

    def _end(self, away: _Away, arrived: Any) -> None:
        try:
            how = arrived.result()
        except GoneError:  # no cell's fault
            if not away.is_lost:
                raise
            self._give_lost(away)
            return
        except LostError as error:
            self._give_lost(away, error)
            return
        except UnfitError as error:
            self._crew.refuse(error.worker, str(error))
            self._todo.appendleft(away.task)
            return
        except (GroundtruthError, OSError) as error:
            how = error
        self._ended(away.task, how)

    def _ended(self, task: Task, how: Executed | GroundtruthError | OSError) -> None:
        """Tell that a cell ended, and what has become of workers meanwhile."""
        if isinstance(how, Executed) and (news := self._crew.news()):
            how = dataclasses.replace(how, said=(*how.said, *news))
        self._tell(task, how)
