"""What hosts ask of their routes, where a daemon sets these: TCP's connections have it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from model import run_folder
from tests.lab.ad_hoc.conftest import Left, RunAdHoc
from tests.lab.ad_hoc.test_cells import LINE, SEED
from tests.support.ad_hoc_study import STILL
from tests.support.study_file import Edit

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

NO_MEMORY = "        sysctl: {net.ipv4.tcp_no_metrics_save: 1}\n"
ROUTES = """\
        route_sender: {initcwnd: 3}
        route_receiver: {initrwnd: 4, rto_min: 500ms}
"""
ASKED: Edit = (NO_MEMORY, NO_MEMORY + ROUTES)
#: Linux's own (RFC 6928).
OWN_SEGMENTS = 10


@pytest.fixture(scope="module")
def asked(run_ad_hoc: RunAdHoc) -> Left:
    return run_ad_hoc("asked", LINE, STILL, ASKED, seed=SEED)


def said(left: Left, event: str) -> dict[str, Any]:
    """Return what the sender of the one TCP connection says at an event."""
    lines = (left.folder / "raw/flows/main.sender.jsonl").read_text().splitlines()
    (found,) = (line for line in map(json.loads, lines) if line["event"] == event)
    return dict(found)


def test_it_is_read_back_at_the_nodes_of_that_side(asked: Left) -> None:
    checks = [c for c in asked.json(run_folder.VERIFY)["checks"]
              if c["check"].startswith("route option ")]  # fmt: skip
    assert {(c["where"], c["check"].split()[-1], c["wanted"], c["got"]) for c in checks} == {
        *((node, "initcwnd", "3", "3") for node in ("n1", "n3")),
        *((node, "initrwnd", "4", "4") for node in ("n2", "n4")),
        *((node, "rto_min", "500ms", "500") for node in ("n2", "n4")),
    }
    assert all(check["agrees"] for check in checks)


def test_a_connection_that_waited_for_its_route_begins_with_that_window(
    asked: Left, run_ad_hoc: RunAdHoc
) -> None:
    own = run_ad_hoc("own", LINE, STILL, seed=SEED)
    for left, segments in ((asked, 3), (own, OWN_SEGMENTS)):
        router = left.totals("raw/routing/n1")
        assert router["buffered_packets"] > 0, "the SYN waited"
        assert router["reinjected_packets"] == router["buffered_packets"]
        assert said(left, "effective")["snd_cwnd_segments"] == segments


def test_the_ledger_says_so(asked: Left) -> None:
    (entry,) = asked.json(run_folder.LEDGER)
    rows = {(row["name"], row["value"]): row for row in entry["knobs"]}
    row = rows["initcwnd", "3"]
    assert row["read_back"] == {"n1": "3", "n3": "3"}
    assert row["agrees"]
