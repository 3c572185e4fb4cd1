"""How each kind of asked figure is drawn from the runs it shows.

Invariants: what cannot be drawn is yielded as a reason, the end of "Not drawn: …"; a kind without
a key it must have raises ``ParseError``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from reports.figures import over_time
from reports.figures.chart import Figure
from reports.figures.congestion import Curve, congestion_figure, curve, mark_heights, top
from reports.figures.goodput_bins import HANDED_ON, bins_figure, from_intervals, from_packets
from reports.figures.over_time import Series, over_time_figure
from reports.figures.published_marks import Detected, Marks
from reports.figures.sequence import sequence, sequence_figure, single_loss_s
from reports.figures.sequence_wide import numbers, together_figure, wrapped_figure
from reports.records import FigureAsked
from reports.shown import Shown, told, value_words
from testbed import runfolder
from testbed.cell import Flow
from testbed.errors import ParseError

NO_CAPTURES = "this run has no captures (groundtruth run --pcap)"
NO_TELEMETRY = "this run has no kernel telemetry"
NO_EPISODES = "this run has no loss episodes (neither captures nor telemetry)"
#: A loss is shown from its flow's start if that lies at most this long before the time asked for.
START_WITHIN_S = 2.0

#: A figure, or why there is none.
Drawn = Figure | str
Draw = Callable[[FigureAsked, Sequence[Shown], str], Iterator[Drawn]]


@dataclass(frozen=True)
class _Around:
    """A flow's window of time around a loss, and what a publication marks in it."""

    flow: Flow
    window_s: tuple[float, float]
    marks: Marks | None


def _one(draw: Callable[[FigureAsked, Shown, str], Iterator[Drawn]]) -> Draw:
    """Return how a kind is drawn that shows one run."""

    def drawn(asked: FigureAsked, shown: Sequence[Shown], stem: str) -> Iterator[Drawn]:
        for number, one in enumerate(shown):
            yield from draw(asked, one, f"{stem}-{number + 1}" if number else stem)

    return drawn


def _key(asked: FigureAsked, name: str) -> float:
    value = getattr(asked, name)
    if value is None:
        raise ParseError(f"a figure {asked.kind} without {name}", where=runfolder.RESOLVED)
    return float(value)


def _window(asked: FigureAsked, shown: Shown) -> tuple[float, float]:
    end_s = shown.cell.duration_s
    to_s = min(end_s, asked.to_s) if asked.to_s is not None else end_s
    return _key(asked, "from_s"), to_s


def _flows(asked: FigureAsked, shown: Shown) -> list[Flow]:
    """Return the flows a figure is of."""
    wanted = shown.numbered
    if asked.where is None or isinstance(asked.where, str):
        return wanted
    return [flow for flow in wanted if flow.id in asked.where]


def _cwnd(asked: FigureAsked, shown: Shown, stem: str) -> Iterator[Drawn]:
    window_s = _window(asked, shown)
    yield from _windows(
        shown, [_Around(flow, window_s, None) for flow in _flows(asked, shown)], stem
    )


def _windows(shown: Shown, around: Sequence[_Around], stem: str) -> Iterator[Drawn]:
    """Yield the windows of flows, each in its span of time, all to one scale."""
    if shown.congestion is None:
        yield NO_TELEMETRY
        return
    found: list[tuple[Curve, _Around]] = []
    for one in around:
        drawn = curve(shown.congestion, one.flow, *one.window_s)
        if isinstance(drawn, str):
            yield drawn
        else:
            found.append((drawn, one))
    heights = [height for drawn, one in found for height in mark_heights(drawn, one.marks)]
    highest = top([drawn for drawn, _ in found], heights) if found else 0.0
    for drawn, one in found:
        yield congestion_figure(
            drawn,
            id=f"{stem}-{one.flow.id}",
            label=shown.label(one.flow),
            top=highest,
            window_s=one.window_s,
            episodes=shown.episodes,
            marks=one.marks,
        )


def _time_sequence(asked: FigureAsked, shown: Shown, stem: str) -> Iterator[Drawn]:
    window_s = _window(asked, shown)
    packets, flows = shown.packets, _flows(asked, shown)
    if packets is None:
        yield NO_CAPTURES
    elif asked.together or asked.modulo_segments:
        yield from _wide(asked, shown, packets, stem)
    else:
        yield from _sequences(
            shown, packets, [_Around(flow, window_s, None) for flow in flows], stem
        )


