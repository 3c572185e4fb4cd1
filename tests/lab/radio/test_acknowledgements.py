"""Acknowledgements are counted on radios as on wires: at wlan0 of the host that they leave."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

KNOWN = ["ping", "-c", "4", "-i", "0.2", "-W", "1"]
PORT = "--port=5001"


@pytest.mark.parametrize(
    ("protocol", "counter", "sent"),
    [("tcp", "all_ack_pkts", "segs_out"), ("sctp", "all_sack_pkts", "sacks_out")],
)
def test_the_count_is_that_of_the_socket(
    run_radios: Any, protocol: str, counter: str, sent: str
) -> None:
    receive = [f"/gt/code/bin/{protocol}_recv", "--bind=10.0.0.2", PORT, "&"]
    send = [f"/gt/code/bin/{protocol}_send", "--host=10.0.0.2", PORT, "--duration-s=2"]
    flow = {"flow": "F", "protocol": protocol, "port": 5001, "node": "n1", "devices": ["wlan0"]}
    ran = run_radios(
        [[0, 0], [200, 0]],
        [["n0", *KNOWN, "10.0.0.2"], ["n1", *receive], 0.5, ["n0", *send]],
        acknowledgements=[flow],
    )
    left = json.loads((ran.folder / "said.json").read_text())
    assert left["hung"] == [True]
    (row,) = left["acknowledgements"]
    totals = json.loads(ran.said[-1].splitlines()[-1])
    assert totals["end"] in ("eof", "shutdown")
    assert row[counter] == totals[sent] > 50
    least_bytes = {"tcp": 40, "sctp": 48}[protocol]
    assert row["all_ack_ip_bytes"] >= least_bytes * row["all_ack_pkts"]
    assert row["ack_pkts"] == row["all_ack_pkts"]
