"""How late a machine's netem lets packets go, as captures before and after it show."""

from __future__ import annotations

import polars as pl
import pytest

from collectors.audit import netem_punctuality
from tests.support.recorded import wireless_cell

CELL = wireless_cell()
OWD_S = CELL.wired.bottleneck.forward.owd_s


def captured(late_s: list[float]) -> pl.DataFrame:
    """Return packets that left the channel so late, and one that was lost in it."""
    rows = [
        row
        for number, late in enumerate(late_s)
        for row in (
            ("data", "loss_offered", number, number * 0.01, 1500),
            ("data", "loss_passed", number, number * 0.01 + OWD_S + late, 1500),
            ("data", "delivered", number, number * 0.01 + OWD_S + 9.0, 1500),
        )
    ]
    rows += [("data", "loss_offered", len(late_s), 99.0, 1500)]
    names = ("direction", "point", "packet", "t_s", "ip_bytes")
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(path=1)


@pytest.mark.parametrize(
    ("late_s", "agrees"),
    [
        ([0.0] * 100, True),
        ([0.004] * 100, True),  # less than a hundredth of the round trip of 508 ms
        ([0.0] * 199 + [0.5], True),  # how long one may stall is judged by wake-ups
        ([0.0] * 95 + [0.006] * 5, False),
    ],
)
def test_of_a_hundred_packets_one_may_be_late(late_s: list[float], agrees: bool) -> None:
    (found,) = netem_punctuality.checks(CELL, captured(late_s))
    assert (found.check, found.where, found.agrees) == ("netem in time", "the machine", agrees)
    assert found.wanted == "99% at most 5.08 ms late"
    assert found.got.endswith(f"all of {len(late_s)} at most {max(late_s) * 1e3:.2f} ms")


def test_where_nothing_passed_nothing_is_said() -> None:
    (found,) = netem_punctuality.checks(CELL, captured([]))
    assert found.agrees is None
