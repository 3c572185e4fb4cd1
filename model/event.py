"""What happens to a link while a cell runs: it goes down or up, or one of its settings steps.

Standard library only, because the lab image reads it too. Invariant: of ``state``, ``rate_bps``,
``owd_s`` and ``loss_frac`` exactly one says something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Ways of a link that an event changes: data's, acknowledgements', or both.
EventWay = Literal["forward", "reverse", "both"]
LinkState = Literal["", "down", "up"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """One change of the link ``link`` (its name in the layout), ``t_s`` after the start of the run.

    A link that is down loses every packet that leaves its buffer, both ways.
    """

    id: str
    t_s: float
    link: str
    way: EventWay
    state: LinkState
    rate_bps: int | None
    owd_s: float | None
    loss_frac: float | None

    def ways(self) -> tuple[Literal["forward", "reverse"], ...]:
        """Return the ways it changes."""
        return ("forward", "reverse") if self.way == "both" else (self.way,)

    def words(self) -> str:
        """Return what happens, for messages."""
        if self.state:
            return f"{self.link} {self.state}"
        changes = {"rate_bps": self.rate_bps, "owd_s": self.owd_s, "loss_frac": self.loss_frac}
        said = ", ".join(f"{k} {v:.10g}" for k, v in changes.items() if v is not None)
        return f"{self.link} {self.way}: {said}"
