"""Does one printed column of flows follow from another, where measurements could not? Pure.

All flows of a dumbbell cross the same links and share one buffer, so their packets wait alike: a
flow's delay does not follow its rate, nor its jitter its delay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from model.run_files.study import Study
from model.run_files.summary_fields import TableRule
from model.run_files.summary_points import TableContradiction
from reports.published.tables import Printed, once, places

_RATE = re.compile(r"flow_goodput_(.+)_bps")
#: Fewer flows agree by chance.
MIN_FLOWS = 4
#: How close the derived numbers of all flows are, and how far apart the printed ones, at least.
SAME, APART = 1.01, 1.05


@dataclass(frozen=True)
class _Rule:
    """One check: what is derived of two columns, which of them varies, and what to say of it."""

    rule: TableRule
    title: str
    columns: tuple[str, str]
    derive: Callable[[float, float], float]
    varies: int
    text: str


_RULES = (
    _Rule(
        "rate-times-delay-constant",
        "rate times delay is the same for all flows",
        ("flow_goodput_{}_bps", "flow_owd_mean_{}_s"),
        lambda rate_bps, delay_s: rate_bps * delay_s / 1000,
        0,
        "printed rate times printed delay is {low:.2f} to {high:.2f} kbit for all {flows} flows, "
        "{same:.1f} % apart, while their rates are up to {apart:.0f} % apart. Packets that share "
        "one buffer wait alike, whatever their flow sends: measured delays do not follow the "
        "rates like this, delays computed from them do",
    ),
    _Rule(
        "jitter-over-delay-constant",
        "jitter over delay is the same for all flows",
        ("flow_jitter_{}_s", "flow_owd_mean_{}_s"),
        lambda jitter_s, delay_s: jitter_s / delay_s,
        1,
        "printed jitter over printed delay is {low:.5f} to {high:.5f} for all {flows} flows, "
        "{same:.1f} % apart, while their delays are up to {apart:.0f} % apart. How delays differ "
        "from packet to packet is not a fixed part of the delay: measured, the two columns vary "
        "by themselves, computed from each other they do not",
    ),
)


@dataclass(frozen=True)
class _Pairs:
    """Two printed numbers of each flow at some points, which print the same of them."""

    printed: tuple[Printed, ...]
    metrics: tuple[str, ...]
    values: tuple[tuple[float, float], ...]


def _flows(printed: Printed) -> list[str]:
    return [found[1] for name in printed.values if (found := _RATE.fullmatch(name))]


def _pairs(printed: Sequence[Printed], rule: _Rule) -> list[_Pairs]:
    """Return the flows that have both numbers, by what distinct rows print of them."""
    found: dict[tuple[tuple[float, float], ...], _Pairs] = {}
    for one in printed:
        names = [
            tuple(column.format(flow) for column in rule.columns)
            for flow in _flows(one)
            if all(one.values.get(column.format(flow)) for column in rule.columns)
        ]
        values = tuple((float(one.values[a]), float(one.values[b])) for a, b in names)
        if values:
            same = found[values].printed if values in found else ()
            metrics = tuple(name for pair in names for name in pair)
            found[values] = _Pairs((*same, one), metrics, values)
    return list(found.values())


def _apart(values: Sequence[float]) -> float:
    """Return the largest as a multiple of the smallest."""
    return max(values) / min(values)


def _finding(parts: Sequence[_Pairs], rule: _Rule) -> TableContradiction | None:
    values = [pair for part in parts for pair in part.values]
    derived = [rule.derive(*pair) for pair in values]
    if len(values) < MIN_FLOWS or min(derived) <= 0:
        return None
    varying = _apart([pair[rule.varies] for pair in values])
    if _apart(derived) > SAME or varying < APART:
        return None
    printed = [one for part in parts for one in part.printed]
    return TableContradiction(
        rule=rule.rule,
        where=places(printed),
        points=tuple(one.point for one in printed),
        metrics=tuple(dict.fromkeys(name for part in parts for name in part.metrics)),
        title=rule.title,
        text=rule.text.format(
            low=min(derived), high=max(derived), flows=len(values),
            same=100 * (_apart(derived) - 1), apart=100 * (varying - 1),
        ),
    )  # fmt: skip


def computed_columns(_study: Study, printed: tuple[Printed, ...]) -> Iterator[TableContradiction]:
    """Find derived columns: over all rows if all agree, else in single rows that do."""
    for rule in _RULES:
        parts = _pairs(printed, rule)
        if not parts:
            continue
        together = _finding(parts, rule)
        alone = (found for part in parts if (found := _finding([part], rule)))
        yield from once([together] if together else alone)
