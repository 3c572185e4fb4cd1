"""What happened: loss episodes and limits of a group's flows over the runs that count. Pure.

Invariants: a distribution is over all episodes whose value is known, and says of how many; what no
run recorded is null with a reason, never 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from model.run_files.study import Group
from model.run_files.summary_points import Distribution, Episodes, GroupStory
from reports.store.run import FinishedCell
from reports.store.story_tables import Row

#: What is given as a distribution over episodes.
MEASURES = (
    "lost_pkts", "dupacks", "new_data_pkts", "retransmitted_pkts", "cwnd_before_bytes",
    "cwnd_after_bytes", "ssthresh_after_bytes", "detect_s", "recover_s",
)  # fmt: skip
#: What of limits.parquet is given as one.
LIMITS = (
    "recovering_frac", "cwnd_frac", "rwnd_frac", "sender_frac", "unknown_frac",
    "bottleneck_busy_frac", "tcp_busy_s", "tcp_rwnd_limited_s", "tcp_sndbuf_limited_s",
    "loss_frac", "rtt_s", "rto_s", "rate_bps", "sqrt_bound_bps", "pftk_bound_bps",
    "rate_of_sqrt_frac", "rate_of_pftk_frac",
)  # fmt: skip
#: A detection whose kind the events do not tell, or that never came.
NOT_KNOWN = "not known"
S_PER_THOUSAND = 1000
Value = TypeVar("Value", int, str)


def stories(cells: Sequence[FinishedCell], groups: Sequence[Group]) -> tuple[GroupStory, ...]:
    """Return each group's story over the runs of a point that count."""
    return tuple(_story(cells, group.id) for group in groups)


def _story(cells: Sequence[FinishedCell], group: str) -> GroupStory:
    told = [cell for cell in cells if cell.episodes is not None]
    bounded = [cell for cell in cells if cell.limits is not None]
    members = {f.id for cell in cells for f in cell.cell.flows if f.group == group}
    numbered = any(
        f.group == group and f.protocol != "udp" for cell in cells for f in cell.cell.flows
    )
    reasons = []
    if not cells:
        reasons.append("no run counts")
    elif not numbered:
        reasons.append("UDP does not tell losses")
    elif not told:
        reasons.append("no run was captured or recorded the kernel's events")
    elif len(told) < len(cells):
        reasons.append(f"{len(told)} of {len(cells)} runs recorded episodes")
    if numbered and told and not bounded:
        reasons.append("no run recorded what limited it: the kernel's events were off")
    return GroupStory(
        group=group,
        episodes=_episodes(told, members) if told and numbered else None,
        limits=_limits(bounded, members) if bounded and numbered else None,
        reason="; ".join(reasons) or None,
    )


def _of(rows: Sequence[Row] | None, members: set[str]) -> list[Row]:
    return [row for row in rows or () if row["flow"] in members]


def _episodes(cells: Sequence[FinishedCell], members: set[str]) -> Episodes:
    by_run = [_of(cell.episodes, members) for cell in cells]
    rows = [row for run in by_run for row in run]
    bases = {str(row["basis"]) for row in rows}
    return Episodes(
        basis="mixed" if len(bases) > 1 else next(iter(bases), _recorded(cells)),
        runs=len(cells),
        episodes=len(rows),
        per_run=distribution([len(run) for run in by_run]),
        per_1000_s=len(rows) / _sending_s(cells, members) * S_PER_THOUSAND,
        detected_by=_counted([row["detected_by"] or NOT_KNOWN for row in rows]),
        dupacks=_counted([row["dupacks"] for row in rows if row["dupacks"] is not None]),
        timeouts=sum(row["timeouts"] or 0 for row in rows),
        measures={name: distribution([row[name] for row in rows]) for name in MEASURES},
    )


def _sending_s(cells: Sequence[FinishedCell], members: set[str]) -> float:
    """Return for how long flows of a group were to send in these runs, together."""
    return math.fsum(
        flow.stop_s - flow.start_s for cell in cells for flow in cell.cell.flows
        if flow.id in members
    )  # fmt: skip


def _recorded(cells: Sequence[FinishedCell]) -> str:
    """Return what runs without a single episode would have told it by."""
    captured = {cell.cell.collect.pcap for cell in cells}
    return "mixed" if len(captured) > 1 else "captures" if True in captured else "telemetry"


def _counted(values: list[Value]) -> dict[Value, int]:
    return dict(sorted(Counter(values).items()))


def _limits(cells: Sequence[FinishedCell], members: set[str]) -> dict[str, Distribution]:
    rows = [row for cell in cells for row in _of(cell.limits, members)]
    return {name: distribution([row[name] for row in rows]) for name in LIMITS}


def distribution(values: Sequence[float | None]) -> Distribution:
    """Return mean, median and 95 % quantile (interpolated linearly) of the known values."""
    numbers = np.array([value for value in values if value is not None], dtype=np.float64)
    if not len(numbers):
        return Distribution(mean=None, median=None, p95=None, n=0)
    return Distribution(
        mean=float(numbers.mean()),
        median=float(np.median(numbers)),
        p95=float(np.quantile(numbers, 0.95)),
        n=len(numbers),
    )
