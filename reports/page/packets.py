"""What the HTML page shows of the packets: where they went, what the path did, what was checked.

Pure. Only runs that count are averaged; single runs are all shown. Escaping is the template's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.run_files.metrics.every import ALWAYS
from model.run_files.quantity import KBIT_PER_S, MILLISECONDS, SECONDS, Quantity
from model.run_files.study import Group
from model.run_files.traffic_tables import AuditRow, PathRow
from model.words import how_many
from reports.measures.path import PATH_FUNCTIONS
from reports.measures.quantities import UNKNOWN, number
from reports.page.grid import Grid, columns
from reports.page.places import place_head, place_of
from reports.page.result_tables import overview
from reports.store.run import FinishedCell, Run
from reports.verdict.summary import Summary

#: Columns of the audit as shown.
_FATES = (
    ("sent_pkts", "Sent"),
    ("access_dropped_pkts", "Dropped on access link"),
    ("queue_dropped_pkts", "Dropped by buffer"),
    ("loss_dropped_pkts", "Dropped by loss model, or listed"),
    ("exit_dropped_pkts", "Dropped on last link"),
    ("delivered_pkts", "Delivered"),
    ("in_flight_pkts", "Under way at the end"),
    ("unexplained_pkts", "Unexplained"),
)
_WAYS = {"data": "data", "ack": "acknowledgements"}
_PATHS: tuple[tuple[str, str, Quantity], ...] = (
    ("owd_mean_s", "One-way delay, mean (ms)", MILLISECONDS),
    ("owd_p95_s", "95th percentile (ms)", MILLISECONDS),
    ("jitter_mean_s", "Jitter (ms)", MILLISECONDS),
    ("queue_mean_s", "In the buffer (ms)", MILLISECONDS),
    ("connect_to_data_s", "First data (s)", SECONDS),
    ("ack_wire_rate_bps", "Acknowledgements (kbit/s)", KBIT_PER_S),
)


@dataclass(frozen=True, kw_only=True)
class PacketEvidence:
    """Tables of the evidence; ``paths`` is empty if no run was captured."""

    checks: str
    disagreeing: int
    fates: Grid
    paths: tuple[tuple[str, Grid], ...]
    cells: Grid


def metric_names(groups: Sequence[Group]) -> list[str]:
    """Return the metrics that are shown here and so nowhere else on the page."""
    shown = [one.name for one in ALWAYS if one.name in PATH_FUNCTIONS]
    return [name.format(group=group.id) for group in groups for name in shown]


def packet_evidence(run: Run, summary: Summary) -> PacketEvidence | None:
    """Return what the measuring cells' packets tell; None if no cell has an audit."""
    audited = [cell for cell in run.measured() if cell.evidence.rows]
    if not audited:
        return None
    every = (*summary.cells, *summary.sensitivity.cells)
    left_out = {cell.id for cell in every if cell.excluded is not None}
    counted = [cell for cell in audited if cell.plan.id not in left_out]
    words, disagreeing = _checks(audited)
    captured = any(cell.evidence.paths for cell in counted)
    return PacketEvidence(
        checks=words,
        disagreeing=disagreeing,
        fates=_fates(counted, summary),
        paths=_paths(summary) if captured else (),
        cells=_cells(audited, summary, left_out),
    )


def _paths(summary: Summary) -> tuple[tuple[str, Grid], ...]:
    means = "from captures: mean over runs, 95 % confidence interval in brackets"
    return tuple(
        (one.label, overview(summary, metric_names([one]), f"{one.label}, {means}"))
        for one in summary.groups
    )


def _checks(cells: Sequence[FinishedCell]) -> tuple[str, int]:
    agrees = [check.agrees for cell in cells for check in cell.evidence.checks]
    disagreeing = sum(one is False for one in agrees)
    words = (
        f"{sum(one is True for one in agrees)} of {how_many(len(agrees), 'comparison')} in "
        f"{how_many(len(cells), 'cell')} agree to the packet, {disagreeing} disagree"
    )
    unknown = [check for cell in cells for check in cell.evidence.checks if check.agrees is None]
    if unknown:
        names = ", ".join(sorted({check.check for check in unknown}))
        words += f"; {len(unknown)} could not be made ({names})"
    return words, disagreeing


def _of_group(cell: FinishedCell, group: Group, way: str) -> list[AuditRow]:
    flows = {flow.flow for flow in cell.flows if flow.group == group.id}
    return [row for row in cell.evidence.rows if row.flow in flows and row.direction == way]


def _mean_text(cells: Sequence[FinishedCell], group: Group, way: str, column: str) -> str:
    """Return the mean over cells of the sum over a group's flows; a dash if one is unknown."""
    values = [getattr(row, column) for cell in cells for row in _of_group(cell, group, way)]
    if not values or None in values:
        return UNKNOWN
    return f"{sum(values) / len(cells):.10g}" if column == "unexplained_pkts" else (
        f"{sum(values) / len(cells):.1f}"
    )  # fmt: skip


def _fates(cells: Sequence[FinishedCell], summary: Summary) -> Grid:
    rows = []
    for point in summary.points:
        here = [cell for cell in cells if cell.plan.point == point.point]
        for group in summary.groups:
            for way, words in _WAYS.items():
                fates = (_mean_text(here, group, way, column) for column, _ in _FATES)
                rows.append((place_of(point.point, summary), f"{group.label}, {words}", *fates))
    heads = (place_head(summary), "Packets", *(head for _, head in _FATES))
    return Grid("Packets per run: mean over the runs that count", columns("number", *heads), rows)


def _cells(cells: Sequence[FinishedCell], summary: Summary, left_out: set[str]) -> Grid:
    rows = []
    for cell in cells:
        paths = {path.flow: path for path in cell.evidence.paths}
        settings = place_of(cell.plan.point, summary)
        counts = "no" if cell.plan.id in left_out else "yes"
        for row in cell.evidence.rows:
            fates = (_integer(getattr(row, column)) for column, _ in _FATES)
            path = _path_texts(paths.get(row.flow) if row.direction == "data" else None)
            flow = f"{row.flow}, {_WAYS.get(row.direction, row.direction)}"
            rows.append((settings, str(cell.plan.seed), counts, flow, *fates, *path))
    heads = (*(head for _, head in _FATES), *(head for _, head, _ in _PATHS))
    return Grid(
        "Packets and delays of every run; what does not count is not averaged",
        columns("number", place_head(summary), "Seed", "Counts", "Flow", *heads),
        rows,
    )


def _integer(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)


def _path_texts(path: PathRow | None) -> tuple[str, ...]:
    if path is None:
        return (UNKNOWN,) * len(_PATHS)
    return tuple(number(getattr(path, column), quantity) for column, _, quantity in _PATHS)
