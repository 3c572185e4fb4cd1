"""Air time: totals of a medium that began before the run, over the time frames are sent in."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import polars as pl
import pytest

from collectors.raw.radios import airtime_rows
from collectors.tables import radio_files
from model import run_folder
from model.ad_hoc import RoutingProtocol
from model.run_files.metrics.declared import Bounds
from model.run_files.metrics.every import metric_bounds
from model.run_files.path_tables import AirtimeRow
from reports.verdict.limits import limits_of
from tests.unit.radio.test_radio_tables import (
    NETWORK,
    RUN_S,
    counted_by,
    left,
    medium,
    routers,
    written,
)

__all__ = ["left"]


def airtime(*, routed_all_along: bool = False) -> dict[str, AirtimeRow]:
    rows = airtime_rows(medium(), RUN_S, routed_all_along=routed_all_along)
    return {row.kind: row for row in rows}


def test_airtime_by_hand() -> None:
    found = airtime()
    assert list(found) == ["data", "broadcast", "management", "ack", "rts", "cts"]
    assert (found["rts"].air_s, found["cts"].air_frac) == (0, 0)
    assert found["data"].air_s == pytest.approx(18.281888)
    # 53 beacons or one more of 872 us each: 192 us and 85 bytes at 1 Mbit/s.
    assert found["management"].air_s == pytest.approx(6 * 53 * 872e-6)
    assert found["broadcast"].air_s == pytest.approx(3.2e-3)


def test_airtime_is_over_the_run_but_for_what_is_sent_all_the_time() -> None:
    """The medium ran for 55 s, 20 of them the run's: flows have no air time in the others."""
    found = airtime()
    assert found["data"].air_frac == pytest.approx(18.281888 / 20)
    assert {kind for kind, row in found.items() if row.over_s != RUN_S} == {"management"}
    # A beacon of each radio in 1.024 s, however long the run.
    assert found["management"].over_s == pytest.approx(55.263449344)
    assert found["management"].air_frac == pytest.approx(6 * 872e-6 / 1.024, rel=0.02)
    mesh = airtime(routed_all_along=True)
    assert mesh["broadcast"].air_frac == pytest.approx(3.2e-3 / 55.263449344)
    assert {kind for kind in found if mesh[kind] != found[kind]} == {"broadcast"}


def test_the_table(left: Path) -> None:
    written(left)
    table = pl.read_parquet(left / run_folder.AIRTIME_TABLE)
    assert [AirtimeRow(**row) for row in table.to_dicts()] == list(airtime().values())


@pytest.mark.parametrize(("protocol", "over_s"), [("aodv", 20.0), ("babel", 55.263449344)])
def test_messages_of_babel_are_over_the_life_of_the_medium(
    left: Path, monkeypatch: pytest.MonkeyPatch, protocol: RoutingProtocol, over_s: float
) -> None:
    routing = dataclasses.replace(NETWORK.routing, protocol=protocol)
    counted = counted_by(routers())[0]
    monkeypatch.setattr(radio_files, "counts", lambda *_: counted)
    written(left, dataclasses.replace(NETWORK, routing=routing))
    rows = pl.read_parquet(left / run_folder.AIRTIME_TABLE).to_dicts()
    (row,) = [row for row in rows if row["kind"] == "broadcast"]
    assert row["over_s"] == pytest.approx(over_s)


def test_a_medium_that_ended_before_the_run_did() -> None:
    with pytest.raises(ValueError, match=r"ran for 55\.26\d* s of a run of 60\.0 s"):
        airtime_rows(medium(), 60.0, routed_all_along=False)


@pytest.mark.parametrize("metric", ["air_data_frac", "air_rts_cts_frac"])
def test_signals_of_two_channels_may_add_up_to_more_than_all_the_time(metric: str) -> None:
    assert (limits_of(metric).low, limits_of(metric).high) == (0.0, None)
    assert metric_bounds(())[metric] == Bounds(least=0.0, most=math.inf)
    assert metric_bounds(())["rts_unanswered_frac"].most == limits_of("rts_unanswered_frac").high
