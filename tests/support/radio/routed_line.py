"""What holds of six nodes in a line whatever routes between them."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from model import run_folder
from testbed.campaign import digests
from tests.lab.ad_hoc.conftest import Left
from tests.support.study_file import Edit

#: All nodes in a line of 900 m; with this seed five hops lead from n1 to n2, over all others.
LINE: Edit = ("width: 700 m, height: 100 m", "width: 900 m, height: 1 m")
SEED, HOPS, NODES = 23, 5, 6


def mac(number: int) -> str:
    """Return the address of a node's radio, counted from 0."""
    return f"02:00:00:00:00:{number:02x}"


def marks(left: Left, node: str) -> list[dict[str, Any]]:
    """Return what was read of a node's routing, in its order."""
    text = (left.folder / f"raw/routing/{node}.jsonl").read_text()
    return [json.loads(one) for one in text.splitlines()]


def check_same_bytes(one: Left, other: Left) -> None:
    """Check that two runs left the same, and that it is all that is to be left."""
    first = digests.of_cell(one.folder)
    assert {run_folder.MEDIUM_CAPTURE, "raw/routing/n1.jsonl", "tables/radios.parquet"} <= {*first}
    assert digests.differences(first, digests.of_cell(other.folder)) == []


def adds_up(left: Left) -> list[dict[str, Any]]:
    """Check that no check of a cell was violated; return those of what was set."""
    for name in (run_folder.AUDIT, run_folder.VERIFY):
        checks = left.json(name)["checks"]
        assert checks
        assert [check for check in checks if check["agrees"] is False] == []
    set_up: list[dict[str, Any]] = left.json(run_folder.VERIFY)["checks"]
    return set_up


def check_arrives(left: Left) -> None:
    """Check what both flows of a line brought."""
    rows = pl.read_parquet(left.folder / run_folder.FLOWS_TABLE).to_dicts()
    goodput_bps = {row["flow"]: row["goodput_bps"] for row in rows}
    # Of 16 kbit/s of packets 512 of each 540 bytes are messages; five hops share one channel.
    assert goodput_bps["cbr"] == pytest.approx(16_000 * 512 / 540, rel=0.05)
    assert 20_000 < goodput_bps["main"] < 400_000


def check_calibrated(left: Left) -> None:
    """Check that a calibration's radios carried what they should, over one hop, both ways."""
    checks = [
        one
        for one in left.json(run_folder.VERIFY)["checks"]
        if one["check"] == "goodput over one hop"
    ]
    assert len(checks) == 2
    assert all(check["agrees"] for check in checks)


def check_association(left: Left, least_control_pkts: int) -> None:
    """Check that an association over two radios brought something, and both were routed."""
    rows = pl.read_parquet(left.folder / run_folder.RADIOS_TABLE).to_dicts()
    second = [(row["node"], row["radio"]) for row in rows[NODES:]]
    assert second == [("n1", "wlan1"), ("n2", "wlan1")]
    assert all(row["control_pkts"] >= least_control_pkts for row in rows)
    (main,) = pl.read_parquet(left.folder / run_folder.FLOWS_TABLE).filter(flow="main").to_dicts()
    assert main["goodput_bps"] > 10_000
