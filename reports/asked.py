"""The figures a study asks for, drawn from its runs, and for each that cannot be drawn the reason.

Invariants: the run shown is the first seed of the point that counts; nothing asked for is left out
in silence; a table that is there and cannot be read raises ``ParseError``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from reports.cell_tables import CellTables
from reports.display import setting, setting_label
from reports.figures.chart import Figure
from reports.figures.congestion import Curve, congestion_figure, curve, top
from reports.figures.goodput_bins import bins_figure, from_intervals, from_packets
from reports.figures.sequence import sequence, sequence_figure, single_loss_s
from reports.records import FigureAsked, Point
from reports.run import Run
from reports.summary import Summary
from testbed import runfolder
from testbed.cell import Cell, Flow
from testbed.errors import ParseError

NO_CAPTURES = "this run has no captures (groundtruth run --pcap)"
NO_TELEMETRY = "this run has no kernel telemetry"
#: A loss is shown from its flow's start if that lies at most this long before the time asked for.
START_WITHIN_S = 2.0
#: Kinds that are drawn per flow from a window of time, or around a moment.
Drawn = Figure | str


@dataclass(frozen=True, kw_only=True)
class FigureSet:
    """One asked figure at one point: what is drawn, of which run, and what is missing and why."""

    title: str
    run: str
    figures: tuple[Figure, ...]
    missing: tuple[str, ...]


class _Shown:
    """The run a figure shows, its tables read when first asked for."""

    def __init__(self, cell: Cell, tables: CellTables, labels: dict[str, str], words: str) -> None:
        self.cell, self.tables, self.labels, self.words = cell, tables, labels, words

    @cached_property
    def packets(self) -> pl.DataFrame | None:
        return self.tables.packets()

    @cached_property
    def congestion(self) -> pl.DataFrame | None:
        return self.tables.congestion()

    def label(self, flow: Flow) -> str:
        return f"{self.labels.get(flow.group, flow.group)} (flow {flow.id}), {self.words}"


def asked_figures(folder: Path, run: Run, summary: Summary) -> tuple[FigureSet, ...]:
    """Return what the study asks for of single runs, in its order, point by point."""
    shown: dict[Point, _Shown | None] = {}
    names: set[str] = set()
    found = []
    for asked in run.study.figures:
        if asked.kind not in _KINDS:
            continue
        for point in asked.points:
            if point not in shown:
                shown[point] = _shown(folder, run, summary, point)
            found.append(_set(asked, run, point, shown[point], names))
    return tuple(found)


def asked_metrics(run: Run) -> tuple[str, ...]:
    """Return the metrics whose figures the study asks for besides its headline metrics."""
    of = run.study.compare.of if run.study.compare else None
    share = any(asked.kind == "share" for asked in run.study.figures)
    return (f"share_{of}_pct",) if share and of else ()


def _shown(folder: Path, run: Run, summary: Summary, point: Point) -> _Shown | None:
    counted = [cell for cell in summary.cells if cell.point == point and cell.excluded is None]
    if not counted:
        return None
    cell = next(found.cell for found in run.measured() if found.plan.id == counted[0].id)
    words = ", ".join([*_settings(run, point), f"seed {counted[0].seed}"])
    labels = {group.id: group.label for group in run.study.groups}
    return _Shown(cell, CellTables(runfolder.cell_folder(folder, counted[0].id)), labels, words)


def _settings(run: Run, point: Point) -> list[str]:
    values, swept = point.as_dict(), run.study.parameters
    labels = [setting_label(one.path) for one in swept]
    return [
        f"{label[:1].lower()}{label[1:]} {setting(one.name, values[one.name])}"
        for label, one in zip(labels, swept, strict=True)
    ]


def _set(
    asked: FigureAsked, run: Run, point: Point, shown: _Shown | None, names: set[str]
) -> FigureSet:
    title, draw = _KINDS[asked.kind]
    if shown is None:
        words = ", ".join(_settings(run, point)) or "the study's only point"
        return FigureSet(title=title, run=words, figures=(), missing=("no run here counts",))
    stem = _free("-".join([asked.kind, *_slugs(point)]), names)
    drawn = list(draw(asked, shown, stem))
    return FigureSet(
        title=title,
        run=shown.words,
        figures=tuple(found for found in drawn if isinstance(found, Figure)),
        missing=tuple(found for found in drawn if isinstance(found, str)),
    )


def _slugs(point: Point) -> list[str]:
    return [re.sub(r"[^A-Za-z0-9.]+", "_", f"{name}_{value}") for name, value in point.settings]


def _free(stem: str, names: set[str]) -> str:
    """Return the stem, numbered if it is taken."""
    number, found = 1, stem
    while found in names:
        number += 1
        found = f"{stem}-{number}"
    names.add(found)
    return found


def _window(asked: FigureAsked, shown: _Shown) -> tuple[float, float]:
    if asked.from_s is None:
        raise ParseError(f"a figure {asked.kind} without from_s", where=runfolder.RESOLVED)
    end_s = shown.cell.duration_s
    return asked.from_s, min(end_s, asked.to_s) if asked.to_s is not None else end_s


def _cwnd(asked: FigureAsked, shown: _Shown, stem: str) -> Iterator[Drawn]:
    from_s, to_s = _window(asked, shown)
    congestion = shown.congestion
    if congestion is None:
        yield NO_TELEMETRY
        return
    flows = [flow for flow in shown.cell.flows if flow.protocol != "udp"]
    found = [curve(congestion, flow, from_s, to_s) for flow in flows]
    yield from (reason for reason in found if isinstance(reason, str))
    curves = [drawn for drawn in found if isinstance(drawn, Curve)]
    episodes = shown.tables.episodes() if curves else None
    for drawn in curves:
        yield congestion_figure(
            drawn,
            id=f"{stem}-{drawn.flow.id}",
            label=shown.label(drawn.flow),
            top=top(curves),
            window_s=(from_s, to_s),
            episodes=episodes,
        )


def _time_sequence(asked: FigureAsked, shown: _Shown, stem: str) -> Iterator[Drawn]:
    window_s = _window(asked, shown)
    if shown.packets is None:
        yield NO_CAPTURES
        return
    windows = [(flow, window_s) for flow in _numbered(shown)]
    yield from _sequences(shown, shown.packets, windows, stem)


def _single_loss(asked: FigureAsked, shown: _Shown, stem: str) -> Iterator[Drawn]:
    before_s, after_s = asked.before_s, asked.after_s
    if before_s is None or after_s is None:
        raise ParseError(
            f"a figure {asked.kind} without before_s, after_s", where=runfolder.RESOLVED
        )
    if shown.packets is None:
        yield NO_CAPTURES
        return
    around = {}
    for flow in _numbered(shown):
        at_s = single_loss_s(shown.packets, flow, before_s, after_s, shown.cell.duration_s)
        if at_s is None:
            words = f"{before_s:g} s before to {after_s:g} s after it"
            yield f"flow {flow.id} never lost one packet alone, from {words}"
        else:
            around[flow] = (_seen_from_s(flow, at_s - before_s), at_s + after_s)
    span_s = max((to_s - from_s for from_s, to_s in around.values()), default=0.0)
    windows = [
        (flow, (round(from_s, 3), round(from_s + span_s, 3)))
        for flow, (from_s, _) in around.items()
    ]
    yield from _sequences(shown, shown.packets, windows, stem)


def _seen_from_s(flow: Flow, from_s: float) -> float:
    """Return the flow's start if that is soon before a time, or after it; else the time."""
    return flow.start_s if from_s - flow.start_s <= START_WITHIN_S else from_s


