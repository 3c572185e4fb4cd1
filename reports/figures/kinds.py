"""How each kind of asked figure is drawn from the runs it shows.

Invariants: what cannot be drawn is yielded as a reason, the end of "Not drawn: …"; a kind without
a key it must have raises ``ParseError``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import polars as pl

from model.cell import Flow
from model.run_files.figures import FigureWanted
from reports.figures import over_time
from reports.figures.chart import Figure
from reports.figures.congestion import Curve, congestion_figure, curve, mark_heights, top
from reports.figures.distribution import NO_MESSAGES, Values, distribution_figure, grouped_values
from reports.figures.goodput_bins import HANDED_ON, bins_figure, from_intervals, from_packets
from reports.figures.losses import NO_CAPTURES, Around, flows_of, losses_of, number_of
from reports.figures.over_time import Series, over_time_figure
from reports.figures.path_timeline import Told, timeline_figure
from reports.figures.sequence import sequence, sequence_figure
from reports.figures.sequence_wide import numbers, together_figure, wrapped_figure
from reports.figures.shown_run import Shown, told

#: Of more flows in one diagram the mean of each group stands out, not each flow.
MOST_NAMED = 4
NO_PATHS = "no flow of this run has several paths"
NO_TELEMETRY = "this run has no kernel telemetry"

#: A figure, or why there is none.
Drawn = Figure | str
Draw = Callable[[FigureWanted, Sequence[Shown], str], Iterator[Drawn]]


def _one(draw: Callable[[FigureWanted, Shown, str], Iterator[Drawn]]) -> Draw:
    """Return how a kind is drawn that shows one run."""

    def drawn(wanted: FigureWanted, shown: Sequence[Shown], stem: str) -> Iterator[Drawn]:
        for number, one in enumerate(shown):
            yield from draw(wanted, one, f"{stem}-{number + 1}" if number else stem)

    return drawn


def _window(wanted: FigureWanted, shown: Shown) -> tuple[float, float]:
    end_s = shown.cell.duration_s
    to_s = min(end_s, wanted.to_s) if wanted.to_s is not None else end_s
    return number_of(wanted, "from_s"), to_s


def _cwnd(wanted: FigureWanted, shown: Shown, stem: str) -> Iterator[Drawn]:
    window_s = _window(wanted, shown)
    yield from _windows(
        shown, [Around(flow, window_s, None) for flow in flows_of(wanted, shown)], stem
    )


def _windows(shown: Shown, around: Sequence[Around], stem: str) -> Iterator[Drawn]:
    """Yield the windows of flows, each in its span of time, all to one scale."""
    if shown.congestion is None:
        yield NO_TELEMETRY
        return
    found: list[tuple[Curve, Around]] = []
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


def _time_sequence(wanted: FigureWanted, shown: Shown, stem: str) -> Iterator[Drawn]:
    window_s = _window(wanted, shown)
    packets, flows = shown.packets, flows_of(wanted, shown)
    if packets is None:
        yield NO_CAPTURES
    elif wanted.together or wanted.modulo_segments:
        yield from _wide(wanted, shown, packets, stem)
    else:
        yield from _sequences(
            shown, packets, [Around(flow, window_s, None) for flow in flows], stem
        )


def _wide(wanted: FigureWanted, shown: Shown, packets: pl.DataFrame, stem: str) -> Iterator[Drawn]:
    """Yield the sequence numbers of all flows together, or of each modulo a number."""
    window_s = _window(wanted, shown)
    found = []
    for flow in flows_of(wanted, shown):
        one = numbers(packets, flow, *window_s)
        if one.sent.is_empty():
            yield _nothing_sent(flow, window_s)
        else:
            found.append(one)
    if wanted.together and found:
        label = f"all flows, {shown.words}"
        yield together_figure(found, id=stem, label=label, window_s=window_s)
    for one in () if wanted.together else found:
        yield wrapped_figure(
            one,
            id=f"{stem}-{one.flow.id}",
            label=shown.label(one.flow),
            window_s=window_s,
            modulo=wanted.modulo_segments or 1,
        )


def _nothing_sent(flow: Flow, window_s: tuple[float, float]) -> str:
    return f"flow {flow.id} sent no data from {window_s[0]:g} s to {window_s[1]:g} s"


def _single_loss(wanted: FigureWanted, shown: Shown, stem: str) -> Iterator[Drawn]:
    if shown.packets is None:
        yield NO_CAPTURES
        return
    around, missing = losses_of(wanted, shown)
    yield from missing
    yield from _sequences(shown, shown.packets, around, stem)


def _single_loss_cwnd(wanted: FigureWanted, shown: Shown, stem: str) -> Iterator[Drawn]:
    around, missing = losses_of(wanted, shown)
    yield from missing
    yield from _windows(shown, around, stem)


def _sequences(
    shown: Shown, packets: pl.DataFrame, around: Sequence[Around], stem: str
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


def _goodput_bins(wanted: FigureWanted, shown: Shown, stem: str) -> Iterator[Drawn]:
    from_s, to_s = _window(wanted, shown)
    bin_s, counted = number_of(wanted, "bin_s"), wanted.count
    intervals, packets = shown.intervals, shown.packets
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


def _over_time(wanted: FigureWanted, shown: Sequence[Shown], stem: str) -> Iterator[Drawn]:
    """Yield what flows had over time, the runs over each other: a figure each, or all in one."""
    of, bin_s = wanted.of, number_of(wanted, "bin_s")
    # Runs over each other are counted alike.
    by_receivers = (
        of == over_time.GOODPUT
        and any(one.packets is None for one in shown)
        and all(one.intervals is not None for one in shown)
    )
    found: list[Series] = []
    for one in shown:
        if one.packets is None and not by_receivers:
            yield f"{NO_CAPTURES}: {one.words}"
            continue
        for flow in flows_of(wanted, one):
            rows = _rows(wanted, one, None if by_receivers else one.packets, flow)
            if isinstance(rows, str):
                yield f"{rows}: {one.name(flow)}, {one.words}"
            else:
                found.append(Series(flow, _name(wanted, one, flow), rows))
    if not found:
        return
    by_flow = {
        one.flow.id: [each for each in found if each.flow.id == one.flow.id] for one in found
    }
    sets = {"": found} if wanted.together else by_flow
    highest = max(one.highest for one in found)
    names = {flow.id: one.name(flow) for one in shown for flow in one.numbered}
    for flow_id, series in sets.items():
        label = names[flow_id] if flow_id else "all flows"
        yield over_time_figure(
            series,
            of=of,
            id=f"{stem}-{flow_id}" if flow_id else stem,
            label=f"{label}, {told(shown, wanted.overlay)}",
            window_s=_window(wanted, shown[0]),
            bin_s=bin_s,
            top=highest,
            by_receivers=by_receivers,
        )


def _name(wanted: FigureWanted, shown: Shown, flow: Flow) -> str:
    if wanted.overlay is not None:
        return shown.overlaid(wanted.overlay)
    many = wanted.together and len(shown.numbered) > MOST_NAMED
    return shown.group(flow) if many else shown.name(flow)


def _rows(
    wanted: FigureWanted, shown: Shown, packets: pl.DataFrame | None, flow: Flow
) -> pl.DataFrame | str:
    """Return a flow's bins, from captures or what its receiver counted, or why there are none."""
    window_s, bin_s = _window(wanted, shown), number_of(wanted, "bin_s")
    if packets is None:
        intervals = pl.DataFrame() if shown.intervals is None else shown.intervals
        return over_time.handed_on(intervals, flow, *window_s, bin_s)
    if wanted.of == over_time.GOODPUT:
        chunks = shown.tables.data_chunks
        return over_time.goodput(packets, flow, chunks, *window_s, bin_s)
    values = over_time.delays(packets, flow)
    if wanted.of == over_time.JITTER:
        values = over_time.jitter(values)
    return over_time.per_bin(values, *window_s, bin_s)


