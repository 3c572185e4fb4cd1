"""Cells run on a cluster's workers: what :mod:`testbed.machine.workers` is on one machine."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from testbed.campaign.run_cells import Task
from testbed.cluster import address, artefacts, keys
from testbed.cluster.address import Address, ClusterError
from testbed.cluster.crew import Crew
from testbed.cluster.giving import Ended, Giving
from testbed.cluster.parcel import needs

#: How long a scheduler may take to answer.
CONNECT_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A scheduler, and the store that cells come back through, if that is another way."""

    address: Address
    through: str = ""

    def each(self, todo: Sequence[Task], ended: Ended) -> None:
        """Run cells on the cluster's workers; ``ended`` is called here with each that ended.

        Raises:
            ClusterError: there is no such scheduler, it went away, or it has no workers.
            UnsupportedError: its keys are missing, or what the store of artefacts needs.
            StudyError: a cell belongs on this machine alone.
        """
        for task in todo:
            address.check_lab(task.lab.properties)
        with contextlib.ExitStack() as held:
            through = held.enter_context(artefacts.begun(self.through)) if self.through else None
            client = held.enter_context(connected(self.address))
            crew = held.enter_context(Crew(client, needs(todo), through))
            Giving(client, self.address, crew, through, todo, ended).all()


@contextlib.contextmanager
def connected(where: Address) -> Any:
    """Give a client of a scheduler for the block; raise as :meth:`Cluster.each` does."""
    from distributed import Client  # when needed: it takes a second to load

    # What it would say of a lost scheduler, with all of its frames, is said here in a line.
    for name in ("distributed", "distributed.client"):  # its import gave the second its own level
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(
            str(where), security=address.security(where), timeout=CONNECT_S, name="groundtruth",
            set_as_default=False,
        )  # fmt: skip
    except (OSError, TimeoutError) as error:
        raise _silent(where, str(error)[:300]) from error
    try:
        yield client
    finally:
        with contextlib.suppress(OSError):  # in time, or not: it is let go
            client.close(timeout=CONNECT_S)


def _silent(where: Address, got: str) -> ClusterError:
    """Return why a scheduler cannot be spoken to; dask says of TLS what it would of no answer."""
    if "certificate" in got:
        return ClusterError(
            "a scheduler with other keys, or keys that have expired", where=str(where), got=got,
            hint=f"keys here: {address.keys_folder()}; those of groundtruth cluster-keys are for "
            f"all machines of a cluster, and for {keys.DAYS} days",
        )  # fmt: skip
    return ClusterError(
        "no scheduler answers", where=str(where), got=got,
        hint="start one there: groundtruth scheduler",
    )  # fmt: skip
