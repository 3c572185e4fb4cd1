"""Which workers a cluster has, and why any of them cannot run this machine's cells."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from model.errors import RunError
from testbed.cluster import parcel, programs
from testbed.cluster.address import Address
from testbed.cluster.engine import connected
from testbed.cluster.on_worker import Answer, examine
from testbed.cluster.parcel import Need
from testbed.labs.contract.lab import Lab
from testbed.machine import cache

LOOK_S = 1.0


@dataclass(frozen=True, kw_only=True)
class Looked:
    """A worker as its scheduler knows it; ``why`` it cannot run cells yet, empty if it can."""

    name: str
    why: str


def needs(lab: Lab, kernel_versions: Sequence[str]) -> tuple[Need, ...]:
    """Return what workers must have for any cell of a lab with these kernels."""
    code, place = parcel.own_code(lab.properties.name), cache.root()
    return tuple(
        Need(code=code, lab=lab, cache=place, described=lab.describe(version))
        for version in kernel_versions
    )


def look(
    where: Address, wanted: Sequence[Need], *, least: int = 0, within_s: float = 0.0
) -> list[Looked]:
    """Ask all workers, in the order of their names, once there are ``least`` or time is up.

    Raises:
        RunError: there is no such scheduler, or it went away.
        UnsupportedError: its keys are missing.
    """
    deadline_s = time.monotonic() + within_s
    with connected(where) as client:
        try:
            while len(client.nthreads()) < least and time.monotonic() < deadline_s:
                time.sleep(LOOK_S)
            said = client.run(examine, wanted, on_error="return")
            known = client.scheduler_info()["workers"]
        except (OSError, TimeoutError) as error:
            raise RunError(
                "the scheduler went away", where=str(where), hint=programs.BEGIN_AGAIN
            ) from error
    found = [
        Looked(name=str(known[one]["name"]), why=_why(answer))
        for one, answer in said.items()
        if one in known
    ]
    return sorted(found, key=lambda one: one.name)


def _why(answer: Answer | Exception) -> str:
    if isinstance(answer, Exception):
        return str(answer)
    lacks = f"{answer.machine} lacks {', '.join(answer.lacks)} of the lab" if answer.lacks else ""
    return answer.why or lacks
