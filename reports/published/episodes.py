"""Published claims about single loss episodes, beside the same episode on the kernel. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from model.cell import Flow
from model.run_files.point import Point
from model.run_files.publication import PublishedEpisode
from model.run_files.summary_points import EpisodeClaim
from reports.measures.quantities import UNKNOWN, as_printed, number, setting_quantity
from reports.store.run import FinishedCell
from reports.store.story_tables import Row

SEGMENTS, BYTES = "_segments", "_bytes"
GROWN = "cwnd_grown"
#: What readers call published values, without their unit.
_WORDS = {
    "first_lost_segment": "first segment lost", "lost_pkts": "packets lost",
    "dupacks": "sent again at duplicate number", "new_data_pkts": "packets of new data before that",
    **{f"new_data_on_dupack_{k}_pkts": f"packets of new data on duplicate {k}" for k in (1, 2, 3)},
    "first_new_on_dupack": "new data first sent on duplicate number",
    "first_new_segment": "which was segment number",
    "acks_to_new_data_pkts": "acknowledgements from sending again until new data",
    "retransmitted_pkts": "packets sent again", "lost_again_pkts": "of these lost",
    "timeouts": "timeouts", "lost": "lost at", "regrow": "until the window had grown again",
    "cwnd_changes": "changes of the window until then",
    "cwnd_at_recovery": "window when recovered", "cwnd_after_recovery": "window after that",
    "detected": "sent again at", "recovered": "recovered at", "detect": "until sent again",
    "recover": "until recovered", "cwnd_before": "window before", "cwnd_after": "window after",
    "cwnd_grown": "window grown", "ssthresh_after": "threshold after",
    "flight_before": "under way before", "flight_at_act": "under way when sent again",
}  # fmt: skip


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


def claim_words(name: str) -> str:
    """Return a published value's name as readers see it: ``window before, bytes``."""
    for unit in ("bytes", "segments", "s"):
        base = name.removesuffix(f"_{unit}")
        if base != name and base in _WORDS:
            return f"{_WORDS[base]}, {unit}"
    return _WORDS.get(name, name)


def claim_numbers(claim: EpisodeClaim) -> tuple[str, str]:
    """Return the printed number and the kernel's as readers see them; why there is none."""
    printed = as_printed(claim.published, setting_quantity(""))
    if claim.reason is not None:
        return printed, f"{UNKNOWN} ({claim.reason})"
    return printed, number(claim.kernel, setting_quantity("")).rstrip("0").rstrip(".")
