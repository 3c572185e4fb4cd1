"""The workers of a cluster: which can be given a campaign's cells, and why the others cannot.

Invariants: a worker is asked before it gets a cell, since one that has other code or another lab
would fail a cell in no time and so be given all others; one that lacks parts of the lab gets them
first, as does one of several on a machine, for all of them. Asking and sending keep nobody waiting
but the worker that is asked.
"""

from __future__ import annotations

import collections
import math
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from model.errors import GroundtruthError
from testbed.cluster.artefacts import Artefacts
from testbed.cluster.lab_leaves import Parts, send
from testbed.cluster.on_worker import Answer, examine
from testbed.cluster.parcel import Need

if TYPE_CHECKING:
    from distributed import Client

#: How often it is looked which workers there are.
LOOK_S = 1.0
#: How long a scheduler may take to say which there are.
TOLD_WITHIN_S = 60.0
#: How many workers are asked, or sent a lab, at once; how often one that was lost meanwhile is.
ASKED_AT_ONCE = 16
#: How long an answer is waited for where there is no other worker.
ANSWER_S = 300.0
TRIES = 3


class Crew:
    """The workers; a block, which ends what it began."""

    def __init__(
        self, client: Client, needs: Sequence[Need], through: Artefacts | None = None
    ) -> None:
        self._client, self._needs, self._through = client, needs, through
        self._parts = {part.name: part for need in needs for part in need.lab.parts()}
        self._lock = threading.Lock()
        #: Of all that are there: how many cells each can run at once.
        self._there: dict[str, int] = {}
        self._good: set[str] = set()
        self._bad: dict[str, str] = {}
        #: Since when each of those is asked that has not answered yet.
        self._asked: dict[str, float] = {}
        self._lost: collections.Counter[str] = collections.Counter()
        #: Caches that a part is being sent to.
        self._filling: set[str] = set()
        self._news: list[str] = []
        self._looked_s, self._ends = -math.inf, False
        self._packed = Parts()
        self._at_once = threading.Semaphore(ASKED_AT_ONCE)

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self._ends = True
        self._packed.close()

    def look(self) -> bool:
        """See which workers there are, now and then, and have new ones asked; return whether so.

        Raises:
            OSError, TimeoutError: the scheduler does not answer.
        """
        now_s = time.monotonic()
        if now_s - self._looked_s < LOOK_S:
            return False
        self._looked_s = now_s
        self._there = dict(self._client.nthreads(callback_timeout=TOLD_WITHIN_S))
        with self._lock:
            known = {*self._good, *self._bad, *self._asked}
            new = [one for one in self._there if one not in known]
            self._asked |= dict.fromkeys(new, now_s)
        for one in new:
            # Nobody waits for one that never answers.
            threading.Thread(target=self._ask, args=(one,), daemon=True).start()
        return True

    def there(self) -> frozenset[str]:
        """Return all workers that there are, whether they can be given cells or not."""
        return frozenset(self._there)

    def fit(self) -> dict[str, int]:
        """Return how many cells each worker that can be given some can run at once."""
        with self._lock:
            return {one: count for one, count in self._there.items() if one in self._good}

    def is_awaited(self) -> bool:
        """Return whether a worker is about to answer, or is being sent what it lacks."""
        with self._lock:
            since_s = time.monotonic() - ANSWER_S
            return bool(self._filling) or any(at_s > since_s for at_s in self._asked.values())

    def why_not(self) -> str:
        """Return why workers cannot be given cells."""
        with self._lock:
            return "; ".join(dict.fromkeys(self._bad.values()))

    def refuse(self, worker: str, why: str) -> None:
        """Give a worker no cells any more, until it is begun anew."""
        with self._lock:
            self._good.discard(worker)
            if worker not in self._bad:
                self._bad[worker] = why
                self._news.append(f"{why}: it gets no cells")

    def news(self) -> tuple[str, ...]:
        """Return what has become of workers since this was asked last, in words."""
        with self._lock:
            found, self._news = tuple(self._news), []
        return found

    def _ask(self, worker: str) -> None:
        """Ask a worker, and have it get what it lacks."""
        try:
            with self._at_once:
                said: Answer | None = None if self._ends else self._examined(worker)
                if said and said.lacks:
                    said = self._supplied(worker, said)
            if said is None:
                return  # another worker gets it for this one too; asked again later
            if said.why or said.lacks:
                self.refuse(worker, said.why or f"{said.machine} does not keep what it is sent")
            else:
                with self._lock:
                    self._good.add(worker)
        except GroundtruthError as error:  # what is sent cannot be; or the campaign ends
            if not self._ends and worker in self._there:
                self.refuse(worker, str(error))
        except Exception as error:  # noqa: BLE001  # whatever dask raises where a worker is lost
            self._lost[worker] += 1
            if self._lost[worker] >= TRIES:
                self.refuse(worker, f"{worker} cannot be asked: {error}")
        finally:
            with self._lock:
                del self._asked[worker]

    def _examined(self, worker: str) -> Answer:
        answer: Answer
        asked = self._client.run(examine, self._needs, self._through, workers=[worker])
        (answer,) = asked.values()
        return answer

    def _supplied(self, worker: str, answer: Answer) -> Answer | None:
        """Send a worker what it lacks, unless its cache is being filled; return what it says then.

        None in that case.
        """
        with self._lock:
            if answer.cache in self._filling:
                return None
            self._filling.add(answer.cache)
        try:
            for name in answer.lacks:
                part = self._parts[name]
                packed = self._packed.packed(part)
                why = send(self._client, worker, part, packed, lambda: self._goes_on(worker))
                if why:
                    return replace(
                        answer, why=f"{answer.machine} cannot take {name} of the lab: {why}"
                    )
            return self._examined(worker)
        finally:
            with self._lock:
                self._filling.discard(answer.cache)

    def _goes_on(self, worker: str) -> bool:
        return not self._ends and worker in self._there
