"""RTS and CTS of an ad-hoc network's radios, as studies ask for them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from mininet_topos.radio.dcf_theory import Dcf, one_sender_bps, saturated
from model import run_folder, units
from tests.lab.ad_hoc.conftest import Left, RunAdHoc
from tests.lab.ad_hoc.test_cells import (
    ALONE,
    FRAME_HEADERS_BYTES,
    LINE,
    NEAR,
    SEED,
    UDP_HEADERS_BYTES,
)
from tests.support.ad_hoc_study import STILL
from tests.support.study_file import Edit

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

RTS = Dcf(rts=True)
ALWAYS: Edit = ("carrier_sense: 550 m", "carrier_sense: 550 m, rts_threshold: 0 bytes")
#: Above a packet of TCP's acknowledgement alone, and below one with 1400 bytes.
LONG: Edit = ("carrier_sense: 550 m", "carrier_sense: 550 m, rts_threshold: 500 bytes")
FEW: tuple[Edit, ...] = (
    ("pairs: 2", "pairs: 1"), ("nodes: 6", "nodes: 2"), ("pair: 2", "pair: 1"),
)  # fmt: skip


def rows(left: Left, table: str) -> list[dict[str, Any]]:
    return pl.read_parquet(left.folder / table).to_dicts()


def total(left: Left, column: str) -> int:
    return sum(row[column] for row in rows(left, run_folder.RADIOS_TABLE))


def test_radios_calibrate_by_the_theory_with_rts(run_ad_hoc: RunAdHoc) -> None:
    left = run_ad_hoc("calibrate", *FEW, ALWAYS, purpose="calibrate")
    alone, shared = (c for c in left.json(run_folder.VERIFY)["checks"]
                     if c["check"] == "goodput over one hop")  # fmt: skip
    frame_bytes = 1000 + UDP_HEADERS_BYTES + FRAME_HEADERS_BYTES
    by_theory = (
        one_sender_bps(RTS, frame_bytes, 1000), saturated(RTS, 3, frame_bytes, 1000).goodput_bps,
    )  # fmt: skip
    for check, wanted_bps in zip((alone, shared), by_theory, strict=True):
        assert check["wanted"].startswith(units.format_rate(wanted_bps, digits=6))
        assert check["agrees"]
    medium = left.json(run_folder.MEDIUM)
    assert sum(medium["rts_collided"]) > 10, "three in one cell"
    assert medium["unicast_collided"] == [0] * 6, "all of a cell hear every CTS"


def test_a_saturating_sender_gets_what_the_dcf_with_rts_leaves(run_ad_hoc: RunAdHoc) -> None:
    left = run_ad_hoc("full", NEAR, STILL, *ALONE, ALWAYS)
    (flow,) = rows(left, "tables/flows.parquet")
    frame_bytes = 1000 + UDP_HEADERS_BYTES + FRAME_HEADERS_BYTES
    wanted_bps = one_sender_bps(RTS, frame_bytes, 1000)
    assert flow["goodput_bps"] == pytest.approx(wanted_bps, rel=0.02)
    assert total(left, "protected_attempts") == total(left, "rts_answered_attempts")
    assert 0 <= total(left, "protected_attempts") - total(left, "attempts") <= 1
    air_s = {row["kind"]: row["air_s"] for row in rows(left, run_folder.AIRTIME_TABLE)}
    # 192 us and 20 or 14 bytes at 1 Mbit/s each; one of either can be under way at the end.
    assert air_s["rts"] == pytest.approx(352e-6 * total(left, "rts_attempts"), abs=353e-6)
    assert air_s["cts"] == pytest.approx(304e-6 * total(left, "cts_attempts"), abs=305e-6)


def test_frames_up_to_the_threshold_are_sent_without(run_ad_hoc: RunAdHoc) -> None:
    left = run_ad_hoc("long", LINE, STILL, LONG, seed=SEED)
    for name in (run_folder.AUDIT, run_folder.VERIFY):
        checks = left.json(name)["checks"]
        assert checks
        assert [check for check in checks if check["agrees"] is False] == []
    protected, attempts = total(left, "protected_attempts"), total(left, "attempts")
    # TCP acknowledges every second segment at least, and each of either is a frame over one hop.
    assert 0.4 * attempts < protected < 0.75 * attempts
    assert total(left, "rts_attempts") >= protected
    assert total(left, "given_up_frames") == 0, "nobody moves, and all are in one line"
