"""What batman-adv's answers say, byte by byte, and what is refused."""

from __future__ import annotations

import struct

import pytest

from mininet_topos.baselines.batman import (
    Mesh,
    check,
    next_hops,
    parse_mesh,
    parse_originators,
)
from model.errors import RunError

MESH = Mesh(interfaces=("wlan0",), address="10.1.0.1/24")


def way(there: int, over: int, quality: int, *, best: bool) -> dict[int, bytes]:
    said = {
        9: bytes([2, 0, 0, 0, 0, there]), 24: bytes([2, 0, 0, 0, 0, over]), 7: b"wlan0\0",
        25: bytes([quality]), 23: struct.pack("=I", 70_000),
    }  # fmt: skip
    return said | ({22: b""} if best else {})


def test_ways_are_in_order_and_the_best_counts() -> None:
    found = parse_originators([way(3, 1, 9, best=False), way(3, 2, 99, best=True),
                               way(1, 1, 255, best=True)])  # fmt: skip
    assert [(one.address[-2:], one.next_hop[-2:], one.quality) for one in found] == [
        ("01", "01", 255), ("03", "02", 99), ("03", "01", 9),
    ]  # fmt: skip
    assert found[0].last_seen_ms == 70_000
    assert found[0].interface == "wlan0"
    assert next_hops(found) == {
        "02:00:00:00:00:01": "02:00:00:00:00:01", "02:00:00:00:00:03": "02:00:00:00:00:02",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("algorithm", "interval_ms"), [(b"BATMAN_V\0", 1000), (b"BATMAN_IV\0", 2000)]
)
def test_other_mesh_is_refused(algorithm: bytes, interval_ms: int) -> None:
    check("n1", MESH, parse_mesh({2: b"BATMAN_IV\0", 57: struct.pack("=I", 1000)}))
    with pytest.raises(RunError, match="not as it was set"):
        check("n1", MESH, parse_mesh({2: algorithm, 57: struct.pack("=I", interval_ms)}))
