"""What is fuzzed: every reader of what others wrote, each with recorded inputs to start from.

A target takes bytes and returns, or raises a project's error; whatever else it does is a finding.
"""

from __future__ import annotations

from pathlib import Path

from tests.fuzz import movements, own_source
from tests.fuzz.bundles import bundles
from tests.fuzz.own_results import own_results
from tests.fuzz.target import Target
from tests.fuzz.targets import (
    captures_and_traces,
    cells_and_runs,
    given,
    raw_files,
    sets_and_guests,
)


def targets(scratch: Path) -> dict[str, Target]:
    """Return all targets by name; files they need are written below ``scratch``."""
    return {
        **given.studies(),
        **raw_files.raw_files(scratch / "raw"),
        **captures_and_traces.binary(),
        **cells_and_runs.cells(scratch / "cell"),
        **cells_and_runs.runs(scratch / "run"),
        **sets_and_guests.sets(scratch / "set"),
        **sets_and_guests.guests(scratch / "guests"),
        **given.ns2(scratch / "ns2"),
        **{
            name: Target(corpus=corpus, mutate=mutate, run=run, share=5)
            for name, (corpus, mutate, run) in own_source.readers(scratch / "own").items()
        },
        **given.packetdrill(scratch / "packetdrill"),
        **own_results(scratch / "own-results"),
        **movements.movements(scratch / "movements"),
        **bundles(scratch / "bundles"),
    }
