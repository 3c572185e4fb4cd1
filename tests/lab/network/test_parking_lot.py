"""A parking lot on the wire: each bottleneck is as asked, and flows share those they should."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mininet_topos.parking_lot import ParkingLot
from model.cell import cell_json
from testbed.campaign import calibration_checks
from testbed.guest import link_fill
from testbed.labs.virtual.virtual_lab import PROPERTIES
from tests.support.recorded import wireless_cell

PROGRAM = Path(__file__).parent / "programs" / "parking_lot.py"
OPTIONS: dict[str, Any] = {
    "bottlenecks": 3, "queue_pkts": 10, "bottleneck1_rate_bps": 2_000_000,
    "bottleneck1_owd_s": 0.02, "bottleneck2_rate_bps": 1_000_000, "bottleneck2_owd_s": 0.25,
    "bottleneck2_queue_pkts": 25, "bottleneck3_rate_bps": 4_000_000, "bottleneck3_owd_s": 0.005,
    "bottleneck3_reverse_rate_bps": 128_000, "bottleneck3_reverse_queue_pkts": 4,
}  # fmt: skip
#: Only bottleneck 2 is offered more than it carries: 1.3 Mbit/s of 1.
RATES_BPS = {"L": 500_000, "X1": 600_000, "X2": 800_000, "X3": 700_000}
LASTS_S = 20.0
Row = dict[str, Any]


@pytest.fixture(scope="module")
def folder(script_once: Callable[..., Path]) -> Path:
    """What the parking lot left, measured once."""
    template = wireless_cell()
    flow = dataclasses.replace(
        template.flows[0], protocol="udp", message_bytes=1472, stop_s=LASTS_S
    )
    flows = tuple(
        dataclasses.replace(flow, id=id_, source=i, destination=i, port=5001 + i, rate_bps=rate_bps)
        for i, (id_, rate_bps) in enumerate(RATES_BPS.items())
    )
    cell = cell_json(dataclasses.replace(template, flows=flows))
    return script_once(
        f"cat >/cell/flows.json <<'EOF'\n{cell}EOF\n"
        f"cat >/tmp/program.py <<'EOF'\n{PROGRAM.read_text()}EOF\n"
        f"python3 -B /tmp/program.py '{json.dumps(OPTIONS)}' >/cell/said.txt 2>&1\n"
    )


def value(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


def test_it_reads_back_as_asked(folder: Path) -> None:
    assert value(folder, "disagree.json") == []


def test_rate_buffer_and_delay_of_each_bottleneck_on_the_wire(folder: Path) -> None:
    found = value(folder, "fills.json")
    fills = [f for f in link_fill.fills_of(ParkingLot.lay_out(**OPTIONS)) if f.name in found]
    assert len(fills) == 6  # both ways of three
    for fill in fills:
        path = folder / found[fill.name]["log"]
        log = calibration_checks.read_log(path.read_text(), str(path))
        checks = calibration_checks.check_fill(
            fill, found[fill.name]["ip_bytes"], log, PROPERTIES.tolerances
        )
        assert [check.check for check in checks] == ["rate", "buffer"]
        assert [check for check in checks if not check.agrees] == []
        # The first packet finds the link empty: its own serialisation, then the delay.
        first = min(log, key=lambda packet: packet.seq)
        delay_s = (first.recv_ns - first.send_ns) / 1e9 - fill.send_s()
        assert abs(delay_s - fill.direction.owd_s) <= PROPERTIES.tolerances.delay_s, fill.name


def test_a_bottleneck_that_is_another_one_is_caught(folder: Path) -> None:
    found = value(folder, "fills.json")
    fills = {f.name: f for f in link_fill.fills_of(ParkingLot.lay_out(**OPTIONS))}
    one, other = fills["fill_r1_r2"], fills["fill_r2_r3"]
    path = folder / found[one.name]["log"]
    log = calibration_checks.read_log(path.read_text(), str(path))
    checks = calibration_checks.check_fill(
        other, found[one.name]["ip_bytes"], log, PROPERTIES.tolerances
    )
    assert not any(check.agrees for check in checks)


def counted(rows: list[Row], counter: str) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        if row["counter"] == counter:
            found.setdefault(row["flow"], {})[row["device"]] = row["packets"]
    return found


def test_flows_share_the_bottlenecks_they_cross(folder: Path) -> None:
    rows = value(folder, "counters.json")
    offered, passed = counted(rows, "queue_offered"), counted(rows, "loss_offered")
    sent = {flow: totals(folder, flow)["packets"] for flow in RATES_BPS}
    one, two, three = "r1-bottleneck1", "r2-bottleneck2", "r3-bottleneck3"
    assert {flow: list(at) for flow, at in offered.items()} == {
        "L": [one, two, three], "X1": [one], "X2": [two], "X3": [three],
    }  # fmt: skip
    assert offered["X1"][one] == sent["X1"]
    assert offered["X2"][two] == sent["X2"]
    assert offered["X3"][three] == sent["X3"]
    # The long flow loses at the second bottleneck only, where it meets the second cross flow.
    assert offered["L"][one] == offered["L"][two] == sent["L"]
    survivors = offered["L"][three]
    assert survivors == passed["L"]["r3-bottleneck2"] < sent["L"]
    drops = {device: dropped(folder, device) for device in (one, two, three)}
    assert drops[one] == drops[three] == 0
    lost = {flow: offered[flow][two] - passed[flow]["r3-bottleneck2"] for flow in ("L", "X2")}
    assert drops[two] == sum(lost.values())
    assert min(lost.values()) > 0
    # What leaves it is its rate: 1 Mbit/s for 20 s, in packets of 1500 bytes, and its buffer.
    through = sum(passed[flow]["r3-bottleneck2"] for flow in ("L", "X2"))
    assert abs(through - (LASTS_S * 1_000_000 / 12_000 + 25)) <= 3


def totals(folder: Path, flow: str) -> Row:
    last: Row = json.loads((folder / f"{flow}.sender.jsonl").read_text().splitlines()[-1])
    return last


def dropped(folder: Path, device: str) -> int:
    """Return what a bottleneck's buffer dropped while the flows ran."""

    def count(name: str) -> int:
        shown = value(folder, name)[device.partition("-")[0]]
        return next(int(q["drops"]) for q in shown if q["dev"] == device and q["kind"] == "netem")

    return count("after.json") - count("before.json")