def _cdf(wanted: FigureWanted, shown: Sequence[Shown], stem: str) -> Iterator[Drawn]:
    """Yield the distributions of the groups, the runs over each other."""
    found: list[Values] = []
    of_messages = wanted.of == "message_delay"
    for one in shown:
        table = one.messages if of_messages else one.packets
        if table is None:
            yield f"{NO_MESSAGES if of_messages else NO_CAPTURES}: {one.words}"
            continue
        for values in grouped_values(one, table, wanted.of, _window(wanted, one), wanted.overlay):
            if values.ms.is_empty():
                yield f"{values.name}: nothing arrived, {one.words}"
            else:
                found.append(values)
    if found:
        yield distribution_figure(
            found, of=wanted.of, id=stem, label=told(shown, wanted.overlay),
            window_s=_window(wanted, shown[0]),
        )  # fmt: skip


def _paths(wanted: FigureWanted, shown: Shown, stem: str) -> Iterator[Drawn]:
    several = [flow for flow in shown.cell.flows if flow.is_multihomed()]
    if not several:
        yield NO_PATHS
    for flow in several:
        states = shown.tables.path_states(flow.id)
        if states is None:
            yield NO_PATHS
            return
        told_of = Told(states=states, events=shown.tables.events())
        yield timeline_figure(
            told_of, flow, shown.cell, id=f"{stem}-{flow.id}", label=shown.label(flow),
            window_s=_window(wanted, shown),
        )  # fmt: skip


#: Title of each kind, and how it is drawn.
KINDS: dict[str, tuple[str, Draw]] = {
    "cwnd": ("Congestion window and slow-start threshold", _one(_cwnd)),
    "time_sequence": ("Time-sequence diagram", _one(_time_sequence)),
    "single_loss": ("The retransmission after one loss", _one(_single_loss)),
    "single_loss_cwnd": ("The congestion window around one loss", _one(_single_loss_cwnd)),
    "goodput_bins": ("Total goodput in short bins of time", _one(_goodput_bins)),
    "over_time": ("Over time", _over_time),
    "cdf": ("Distribution of delays", _cdf),
    "paths": ("What became of the paths", _one(_paths)),
}
