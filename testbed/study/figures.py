"""What a study asks to be drawn: figures, and what a publication marks in its own.

Which keys a kind has is in :data:`testbed.study.vocabulary.FIGURES`; what several must agree on is
checked in :mod:`testbed.study_checks.figures`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PlainValidator, WithJsonSchema

from model import units
from testbed.study.problems import SettingError
from testbed.study.setting_types import (
    Counted,
    DelayS,
    DrawnOf,
    DurationS,
    FigureKind,
    FlowName,
    PointValue,
    Settings,
    StopS,
    Text,
    WhenS,
)

PLACE = "a published figure such as Figure 4, or one by flow"


def _place(value: object) -> str | dict[str, str]:
    """Return where in the publication a figure stands, or that by flow."""
    texts = list(value.values()) if isinstance(value, dict) else [value]
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise SettingError("wrong kind", wanted=PLACE, got=units.shown(value))
    return dict(value) if isinstance(value, dict) else str(value)


Place = Annotated[
    str | dict[str, str],
    PlainValidator(_place),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}},
            ]
        }
    ),
]


class Mark(Settings):
    """One event of a published figure: when, and at what height of the diagram."""

    label: Text | None = Field(None, description="a word or two, such as M")
    at_s: DelayS = Field(alias="time", description="the printed time, such as '2.880 s'")
    segment: int | None = Field(None, ge=0, description="the number of a segment that is sent")
    acked_segment: int | None = Field(
        None, ge=0, alias="acknowledged", description="the last segment acknowledged in order"
    )
    cwnd_segments: float | None = Field(None, ge=0, description="a window in segments")
    cwnd_bytes: float | None = Field(None, ge=0, description="a window in bytes")


class PublishedLoss(Settings):
    """The loss a published figure shows: its own clock and numbers, and what it marks."""

    detected_s: DelayS = Field(
        alias="detected", description="when the sender acted, as printed, such as '2.880 s'"
    )
    lost_segment: int | None = Field(
        None, ge=0, alias="lost", description="the lost segment's number"
    )
    marks: tuple[Mark, ...] = Field(min_length=1, description="a list of events")


class Figure(Settings):
    """A figure of the publication to be drawn from the kernel's runs, and at which points."""

    kind: FigureKind = Field(description="a figure such as cwnd")
    where: Place | None = Field(
        None, description="the published figure, such as Figure 4; by flow: of just these flows"
    )
    from_s: WhenS = Field(0.0, alias="from", description="a time such as '100 s'")
    to_s: StopS = Field("end", alias="to", description="a time, or end")
    bin_s: DurationS = Field(0.1, alias="bin", description="a time such as '100 ms'")
    before_s: DelayS = Field(1.0, alias="before", description="a time such as '1 s'")
    after_s: DurationS = Field(3.0, alias="after", description="a time such as '3 s'")
    modulo_segments: int | None = Field(
        None, ge=2, le=1_000_000, alias="modulo", description="a number such as 100"
    )
    together: bool = Field(False, description="true: all flows in one diagram")
    count: Counted = Field("handed_on", description="handed_on, arrivals or sent")
    of: DrawnOf | None = Field(None, description="goodput, delay, jitter or message_delay")
    overlay: Text | None = Field(
        None, description="a swept setting: its values are drawn over each other"
    )
    episode: int | None = Field(
        None, ge=0, description="a loss episode's number, from 0; none: the first packet lost alone"
    )
    published: dict[FlowName, PublishedLoss] = Field({}, description="published events, by flow")
    at: dict[str, PointValue] = Field(
        {}, description="a mapping of swept settings to values; none: every point"
    )
