"""The cluster that a command's cells are to run on, if any: looked at before anything is begun."""

from __future__ import annotations

from testbed.campaign import run_cells
from testbed.cluster import address, artefacts
from testbed.labs import registry


def check(*labs: str) -> None:
    """Raise if cells of these labs cannot be sent to the cluster that is named.

    Nothing is asked of the cluster: this is for before kernels are built and folders made.

    Raises:
        StudyError: an address or a store of artefacts is none, or a lab runs here alone.
        UnsupportedError: this machine has not the cluster's keys.
    """
    found = address.named()
    if found is None:
        return
    for name in labs:
        address.check_lab(registry.named(name).properties)
    address.check_keys(found)
    artefacts.named()


def named() -> run_cells.Elsewhere | None:
    """Return where ``GROUNDTRUTH_CLUSTER`` says that cells run; None: here.

    Raises:
        StudyError: it says no address that cells may be sent to.
    """
    found = address.named()
    if found is None:
        return None
    from testbed.cluster.engine import Cluster  # when needed: it takes a second to load

    return Cluster(address=found, through=artefacts.named())
