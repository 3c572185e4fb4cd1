"""Whether a medium's counters add up: every frame and every transmission has one fate.

Pure. The counters are the last line of ``wifi_medium``: a column for each, a number per radio.
Invariant: every sum is compared exactly, over integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

OUTCOMES = (
    "delivered", "duplicate", "collided", "out_of_range", "receiver_sending", "other_channel",
    "no_such_radio", "under_way",
)  # fmt: skip
FATES = ("acked", "group_done", "given_up", "dropped_full", "waiting_at_end")


@dataclass(frozen=True, kw_only=True)
class Sum:
    """Two numbers that must be equal, and what they are."""

    what: str
    wanted: int
    got: int

    @property
    def closes(self) -> bool:
        """Return whether they are equal."""
        return self.wanted == self.got


def audit(totals: Mapping[str, Any]) -> list[Sum]:
    """Return every sum of a medium's counters, of each radio and over all."""
    count = int(totals["radios"])
    sums = [each for radio in range(count) for each in _of_radio(totals, radio, count)]
    return sums + list(_over_all(totals, count))


def mistakes(totals: Mapping[str, Any]) -> list[str]:
    """Return a line for each sum that does not close; none: it all adds up."""
    return [
        f"{each.what}: wanted {each.wanted}, got {each.got}"
        for each in audit(totals)
        if not each.closes
    ]


def _of_radio(totals: Mapping[str, Any], radio: int, count: int) -> Iterator[Sum]:
    def at(*names: str) -> int:
        return sum(_column(totals, name, count)[radio] for name in names)

    def outcomes(of: str) -> int:
        return at(*(f"{of}_{outcome}" for outcome in OUTCOMES))

    name = f"radio {radio}"
    yield Sum(what=f"{name}: fates of frames", wanted=at("handed_in"), got=at(*FATES))
    yield Sum(
        what=f"{name}: outcomes of unicast transmissions",
        wanted=at("unicast_attempts"), got=outcomes("unicast"),
    )  # fmt: skip
    yield Sum(
        what=f"{name}: outcomes of group transmissions at all other radios",
        wanted=at("group_attempts") * (count - 1), got=outcomes("group"),
    )  # fmt: skip
    yield Sum(
        what=f"{name}: unicast transmissions answered, timed out or open",
        wanted=at("unicast_attempts"), got=at("acked", "timeouts", "open_at_end"),
    )  # fmt: skip
    yield Sum(
        what=f"{name}: time-outs",
        wanted=at("timeouts", "cts_timeouts"), got=at("retries", "given_up"),
    )  # fmt: skip
    yield Sum(
        what=f"{name}: ACKs owed", wanted=at("acks_due"),
        got=at("acks_sent", "acks_unsent", "acks_due_at_end"),
    )  # fmt: skip
    yield Sum(what=f"{name}: outcomes of ACKs", wanted=at("acks_sent"), got=outcomes("ack"))
    yield Sum(what=f"{name}: outcomes of RTS", wanted=at("rts_attempts"), got=outcomes("rts"))
    yield Sum(
        what=f"{name}: RTS answered, timed out or open",
        wanted=at("rts_attempts"), got=at("rts_answered", "cts_timeouts", "rts_open_at_end"),
    )  # fmt: skip
    yield Sum(
        what=f"{name}: frames sent after a CTS",
        wanted=at("rts_answered"), got=at("protected_attempts", "cleared_at_end"),
    )  # fmt: skip
    yield Sum(
        what=f"{name}: CTS owed", wanted=at("cts_due"),
        got=at("cts_sent", "cts_unsent", "cts_refused", "cts_due_at_end"),
    )  # fmt: skip
    yield Sum(what=f"{name}: outcomes of CTS", wanted=at("cts_sent"), got=outcomes("cts"))


def _over_all(totals: Mapping[str, Any], count: int) -> Iterator[Sum]:
    def total(*names: str) -> int:
        return sum(sum(_column(totals, name, count)) for name in names)

    yield Sum(
        what="unicast frames decoded and ACKs owed",
        wanted=total("unicast_delivered", "unicast_duplicate"), got=total("acks_due"),
    )  # fmt: skip
    yield Sum(
        what="ACKs decoded and frames acknowledged",
        wanted=total("ack_delivered"), got=total("acked"),
    )  # fmt: skip
    yield Sum(what="RTS decoded and CTS owed", wanted=total("rts_delivered"), got=total("cts_due"))
    yield Sum(
        what="CTS decoded and RTS answered",
        wanted=total("cts_delivered"), got=total("rts_answered"),
    )  # fmt: skip
    yield Sum(
        what="frames given to the kernel",
        wanted=total("unicast_delivered", "group_delivered"), got=total("taken_in"),
    )  # fmt: skip
    # Of frames, and of what became of those that it handed in.
    yield Sum(
        what="what was told the kernel and it refused", wanted=0,
        got=int(totals["refused_messages"]),
    )  # fmt: skip


def _column(totals: Mapping[str, Any], name: str, count: int) -> Sequence[int]:
    column: Sequence[int] = totals[name]
    if len(column) != count:
        raise ValueError(f"{name}: {len(column)} numbers for {count} radios")
    return column
