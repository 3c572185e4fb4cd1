"""Which loss of each flow a figure shows, when, and what a publication marks of it. Pure.

Invariant: a flow without such a loss, or whose published events cannot be placed, has a reason.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from model import run_folder
from model.cell import Flow
from model.errors import ParseError
from model.run_files.figures import FigureWanted
from model.run_files.summary_points import EpisodeClaim
from reports.figures.chart import Figure
from reports.figures.published_marks import Detected, Marks
from reports.figures.sequence import single_loss_s
from reports.figures.shown_run import Shown
from reports.published.episodes import claim_numbers, claim_words

NO_CAPTURES = "this run has no captures (groundtruth run --pcap)"
NO_EPISODES = "this run has no loss episodes (neither captures nor telemetry)"


@dataclass(frozen=True)
class Around:
    """A flow's window of time around a loss, and what a publication marks in it."""

    flow: Flow
    window_s: tuple[float, float]
    marks: Marks | None


def number_of(wanted: FigureWanted, name: str) -> float:
    """Return a number a figure of this kind must have."""
    value = getattr(wanted, name)
    if value is None:
        raise ParseError(f"a figure {wanted.kind} without {name}", where=run_folder.RESOLVED)
    return float(value)


def flows_of(wanted: FigureWanted, shown: Shown) -> list[Flow]:
    """Return the flows a figure is of."""
    flows = shown.numbered
    if wanted.where is None or isinstance(wanted.where, str):
        return flows
    return [flow for flow in flows if flow.id in wanted.where]


def losses_of(wanted: FigureWanted, shown: Shown) -> tuple[list[Around], list[str]]:
    """Return the asked loss of each flow with its window, and why others have none."""
    before_s, after_s = number_of(wanted, "before_s"), number_of(wanted, "after_s")
    found: dict[Flow, tuple[float, float]] = {}
    missing = []
    for flow in flows_of(wanted, shown):
        at_s = _loss_s(wanted, shown, flow)
        if isinstance(at_s, str):
            missing.append(at_s)
        else:
            found[flow] = (max(flow.start_s, at_s - before_s), at_s + after_s)
    span_s = max((to_s - from_s for from_s, to_s in found.values()), default=0.0)
    placed = []
    for flow, (from_s, to_s) in found.items():
        marks = _marks(wanted, shown, flow, to_s - after_s)
        if marks is None and flow.id in wanted.published:
            missing.append(f"published events of flow {flow.id}: when it detected it is not known")
        window_s = (round(from_s, 3), round(from_s + span_s, 3))
        placed.append(Around(flow, window_s, marks))
    return placed, missing


def _loss_s(wanted: FigureWanted, shown: Shown, flow: Flow) -> float | str:
    """Return when the asked loss of a flow was, or why it has none."""
    before_s, after_s = number_of(wanted, "before_s"), number_of(wanted, "after_s")
    if wanted.episode is None:
        if shown.packets is None:
            return NO_CAPTURES
        at_s = single_loss_s(shown.packets, flow, before_s, after_s, shown.cell.duration_s)
        words = f"{before_s:g} s before to {after_s:g} s after it"
        return f"flow {flow.id} never lost one packet alone, from {words}" if at_s is None else at_s
    if shown.episodes is None:
        return NO_EPISODES
    row = shown.episodes.filter(flow=flow.id, episode=wanted.episode)
    times = [*row["lost_s"].drop_nulls(), *row["detected_s"].drop_nulls()]
    return float(times[0]) if times else f"flow {flow.id} has no loss episode {wanted.episode}"


def _marks(wanted: FigureWanted, shown: Shown, flow: Flow, at_s: float) -> Marks | None:
    """Return what a publication marks of a flow's loss, if the kernel's detection is known."""
    loss = wanted.published.get(flow.id)
    if loss is None or shown.episodes is None:
        return None
    rows = shown.episodes.filter(pl.col("detected_s") >= at_s, flow=flow.id).sort("detected_s")
    if rows.is_empty():
        return None
    return Marks(loss, Detected(float(rows["detected_s"][0]), rows["first_lost_segment"][0]))


def beside_published(
    figure: Figure, wanted: FigureWanted, shown: Shown, claims: Sequence[EpisodeClaim]
) -> Figure:
    """Return a figure of a loss whose caption has what is printed of it, beside the kernel's.

    Args:
        figure: of one flow.
        wanted: what was asked for; without its number, a loss is known by being the flow's only.
        shown: the run it is of, the first that counts.
        claims: what is published of episodes at its point.
    """
    if not wanted.kind.startswith("single_loss") or shown.episodes is None:
        return figure
    known = shown.episodes.filter(flow=figure.flow)["episode"].to_list()
    number = known[0] if wanted.episode is None and len(known) == 1 else wanted.episode
    here = [one for one in claims if (one.flow, one.episode) == (figure.flow, number)]
    if not here:
        return figure
    told = []
    for one in here:
        printed, kernel = claim_numbers(one)
        told.append(f"{claim_words(one.name)} {printed}, kernel {kernel}")
    where = "; ".join(dict.fromkeys(one.where for one in here))
    words = f"Published of this loss ({where}): {'; '.join(told)}."
    return dataclasses.replace(figure, caption=f"{figure.caption} {words}")
