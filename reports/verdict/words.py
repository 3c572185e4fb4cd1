"""What a comparison says, in words a reader needs nothing else for. Pure; escaping is elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from model.run_files.point import Point, Scalar
from model.run_files.publication import Comparison
from model.run_files.quantity import PERCENT, Quantity
from model.run_files.study import Parameter
from reports.inference.decision import Decision
from reports.measures.metrics import Metric
from reports.measures.quantities import (
    called,
    interval,
    number,
    setting,
    setting_label,
    telling,
)
from reports.verdict.limits import limits_of_comparison, within

#: A difference of two percentages.
POINTS = Quantity("percentage points", PERCENT.scale, PERCENT.decimals)
#: How many times one difference another is.
TIMES = Quantity("", 1.0, 2)
#: Below this a p-value is said to be below it.
LEAST_P = 0.001


def p_words(p: float) -> str:
    """Return a p-value as shown: ``p < 0.001``, ``p = 0.012``."""
    return f"p < {LEAST_P:g}" if p < LEAST_P else f"p = {p:.2g}"


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


@dataclass(frozen=True)
class Words:
    """What readers call metrics (labels and units) and settings."""

    metrics: Mapping[str, Metric]
    parameters: Sequence[Parameter]

    def range(self, one: Comparison) -> str:
        """Return the values wanted: ``above 0 %``, ``between 14.9 and 30.6 %``."""
        quantity = self.quantity(one)

        def shown(bound: float) -> str:
            return f"{bound * quantity.scale:.10g}"

        unit = quantity.suffix
        if one.low is None and one.high is not None:
            return f"{'below' if one.strict else 'at most'} {shown(one.high)}{unit}"
        if one.high is None and one.low is not None:
            return f"{'above' if one.strict else 'at least'} {shown(one.low)}{unit}"
        if one.low is None or one.high is None:
            return "anything"
        if one.low == one.high:
            return f"exactly {shown(one.low)}{unit}"
        if one.versus and one.low == -one.high:
            return f"within {shown(one.high)}{unit} of 0"
        return f"between {shown(one.low)} and {shown(one.high)}{unit}"

    def result(self, one: Comparison, found: Decision) -> str:
        """Return what was found: ``5.2 % (95 % CI 3.1 to 7.3), 10 runs``, or why nothing was."""
        if found.estimate is None:
            return found.reason or "not known"
        text = self.short(one, found, "95 % CI ")
        return f"{text}, {found.reason}" if found.reason else text

    def short(self, one: Comparison, found: Decision, name: str = "") -> str:
        """Return the number found, with its interval: ``5.2 % (3.1 to 7.3)``; nothing for none."""
        if found.estimate is None:
            return ""
        quantity = self.quantity(one)
        text = f"{number(found.estimate, quantity)}{quantity.suffix}"
        if found.ci95:
            possible = within(limits_of_comparison(one), found.ci95)
            text += f" ({name}{interval(possible, quantity)})"
        return text

    def what(self, one: Comparison, naming: Sequence[str]) -> str:
        """Return what is compared, and where, by these settings."""
        if one.per is not None:
            difference = self.what(dataclasses.replace(one, per=None), naming)
            return f"{difference}: how many times that of {_lower_first(self._label(one.per))}"
        label = self._label(one.metric)
        where = self.point(one.point, naming)
        other = one.versus
        if other is None:
            return f"{label} at {where}" if where else label
        over = _lower_first(self._label(other.metric))
        sign = "in % of" if one.relative else "minus"
        if other.point == one.point:
            shared, _, own = label.rpartition(", ")
            if shared and over.startswith(f"{_lower_first(shared)}, "):
                over = self._label(other.metric).removeprefix(f"{shared}, ")
                label = f"{shared}, {own}"
            words = f"{label} {sign} {over}"
            return f"{words} at {where}" if where else words
        if other.metric != one.metric:
            return f"{label} at {where} {sign} {over} at {self.point(other.point, naming)}"
        return self._across(label, sign, one.point, other.point, naming)

    def _across(
        self, label: str, sign: str, one: Point, other: Point, naming: Sequence[str]
    ) -> str:
        """Return words for one metric at two points: what differs, then where both are."""
        here, there = one.as_dict(), other.as_dict()
        apart = [name for name in naming if here.get(name) != there.get(name)]
        shared = self.point(one, [name for name in naming if name not in apart])
        second = self.point(other, apart)
        if len(apart) == 1 and apart[0] in there:
            second = self._called(apart[0], there[apart[0]], "{value}")
        words = f"{label}, {self.point(one, apart)} {sign} {second}"
        return f"{words}, at {shared}" if shared else words

    def point(self, point: Point, naming: Sequence[str]) -> str:
        """Return a point by some of its settings: ``loss 0.8 %``, or by their labels."""
        values = point.as_dict()
        return ", ".join(self._called(name, values[name]) for name in naming if name in values)

    def _called(self, name: str, value: Scalar, plain: str = "") -> str:
        one = next((one for one in self.parameters if one.name == name), None)
        if one is None:
            return f"{name} {setting(name, value)}"
        return called(one, value, plain or f"{_lower_first(setting_label(one.path))} {{value}}")

    def naming(self, points: Iterable[Point]) -> tuple[str, ...]:
        """Return settings that tell these points apart, few of them, in the study's order.

        If there are labels, all labelled ones are among them, so a point is always called the same.
        """
        values = [point.as_dict() for point in dict.fromkeys(points)]
        order = [parameter.name for parameter in self.parameters]
        order += sorted({name for one in values for name in one} - set(order))
        labelled = [one.name for one in self.parameters if one.label and len(values) > 1]
        return telling(values, order, labelled)

    def _label(self, metric: str) -> str:
        return self.metrics[metric].label

    def quantity(self, one: Comparison) -> Quantity:
        """Return how what a comparison compares is shown."""
        quantity = self.metrics[one.metric].quantity
        if one.relative:
            return PERCENT
        if one.per is not None:
            return TIMES
        return POINTS if one.versus and quantity == PERCENT else quantity
