"""Hypotheses on why a result differs from the published: mechanisms that can be as published.

Invariant: a hypothesis changes one mechanism, by a patch of the kernel or by settings of the hosts,
never by both, and names the parameter of the host profile that it restores.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from testbed.study.claims import Predicate
from testbed.study.host_profile_form import KnobGroups
from testbed.study.setting_types import Settings, StudyName, Text

#: What is told of an effect: in the metric's unit, in % of the metric without it, or in % of the
#: metric with all mechanisms as published.
Measure = Literal["change", "percent", "share"]


class Hypothesis(KnobGroups):
    """One mechanism as the publication has it: a patch, or settings in place of the profile's."""

    id: StudyName = Field(description="a name such as sctp-4th-duplicate")
    text: Text = Field(description="the mechanism as published, and the kernel's own")
    restores: Text = Field(description="the parameter of the host profile that it is about")
    patch: StudyName | None = Field(None, description="a patch of the lab's kernel")


class Explanation(Settings):
    """A claim that mechanisms explain something: what turning them must do to a metric."""

    claim: StudyName = Field(description="a claim of the study that is untested by itself")
    by: tuple[StudyName, ...] = Field(min_length=1, description="a list of hypotheses")
    metric: str = Field(description="a metric")
    measure: Measure = Field(
        description="change, percent of the metric without them, or share in % of it with all"
    )
    at: dict[str, Any] = Field(
        {}, description="a mapping of swept settings to a value or a list; none: every point"
    )
    is_: Predicate = Field(alias="is", description="a predicate such as {below: 0}")
