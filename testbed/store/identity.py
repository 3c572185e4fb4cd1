"""What a finished cell is: the hash of all that can change its bytes, in two parts.

The *evidence* is what a lab left: it follows from the cell, the lab's digests and the code of this
project that starts the lab. The *tables* follow from the evidence and from the code that parses and
judges it; where only that has changed, the evidence is still good and is parsed again.

Invariant: what is left out of an identity is not shown to whoever could let it change a byte. A lab
is given a cell without labels, and so are the parsers.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from model.cell import Cell, to_dict
from model.tolerances import Tolerances

SCHEMA = 1
PROJECT = Path(__file__).resolve().parents[2]
#: The code outside a lab that starts it and takes over what it left; each lab's own room besides.
STARTS = ("testbed/labs/booted", "testbed/labs/confinement", "testbed/labs/contract")
#: What a simulator's settings are written by.
SIMULATORS = {"ns2": ("simulators/ns2",)}
#: The code that parses and judges evidence, and all it uses.
PARSES = (
    "collectors", "mininet_topos", "model", "probes", "simulators/ns2", "testbed/guest",
    "testbed/campaign/calibration_checks.py", "testbed/campaign/digests.py",
    "testbed/campaign/queue_checks.py", "testbed/campaign/radio_checks.py",
    "testbed/campaign/run_cell.py", "testbed/machine/causes.py", "testbed/machine/room.py",
    "testbed/machine/trees.py",
)  # fmt: skip
#: What writes tables, whose versions decide bytes.
PACKAGES = ("numpy", "polars", "pydantic")
#: Files that are code: others are documents, or were made by running it.
CODE = frozenset({".py", ".c", ".h", ".sh", ".config", ".tcl", ".json", ".txt"})


def unlabelled(cell: Cell) -> Cell:
    """Return the cell without what only says which one of which study it is, and how long to wait.

    Nothing of that may change what is measured, so a lab's guest is not shown it.
    """
    limits = dataclasses.replace(cell.limits, wall_s=0.0)
    return dataclasses.replace(cell, study="", point={}, replicate=0, limits=limits)


def of_evidence(cell: Cell, starts: str) -> dict[str, Any]:
    """Return the identity of what a lab leaves of a cell; ``starts`` is the digest of its code."""
    return {"schema": SCHEMA, "cell": to_dict(unlabelled(cell)), "starts": starts}


def of_tables(evidence: str, parses: str, tolerances: Tolerances) -> dict[str, Any]:
    """Return the identity of what is made of evidence of this key by code of this digest."""
    return {
        "schema": SCHEMA,
        "evidence": evidence,
        "parses": parses,
        "tolerances": dataclasses.asdict(tolerances),
    }


def key(identity: Mapping[str, Any]) -> str:
    """Return the 64 hexadecimal digits that an identity is found by."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def starts_digest(lab_name: str) -> str:
    """Return the digest of the code outside a lab of this name that starts it."""
    places = (*STARTS, f"testbed/labs/{lab_name}", *SIMULATORS.get(lab_name, ()))
    return _digest(places, ())


def parses_digest() -> str:
    """Return the digest of the code that parses evidence, and of what it writes tables with."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    return _digest(PARSES, (*versions, f"Python {platform.python_version()}"))


def _digest(places: Iterable[str], words: Iterable[str]) -> str:
    state = hashlib.sha256()
    for place in places:
        for path in sorted(_code(PROJECT / place)):
            content = path.read_bytes()
            name = str(path.relative_to(PROJECT))
            state.update(f"{name}:{len(content)}:".encode() + content)
    for word in words:
        state.update(f"{word};".encode())
    return state.hexdigest()


def _code(place: Path) -> Iterable[Path]:
    if place.is_file():
        return (place,)
    return (path for path in place.rglob("*") if path.suffix in CODE and path.is_file())