def _wide(asked: FigureAsked, shown: Shown, packets: pl.DataFrame, stem: str) -> Iterator[Drawn]:
    """Yield the sequence numbers of all flows together, or of each modulo a number."""
    window_s = _window(asked, shown)
    found = []
    for flow in _flows(asked, shown):
        one = numbers(packets, flow, *window_s)
        if one.sent.is_empty():
            yield _nothing_sent(flow, window_s)
        else:
            found.append(one)
    if asked.together and found:
        label = f"all flows, {shown.words}"
        yield together_figure(found, id=stem, label=label, window_s=window_s)
    for one in () if asked.together else found:
        yield wrapped_figure(
            one,
            id=f"{stem}-{one.flow.id}",
            label=shown.label(one.flow),
            window_s=window_s,
            modulo=asked.modulo_segments or 1,
        )


def _nothing_sent(flow: Flow, window_s: tuple[float, float]) -> str:
    return f"flow {flow.id} sent no data from {window_s[0]:g} s to {window_s[1]:g} s"


def _single_loss(asked: FigureAsked, shown: Shown, stem: str) -> Iterator[Drawn]:
    if shown.packets is None:
        yield NO_CAPTURES
        return
    around, missing = _losses(asked, shown)
    yield from missing
    yield from _sequences(shown, shown.packets, around, stem)


def _single_loss_cwnd(asked: FigureAsked, shown: Shown, stem: str) -> Iterator[Drawn]:
    around, missing = _losses(asked, shown)
    yield from missing
    yield from _windows(shown, around, stem)


def _losses(asked: FigureAsked, shown: Shown) -> tuple[list[_Around], list[str]]:
    """Return the asked loss of each flow with its window, and why others have none."""
    before_s, after_s = _key(asked, "before_s"), _key(asked, "after_s")
    found: dict[Flow, tuple[float, float]] = {}
    missing = []
    for flow in _flows(asked, shown):
        at_s = _loss_s(asked, shown, flow)
        if isinstance(at_s, str):
            missing.append(at_s)
        else:
            found[flow] = (_seen_from_s(flow, at_s - before_s), at_s + after_s)
    span_s = max((to_s - from_s for from_s, to_s in found.values()), default=0.0)
    around = []
    for flow, (from_s, to_s) in found.items():
        marks = _marks(asked, shown, flow, to_s - after_s)
        if marks is None and flow.id in asked.published:
            missing.append(f"published events of flow {flow.id}: when it detected it is not known")
        window_s = (round(from_s, 3), round(from_s + span_s, 3))
        around.append(_Around(flow, window_s, marks))
    return around, missing


def _loss_s(asked: FigureAsked, shown: Shown, flow: Flow) -> float | str:
    """Return when the asked loss of a flow was, or why it has none."""
    before_s, after_s = _key(asked, "before_s"), _key(asked, "after_s")
    if asked.episode is None:
        if shown.packets is None:
            return NO_CAPTURES
        at_s = single_loss_s(shown.packets, flow, before_s, after_s, shown.cell.duration_s)
        words = f"{before_s:g} s before to {after_s:g} s after it"
        return f"flow {flow.id} never lost one packet alone, from {words}" if at_s is None else at_s
    if shown.episodes is None:
        return NO_EPISODES
    row = shown.episodes.filter(flow=flow.id, episode=asked.episode)
    times = [*row["lost_s"].drop_nulls(), *row["detected_s"].drop_nulls()]
    return float(times[0]) if times else f"flow {flow.id} has no loss episode {asked.episode}"


def _marks(asked: FigureAsked, shown: Shown, flow: Flow, at_s: float) -> Marks | None:
    """Return what a publication marks of a flow's loss, if the kernel's detection is known."""
    loss = asked.published.get(flow.id)
    if loss is None or shown.episodes is None:
        return None
    rows = shown.episodes.filter(pl.col("detected_s") >= at_s, flow=flow.id).sort("detected_s")
    if rows.is_empty():
        return None
    return Marks(loss, Detected(float(rows["detected_s"][0]), rows["first_lost_segment"][0]))


def _seen_from_s(flow: Flow, from_s: float) -> float:
    """Return the flow's start if that is soon before a time, or after it; else the time."""
    return flow.start_s if from_s - flow.start_s <= START_WITHIN_S else from_s


