"""The labs there are, by name: a new one is a folder here and a line in ``LABS``."""

from __future__ import annotations

from model.errors import StudyError
from testbed.labs.contract.lab import LabKind
from testbed.labs.host.kind import HOST
from testbed.labs.ns2.kind import NS2
from testbed.labs.remote.kind import REMOTE
from testbed.labs.stock.kind import STOCK
from testbed.labs.virtual.kind import VIRTUAL

DEFAULT: LabKind = VIRTUAL
LABS: dict[str, LabKind] = {
    kind.properties.name: kind for kind in (VIRTUAL, STOCK, HOST, REMOTE, NS2)
}


def named(name: str) -> LabKind:
    """Return a lab by its name; raise :class:`StudyError` for one this version does not have."""
    if name not in LABS:
        raise StudyError("no such lab", where="LAB", wanted=" or ".join(LABS), got=repr(name))
    return LABS[name]
