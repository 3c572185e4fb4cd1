"""``--margin METRIC=VALUE``: margins that a user gives in place of the metrics' own. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from model.errors import StudyError
from model.run_files.comparing.margins import Margin, margins
from model.run_files.comparing.own_results import GivenMargin
from model.run_files.study import Study
from testbed.study.metric_units import factor_of, units_of
from testbed.study.problems import one_of, suggestion

_VALUE = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)\s*(\S*)", re.ASCII)
_WHERE = "--margin"
_WHY = "as given"


def margins_of(
    words: Sequence[str], study: Study
) -> tuple[dict[str, Margin], tuple[GivenMargin, ...]]:
    """Return every metric's margin, and those that were given.

    A value is a part of the mean of both sides, ``5%``, or in a unit of the metric, ``2ms``; of a
    percentage or a fraction, ``2`` are its own points or parts.

    Raises:
        StudyError: a word is no margin.
    """
    of = margins((group.id for group in study.groups), study.flows)
    given = list[GivenMargin]()
    for word in words:
        metric, equals, text = word.partition("=")
        if not equals:
            raise StudyError("no margin", where=_WHERE, wanted="METRIC=VALUE", got=repr(word[:60]))
        if metric not in of:
            raise StudyError(
                "no such metric", where=_WHERE, wanted=one_of(of, suggestion(metric, of)),
                got=metric[:60], hint=suggestion(metric, of),
            )  # fmt: skip
        if any(one.metric == metric for one in given):
            raise StudyError("a margin for the second time", where=_WHERE, got=metric)
        of[metric] = _margin(metric, text.strip())
        given.append(GivenMargin(metric=metric, text=text.strip()))
    return of, tuple(given)


def _margin(metric: str, text: str) -> Margin:
    match = _VALUE.fullmatch(text)
    factor, relative = None, False
    if match:
        relative = match[2] == "%"
        factor = 0.01 if relative else _factor(metric, match[2])
    bound = float(match[1]) * factor if match and factor is not None else 0.0
    if not 0 < bound < math.inf:
        raise StudyError(
            "no margin", where=f"{_WHERE} {metric}", got=repr(text[:40]),
            wanted=f"more than 0, such as 5% or 2 {next(iter(units_of(metric)), '')}".rstrip(),
        )  # fmt: skip
    return Margin(metrics=(metric,), bound=bound, relative=relative, why=_WHY)


def _factor(metric: str, unit: str) -> float | None:
    """Return what a value in a unit is multiplied by; without one it is in the metric's own."""
    if not unit or unit == "points":
        return 1.0
    found = factor_of(metric, unit)
    return None if found is None or found[1] else found[0]
