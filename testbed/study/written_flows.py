"""The flows of a study written out: every copy of a flow with its own name and pair. Pure.

Invariant: copies stand where their flow stands in the list, in order of their pairs, so ports,
which follow that order, are each flow's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.study.study_form import Flow


@dataclass(frozen=True, kw_only=True)
class Copy:
    """One flow of a run: its name and pair, and which flow of the file it was written as."""

    id: str
    pair: int
    flow: Flow
    index: int


def written_out(flows: Sequence[Flow]) -> tuple[Copy, ...]:
    """Return every flow of a run; a flow with one copy keeps its name."""
    found: list[Copy] = []
    for index, flow in enumerate(flows):
        after = found[-1].pair + 1 if found else 1
        first = after if flow.pair == "next" else flow.pair
        found += [
            Copy(
                id=flow.id if flow.copies == 1 else f"{flow.id}{number + 1}",
                pair=first + number,
                flow=flow,
                index=index,
            )
            for number in range(flow.copies)
        ]
    return tuple(found)