def _sequences(
    shown: Shown, packets: pl.DataFrame, around: Sequence[_Around], stem: str
) -> Iterator[Drawn]:
    """Yield the diagrams of flows, each in its window; as many segments are as high in each."""
    drawn = []
    for one in around:
        from_s, to_s = one.window_s
        blocks = shown.tables.reported_blocks(from_s, to_s)
        found = sequence(packets, blocks, one.flow, from_s, to_s)
        if found.sent.is_empty():
            yield _nothing_sent(one.flow, one.window_s)
        else:
            drawn.append((found, one))
    span = max((high - low for low, high in (found.segments for found, _ in drawn)), default=0.0)
    for found, one in drawn:
        yield sequence_figure(
            found,
            id=f"{stem}-{one.flow.id}",
            label=shown.label(one.flow),
            window_s=one.window_s,
            span=span,
            marks=one.marks,
        )


def _goodput_bins(asked: FigureAsked, shown: Shown, stem: str) -> Iterator[Drawn]:
    from_s, to_s = _window(asked, shown)
    bin_s, counted = _key(asked, "bin_s"), asked.count
    intervals, packets = shown.tables.intervals(), shown.packets
    if packets is not None:
        chunks, flows = shown.tables.data_chunks, shown.cell.flows
        found = from_packets(packets, flows, chunks, from_s, to_s, bin_s, counted)
    elif intervals is not None and counted == HANDED_ON:
        told = from_intervals(intervals, from_s, to_s, bin_s)
        if isinstance(told, str):
            yield told
            return
        found = told
    else:
        yield NO_CAPTURES
        return
    label = f"all flows, {shown.words}"
    yield bins_figure(found, id=stem, label=label, bin_s=bin_s, counted=counted)


def _over_time(asked: FigureAsked, shown: Sequence[Shown], stem: str) -> Iterator[Drawn]:
    """Yield what flows had over time, the runs over each other: a figure each, or all in one."""
    of, bin_s = asked.of, _key(asked, "bin_s")
    found: list[Series] = []
    for one in shown:
        if one.packets is None:
            yield f"{NO_CAPTURES}: {one.words}"
            continue
        found += [_series(asked, one, one.packets, flow) for flow in _flows(asked, one)]
    if not found:
        return
    by_flow = {
        one.flow.id: [each for each in found if each.flow.id == one.flow.id] for one in found
    }
    sets = {"": found} if asked.together else by_flow
    highest = max(one.highest for one in found)
    names = {flow.id: one.name(flow) for one in shown for flow in one.numbered}
    for flow_id, series in sets.items():
        label = names[flow_id] if flow_id else "all flows"
        yield over_time_figure(
            series,
            of=of,
            id=f"{stem}-{flow_id}" if flow_id else stem,
            label=f"{label}, {told(shown, asked.overlay)}",
            window_s=_window(asked, shown[0]),
            bin_s=bin_s,
            top=highest,
        )


def _series(asked: FigureAsked, shown: Shown, packets: pl.DataFrame, flow: Flow) -> Series:
    window_s, bin_s = _window(asked, shown), _key(asked, "bin_s")
    if asked.overlay is not None:
        name = value_words(asked.overlay, shown.point.as_dict()[asked.overlay])
    else:
        name = shown.name(flow)
    if asked.of == over_time.GOODPUT:
        chunks = shown.tables.data_chunks
        rows = over_time.goodput(packets, flow, chunks, *window_s, bin_s)
    else:
        values = over_time.delays(packets, flow)
        if asked.of == over_time.JITTER:
            values = over_time.jitter(values)
        rows = over_time.per_bin(values, *window_s, bin_s)
    return Series(flow, name, rows)


#: Title of each kind, and how it is drawn.
KINDS: dict[str, tuple[str, Draw]] = {
    "cwnd": ("Congestion window and slow-start threshold", _one(_cwnd)),
    "time_sequence": ("Time-sequence diagram", _one(_time_sequence)),
    "single_loss": ("The retransmission after one loss", _one(_single_loss)),
    "single_loss_cwnd": ("The congestion window around one loss", _one(_single_loss_cwnd)),
    "goodput_bins": ("Total goodput in short bins of time", _one(_goodput_bins)),
    "over_time": ("Over time", _over_time),
}
