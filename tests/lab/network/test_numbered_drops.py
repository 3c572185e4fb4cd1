"""Listed data packets are dropped, exactly those, and everyone who counts says so."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from collectors.tables.write import write_tables
from model import run_folder
from model.cell import Cell
from model.links import Loss
from testbed.campaign import digests
from tests.support.recorded import with_bottleneck

Run = Callable[..., Path]
Make = Callable[..., Cell]
DURATION_S = 12.0


def listing(
    make: Make, drops: dict[str, tuple[int, ...]], *, loss_frac: float = 0.0, pcap: bool = True
) -> Cell:
    """Return a short cell with a roomy buffer that drops these packets of flows."""
    cell = make(duration_s=DURATION_S, pcap=pcap)
    flows = tuple(
        dataclasses.replace(flow, drop_data_pkts=drops.get(flow.id, ())) for flow in cell.flows
    )
    collect = dataclasses.replace(cell.collect, telemetry=True)
    loss = Loss(model="random" if loss_frac else "none", loss_frac=loss_frac)
    roomy = with_bottleneck(cell, queue_pkts=100, loss=loss)
    return dataclasses.replace(roomy, flows=flows, collect=collect)


def udp(cell: Cell, drops: tuple[int, ...]) -> Cell:
    """Return the cell with its second flow as packets at a constant rate, some of them listed."""
    tcp, other = cell.flows
    constant = dataclasses.replace(
        other, id="U", protocol="udp", rate_bps=400_000, message_bytes=1000, drop_data_pkts=drops
    )
    return dataclasses.replace(cell, flows=(tcp, constant))


def tables(cell: Cell, folder: Path) -> dict[str, pl.DataFrame]:
    """Return the tables of a cell whose audit closes without a warning."""
    write_tables(folder, cell)
    audit = json.loads((folder / run_folder.AUDIT).read_text())
    assert [check for check in audit["checks"] if check["agrees"] is False] == []
    assert audit["warnings"] == []
    rows = pl.read_parquet(folder / run_folder.AUDIT_TABLE)
    if cell.collect.pcap:
        assert rows["closes"].to_list() == [True] * rows.height
    return {path.stem: pl.read_parquet(path) for path in (folder / "tables").iterdir()}


def lost(packets: pl.DataFrame, flow: str) -> list[int]:
    """Return which data packets, from 1 as they left the buffer, did not pass the loss model."""
    data = packets.filter(pl.col("payload_bytes") > 0, flow=flow, direction="data")
    passed = set(data.filter(point="loss_passed")["packet"])
    offered = data.filter(point="loss_offered")["packet"]
    return [number for number, packet in enumerate(offered, 1) if packet not in passed]


def loss_dropped(found: dict[str, pl.DataFrame]) -> dict[str, int]:
    flows = found["flows"]
    return dict(zip(flows["flow"], flows["loss_dropped_pkts"], strict=True))


def test_exactly_the_listed_packets_of_tcp_and_sctp_are_lost(wireless: Make, run_cell: Run) -> None:
    wanted = {"T": (8, 20, 21), "S": (1, 9)}
    cell = listing(wireless, wanted)
    folder = run_cell(cell)
    found = tables(cell, folder)
    for flow, numbers in wanted.items():
        assert lost(found["packets"], flow) == list(numbers)
    assert loss_dropped(found) == {"T": 3, "S": 2}
    drops = found["drops"].filter(pl.col("role") != "shaper")
    assert drops.select("node", "device", "role", "reason").unique().rows() == [
        ("r2", "ifb-bottleneck", "numbered", "TC_EGRESS")
    ]
    assert drops.height == 5
    checks = json.loads((folder / run_folder.VERIFY).read_text())["checks"]
    hung = [check["agrees"] for check in checks if check["check"] == "numbered drops"]
    assert hung == [True, True]


@pytest.mark.parametrize("flow", ["T", "S"])
def test_a_retransmission_counts_and_can_be_dropped_too(
    wireless: Make, run_cell: Run, flow: str
) -> None:
    cell = listing(wireless, {flow: (8,)})
    first = tables(cell, run_cell(cell, "first"))
    data = first["packets"].filter(pl.col("payload_bytes") > 0, flow=flow, point="loss_offered")
    again = data["retransmission"].to_list().index(True) + 1  # its number where it is dropped
    assert again > 8
    cell = listing(wireless, {flow: (8, again)})
    second = tables(cell, run_cell(cell, "second"))
    assert lost(second["packets"], flow) == [8, again]
    data = second["packets"].filter(pl.col("payload_bytes") > 0, flow=flow, point="loss_offered")
    place = "seq" if flow == "T" else "tsn"
    assert data[place][7] == data[place][again - 1]
    assert data[place].to_list().count(data[place][7]) == 3


def test_listed_udp_packets_are_lost(wireless: Make, run_cell: Run) -> None:
    cell = udp(listing(wireless, {"T": (8,)}), (1, 100))
    found = tables(cell, run_cell(cell))
    assert lost(found["packets"], "U") == [1, 100]
    assert lost(found["packets"], "T") == [8]
    assert loss_dropped(found) == {"T": 1, "U": 2}


def test_random_loss_goes_on_beside_the_list(wireless: Make, run_cell: Run) -> None:
    cell = listing(wireless, {"T": (8, 30), "S": (8,)}, loss_frac=0.05)
    found = tables(cell, run_cell(cell))
    at_random = found["drops"].filter(role="channel").height
    assert at_random > 3
    assert {8, 30} < set(lost(found["packets"], "T"))
    assert 8 in lost(found["packets"], "S")
    assert sum(loss_dropped(found).values()) == at_random + 3


def test_without_captures_the_counters_close(wireless: Make, run_cell: Run) -> None:
    cell = listing(wireless, {"T": (8, 9)}, loss_frac=0.02, pcap=False)
    found = tables(cell, run_cell(cell))
    assert found["audit"].filter(direction="data")["closes"].to_list() == [True, True]
    assert "packets" not in found


def test_a_packet_that_is_never_sent_is_said(wireless: Make, run_cell: Run) -> None:
    cell = listing(wireless, {"T": (8, 1_000_000)})
    folder = run_cell(cell)
    write_tables(folder, cell)
    audit = json.loads((folder / run_folder.AUDIT).read_text())
    (warning,) = audit["warnings"]
    assert (warning["rule"], warning["where"]) == ("listed-packet-not-sent", "flow T")
    assert "data packet 1000000." in warning["text"]
    assert [check for check in audit["checks"] if check["agrees"] is False] == []


def test_two_runs_are_equal_to_the_byte(wireless: Make, run_cell: Run) -> None:
    cell = listing(wireless, {"T": (8,), "S": (8,)}, loss_frac=0.01)
    folders = [run_cell(cell, name) for name in ("once", "again")]
    for folder in folders:
        write_tables(folder, cell)
    first, second = (digests.of_cell(folder) for folder in folders)
    assert first == second
    assert run_folder.NUMBERED_DROPS in first


def test_a_program_the_kernel_refuses_says_why(script: Run) -> None:
    refused = "from mininet_topos.filters import bpf; bpf.load_classifier(bytes.fromhex(code))"
    exits_with_nothing = "9500000000000000"
    text = f"""python3 -c 'code = "{exits_with_nothing}"; {refused}' 2> /cell/said\ntrue\n"""
    said = (script(text) / "said").read_text()
    assert "RunError: bpf(5): the kernel refuses a program" in said
    assert "processed 1 insns" in said  # the end of what the verifier says
