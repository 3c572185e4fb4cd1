"""What a publication claims, as the study file says it: a predicate over metrics, or why none can.

Invariant: numbers are in the unit that ends the metric's name. What the parts of a claim must agree
on is checked in :mod:`testbed.study_checks.claims`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from model import units
from testbed.study.problems import SettingError, one_of, suggestion
from testbed.study.setting_types import Settings, StudyName, Text

#: Words that say how a metric goes along a swept setting.
TRENDS = ("falling", "rising")


class Predicate(Settings):
    """What values are wanted: exactly one of its keys."""

    above: float | None = Field(None, description="a number in the metric's unit")
    below: float | None = Field(None, description="a number in the metric's unit")
    at_least: float | None = Field(None, description="a number in the metric's unit")
    at_most: float | None = Field(None, description="a number in the metric's unit")
    between: tuple[float, ...] | None = Field(
        None, description="two numbers in the metric's unit, such as [14.9, 30.6]"
    )
    equal_within: float | None = Field(
        None, ge=0, description="the most the two may differ by, in the metric's unit"
    )
    peak: Any = Field(None, description="the value of the setting in 'along' with the highest")

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = sorted(self.model_fields_set)
        if len(given) != 1 or getattr(self, given[0]) is None:
            wanted = f"one of {', '.join(Predicate.model_fields)}; or falling, or rising"
            raise SettingError("not one predicate", wanted=wanted, got=", ".join(given) or "none")
        if self.between is not None and (
            len(self.between) != 2 or self.between[0] > self.between[1]
        ):
            got = ", ".join(f"{bound:g}" for bound in self.between) or "none"
            raise SettingError("no range", wanted="two numbers, the lesser first", got=got)
        return self


class Trend(Predicate):
    """The word ``falling`` or ``rising``, which has no number."""

    falling: bool

    @model_validator(mode="after")
    def _one(self) -> Self:
        return self


def _trend(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value not in TRENDS:
        hint = suggestion(value, TRENDS)
        wanted = f"{one_of(TRENDS)}, or a mapping such as {{above: 0}}"
        raise SettingError("unknown predicate", wanted=wanted, got=units.shown(value), hint=hint)
    return Trend(falling=value == "falling")


class _OrWord:
    """Says in a JSON Schema that a word may stand for the mapping."""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"anyOf": [{"enum": list(TRENDS)}, handler(core_schema)]}


Is = Annotated[Predicate, BeforeValidator(_trend), _OrWord()]


class Versus(Settings):
    """What a metric is compared with: another, the same elsewhere, or another elsewhere."""

    metric: str | None = Field(None, description="a metric; none: the claim's own")
    metrics: tuple[str, ...] = Field((), description="as many metrics as the claim's, in order")
    at: dict[str, Any] = Field({}, description="the swept settings that differ, and their values")


#: Of what a predicate can be true one by one, not on average.
Each = Literal["points", "metrics", "losses"]


class Claim(Settings):
    """One claim: a predicate that must be true of each metric at each point, or why none is."""

    id: StudyName = Field(description="a name such as sctp-ahead")
    text: Text = Field(description="the claim in words")
    where: Text = Field(description="its place in the publication, or whose it is")
    untested: Text | None = Field(None, description="why no predicate over metrics can say it")
    metric: str | None = Field(None, description="a metric")
    metrics: tuple[str, ...] = Field((), description="a list of metrics, each of which must")
    at: dict[str, Any] = Field(
        {}, description="a mapping of swept settings to a value or a list; none: every point"
    )
    each: tuple[Each, ...] = Field(
        (), description="of what the claim says each, every or all: points, metrics, losses"
    )
    versus: Versus | None = Field(None, description="what the metric is compared with")
    relative: bool = Field(False, description="true: the difference is in % of versus")
    per: str | None = Field(
        None, description="a metric: how many times its difference the difference is"
    )
    along: str | None = Field(None, description="a swept setting, for falling, rising and peak")
    suspects: tuple[Text, ...] = Field(
        (), description="parameters of the host profile that may decide it otherwise"
    )
    is_: Is | None = Field(
        None, alias="is", description="a predicate such as {above: 0}, falling or rising"
    )

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics, however they are given."""
        return self.metrics or ((self.metric,) if self.metric is not None else ())

    @property
    def versus_names(self) -> tuple[str, ...]:
        """The metric each is compared with, where there is a ``versus``."""
        if self.versus is None:
            return ()
        if self.versus.metric is not None:
            return (self.versus.metric,) * len(self.names)
        return self.versus.metrics or self.names
