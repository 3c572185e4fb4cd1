"""The figures a study asks for, as ``resolved.json`` has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from model.run_files.json_file import MisfitError
from model.run_files.point import Point

#: When a bin of goodput may count data, and what of a flow may be drawn.
Counted = Literal["handed_on", "arrivals", "sent"]
DrawnOf = Literal["goodput", "delay", "jitter", "message_delay"]
#: Which of these a kind of figure can draw; the first is what it draws if nothing is said.
DRAWN_BY: dict[str, tuple[DrawnOf, ...]] = {
    "over_time": ("goodput", "delay", "jitter"),
    "cdf": ("delay", "jitter", "message_delay"),
}


@dataclass(frozen=True, kw_only=True)
class PublishedMark:
    """An event of a published figure; one of the heights is known, the others are None."""

    label: str | None = None
    at_s: float
    segment: float | None = None
    acked_segment: float | None = None
    cwnd_segments: float | None = None
    cwnd_bytes: float | None = None


@dataclass(frozen=True, kw_only=True)
class PublishedLoss:
    """The loss a published figure shows, by its own clock and numbers; None: not by number."""

    detected_s: float
    lost_segment: int | None = None
    marks: tuple[PublishedMark, ...]


@dataclass(frozen=True, kw_only=True)
class FigureWanted:
    """A figure the study asks for, and where; a key its kind does not have is None.

    ``to_s`` of None is the end of the run for kinds that have ``from_s``. ``where`` names the
    published figure it is the counterpart of, or by flow, of which alone it is then drawn.
    ``overlay`` is the parameter whose values are drawn over each other.
    """

    kind: str
    points: tuple[Point, ...]
    where: str | dict[str, str] | None = None
    from_s: float | None = None
    to_s: float | None = None
    bin_s: float | None = None
    before_s: float | None = None
    after_s: float | None = None
    modulo_segments: int | None = None
    together: bool = False
    count: Counted = "handed_on"
    of: DrawnOf = "goodput"
    overlay: str | None = None
    episode: int | None = None
    published: dict[str, PublishedLoss] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what the kind cannot draw, and overlays by what not every point has."""
        if self.of not in DRAWN_BY.get(self.kind, (self.of,)):
            wanted = " or ".join(DRAWN_BY[self.kind])
            raise MisfitError(f"a figure {self.kind} has none of it", where="of", wanted=wanted,
                              got=self.of)  # fmt: skip
        if self.overlay and not all(self.overlay in point.as_dict() for point in self.points):
            raise MisfitError("not swept", where="overlay", got=self.overlay)