def _numbered(shown: _Shown) -> list[Flow]:
    """Return the flows with sequence numbers."""
    return [flow for flow in shown.cell.flows if flow.protocol != "udp"]


def _sequences(
    shown: _Shown,
    packets: pl.DataFrame,
    windows: list[tuple[Flow, tuple[float, float]]],
    stem: str,
) -> Iterator[Drawn]:
    """Yield the diagrams of flows, each in its window; as many segments are as high in each."""
    drawn = []
    for flow, (from_s, to_s) in windows:
        found = sequence(packets, shown.tables.reported_blocks(from_s, to_s), flow, from_s, to_s)
        if found.sent.is_empty():
            yield f"flow {flow.id} sent no data from {from_s:g} s to {to_s:g} s"
        else:
            drawn.append((found, (from_s, to_s)))
    span = max((high - low for low, high in (found.segments for found, _ in drawn)), default=0.0)
    for found, window_s in drawn:
        yield sequence_figure(
            found,
            id=f"{stem}-{found.flow.id}",
            label=shown.label(found.flow),
            window_s=window_s,
            span=span,
        )


def _goodput_bins(asked: FigureAsked, shown: _Shown, stem: str) -> Iterator[Drawn]:
    from_s, to_s = _window(asked, shown)
    if asked.bin_s is None:
        raise ParseError(f"a figure {asked.kind} without bin_s", where=runfolder.RESOLVED)
    intervals, packets = shown.tables.intervals(), shown.packets
    if packets is not None:
        chunks, flows = shown.tables.data_chunks, shown.cell.flows
        found = from_packets(packets, flows, chunks, from_s, to_s, asked.bin_s)
    elif intervals is not None:
        counted = from_intervals(intervals, from_s, to_s, asked.bin_s)
        if isinstance(counted, str):
            yield counted
            return
        found = counted
    else:
        yield NO_CAPTURES
        return
    label = f"all flows, {shown.words}"
    yield bins_figure(found, id=stem, label=label, bin_s=asked.bin_s)


_KINDS: dict[str, tuple[str, Callable[[FigureAsked, _Shown, str], Iterator[Drawn]]]] = {
    "cwnd": ("Congestion window and slow-start threshold", _cwnd),
    "time_sequence": ("Time-sequence diagram", _time_sequence),
    "single_loss": ("The retransmission after one loss", _single_loss),
    "goodput_bins": ("Total goodput in short bins of time", _goodput_bins),
}
