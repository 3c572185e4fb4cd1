"""When a sender is recovering from a loss, and what made it begin. Pure.

Invariant: a recovery lasts until all that was sent when it began is acknowledged cumulatively, or
until the table of episodes says, where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.words import how_many
from reports.wireshark.episodes import Episode
from reports.wireshark.words import nth

#: A sender that acts on an acknowledgement acts at once; timers do not know of acknowledgements.
AT_ONCE_S = 50e-6
#: Duplicates that mean a loss (RFC 5681, RFC 9260 section 7.2.4).
THRESHOLD = 3


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Why a sender repeats: ``by`` as in episodes.parquet, or ``silence``: timeout or probe."""

    by: str
    reports: int

    def text(self, what: str, report: str) -> str:
        """Return what the sender did.

        Args:
            what: what it repeats.
            report: what tells it of a loss: ``duplicate acknowledgement``.
        """
        return {
            "dupacks": f"fast retransmit of {what}, on the {nth(self.reports)} {report}",
            "rack": f"fast retransmit of {what}, by RACK, after {how_many(self.reports, report)}",
            "probe": f"tail loss probe: retransmission of {what}",
            "timeout": f"retransmission of {what} after timeout",
        }.get(self.by, f"retransmission of {what} after timeout or as tail loss probe")


class Recovery:
    """Follows one sender."""

    def __init__(self, episodes: Sequence[Episode]) -> None:
        self._episodes = episodes
        self._next = 0
        self._until: int | None = None
        self._episode: Episode | None = None
        self.after_timeout = False

    @property
    def going_on(self) -> bool:
        """Return whether the sender is recovering."""
        return self._until is not None

    def begin(self, t_s: float, sent_up_to: int, cause: Cause) -> Cause:
        """Begin at a retransmission; return its cause, the table's own if it knows this one."""
        self._episode = self._starting(t_s)
        if self._episode is not None and self._episode.by is not None:
            reports = self._episode.dupacks
            cause = Cause(
                by=self._episode.by, reports=cause.reports if reports is None else reports
            )
        if cause.by != "probe" or self._episode is not None:
            self._until = sent_up_to
            self.after_timeout = cause.by in ("timeout", "silence")
        return cause

    @property
    def windows(self) -> str:
        """Return, to be appended to what began it, what the sender made of its window."""
        return "" if self._episode is None else self._episode.reduced()

    def timed_out(self, sent_up_to: int) -> None:
        """Note a timeout while recovering: all that is out now must be acknowledged."""
        self.after_timeout = True
        if self._until is not None:
            self._until = max(self._until, sent_up_to)

    def _starting(self, t_s: float) -> Episode | None:
        while self._next < len(self._episodes):
            episode = self._episodes[self._next]
            if episode.begins_at(t_s):
                self._next += 1
                return episode
            if episode.detected_s > t_s:
                return None
            self._next += 1
        return None

    def acknowledged(self, t_s: float, up_to: int) -> str:
        """Return the comment on the acknowledgement that ends a recovery, else nothing."""
        if self._until is None:
            return ""
        if self._episode is not None and self._episode.recovered_s is not None:
            over = self._episode.over_at(t_s)
        else:
            over = up_to >= self._until
        if not over:
            return ""
        number = "" if self._episode is None else f" (loss episode {self._episode.number})"
        number += "" if self._episode is None else self._episode.left()
        self._until, self._episode, self.after_timeout = None, None, False
        return f"end of recovery: all that was out is acknowledged{number}"
