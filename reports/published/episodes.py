"""Published claims about single loss episodes, beside the same episode on the kernel. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from model.cell import Flow
from model.run_files.point import Point
from model.run_files.publication import PublishedEpisode
from model.run_files.summary import EpisodeClaim
from reports.store.run import FinishedCell
from reports.store.story_tables import Row

SEGMENTS, BYTES = "_segments", "_bytes"
GROWN = "cwnd_grown"


def claims(
    published: Sequence[PublishedEpisode], point: Point, cells: Sequence[FinishedCell]
) -> tuple[EpisodeClaim, ...]:
    """Return every claim about an episode, with what happened in the first run that counts."""
    found = []
    for entry in published:
        if point not in entry.points:
            continue
        for name, value in entry.values.items():
            kernel, reason = _kernel(entry, name, cells)
            found.append(
                EpisodeClaim(
                    flow=entry.flow,
                    episode=entry.episode,
                    where=entry.where,
                    name=name,
                    published=value,
                    kernel=kernel,
                    reason=reason,
                )
            )
    return tuple(found)


def _kernel(
    entry: PublishedEpisode, name: str, cells: Sequence[FinishedCell]
) -> tuple[float | None, str | None]:
    if not cells:
        return None, "no run counts"
    cell = cells[0]
    if cell.episodes is None:
        return None, "the run was neither captured nor recorded the kernel's events"
    row = next(
        (r for r in cell.episodes if (r["flow"], r["episode"]) == (entry.flow, entry.episode)), None
    )
    if row is None:
        return None, f"the flow has no episode {entry.episode}"
    flow = next(flow for flow in cell.cell.flows if flow.id == entry.flow)
    if name.startswith(GROWN):
        return _grown(entry, name, cell, row, flow)
    in_segments = name.endswith(SEGMENTS) and name not in row
    value = row[name.removesuffix(SEGMENTS) + BYTES if in_segments else name]
    if value is None:
        return None, f"not known from {row['basis']}"
    return (value / _segment_bytes(flow) if in_segments else float(value)), None


def _grown(
    entry: PublishedEpisode, name: str, cell: FinishedCell, row: Row, flow: Flow
) -> tuple[float | None, str | None]:
    """Return the window some time after the sender acted: what the next acknowledgement met."""
    if entry.grown_s is None or row["detected_s"] is None:
        return None, f"not known from {row['basis']}"
    found = cell.windows.get((flow.id, row["detected_s"] + entry.grown_s))
    if found is None:
        return None, "the kernel's events tell no window then"
    return (found / _segment_bytes(flow) if name.endswith(SEGMENTS) else float(found)), None


def _segment_bytes(flow: Flow) -> int:
    """Return what the studies count as a segment of either protocol: a packet's user data."""
    return flow.message_bytes
