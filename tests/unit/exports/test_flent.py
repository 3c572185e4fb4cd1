"""A data file of flent says what the tables say; tests/lab asks flent itself."""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest

from model.cell import Flow
from reports.exports.cell import ExportedCell
from reports.exports.flent import flent_files, series_of
from tests.unit.exports.export_run import content, table

DURATION_S = 2.2


def exported(cell: ExportedCell) -> dict[str, Any]:
    (file,) = flent_files(cell)
    found: dict[str, Any] = json.loads(gzip.decompress(content(file.pieces)))
    return found


@pytest.fixture(scope="module")
def document(cell: ExportedCell) -> dict[str, Any]:
    return exported(cell)


def test_goodput_is_that_of_the_intervals(cell: ExportedCell, document: dict[str, Any]) -> None:
    rows = table(cell, "intervals")
    assert len(rows) > 3
    for flow, series in (("T", "TCP upload CS0"), ("S", "SCTP upload CS0")):
        shown = dict(zip(document["x_values"], document["results"][series], strict=True))
        for row in rows.filter(flow=flow).iter_rows(named=True):
            length_s = row["end_s"] - row["start_s"]
            wanted = row["goodput_bytes"] * 8 / length_s / 1e6
            assert shown[row["end_s"]] == pytest.approx(wanted, rel=1e-12)


def test_sums_are_sums(document: dict[str, Any]) -> None:
    results = document["results"]
    both = zip(results["TCP upload CS0"], results["SCTP upload CS0"], strict=True)
    wanted = [None if pair == (None, None) else sum(one or 0 for one in pair) for pair in both]
    assert results["Upload sum"] == pytest.approx(wanted)


def test_raw_values_are_the_rows_of_the_tables(
    cell: ExportedCell, document: dict[str, Any]
) -> None:
    began = cell.epoch_ns
    assert began is not None
    for flow, series in (("T", "TCP upload CS0"), ("S", "SCTP upload CS0")):
        raw = document["raw_values"][series]
        arrived = [row for row in raw if "val" in row]
        assert len(arrived) == len(table(cell, "intervals").filter(flow=flow))
        kernel = [row for row in raw if "val" not in row]
        acks = table(cell, "congestion").filter(flow=flow, event="ack")
        assert len(kernel) == len(acks)
        assert [row.get("cwnd_bytes") for row in kernel] == acks["cwnd_bytes"].to_list()
        assert [row.get("tcp_cwnd") for row in kernel] == acks["cwnd_segments"].to_list()
        told = [f"{row['tcp_rtt']}" if "tcp_rtt" in row else None for row in kernel]
        wanted = [None if rtt is None else f"{rtt * 1e6:.0f}" for rtt in acks["srtt_s"]]
        assert [rtt and f"{Decimal(rtt) * 1000:.0f}" for rtt in told] == wanted
        times_s = [row["t"] - began / 1e9 for row in kernel]
        assert times_s == pytest.approx(acks["t_s"].to_list(), abs=1e-6)


def test_the_metadata_say_what_was_run(cell: ExportedCell, document: dict[str, Any]) -> None:
    said = document["metadata"]
    assert (document["version"], said["NAME"]) == (4, "sctp_vs_tcp")
    assert said["KERNEL_RELEASE"] == "7.3.4-groundtruth"
    assert said["TITLE"] == "wireless: loss_frac 1 %; seed 2"
    assert said["T0"].endswith("Z")
    assert (said["LENGTH"], said["STEP_SIZE"]) == (DURATION_S, 1.0)
    own = said["GROUNDTRUTH"]
    assert (own["seed"], own["cell"], own["point"]) == (2, cell.id, {"loss_frac": 0.01})
    meta = said["SERIES_META"]["SCTP upload CS0"]
    assert (meta["UNITS"], meta["FLOW"], meta["GROUP"]) == ("Mbits/s", "S", "S")
    (row,) = (one for one in cell.found.flows if one.flow == "S")
    assert row.goodput_bps is not None
    assert meta["MEAN_VALUE"] == row.goodput_bps / 1e6


def test_the_same_cell_gives_the_same_bytes(cell: ExportedCell) -> None:
    first, second = (content(next(flent_files(cell)).pieces) for _ in range(2))
    assert first == second
    assert first[3:8] == bytes(5)  # no flags, so no name, and no time


def test_without_time_zero_there_are_no_raw_values(cell: ExportedCell) -> None:
    found = exported(dataclasses.replace(cell, epoch_ns=None))
    assert (found["raw_values"], found["metadata"]["T0"]) == ({}, None)
    assert found["results"]["TCP upload sum"]


def flows_of(cell: ExportedCell, protocols: Sequence[str]) -> list[Flow]:
    first = cell.cell.flows[0]
    return [
        dataclasses.replace(first, id=f"F{number}", protocol=protocol)  # type: ignore[arg-type]
        for number, protocol in enumerate(protocols)
    ]


@pytest.mark.parametrize(
    ("protocols", "test", "names"),
    [
        (["tcp"], "tcp_nup", ["TCP upload::1"]),
        (["tcp", "tcp"], "tcp_nup", ["TCP upload::1", "TCP upload::2"]),
        (["sctp"], "sctp_vs_tcp", ["SCTP upload CS0"]),
        (["tcp", "sctp", "tcp"], "sctp_vs_tcp",
         ["TCP upload::1", "SCTP upload CS0", "TCP upload::2"]),
        (["udp"], "udp_flood", ["UDP upload"]),
        (["tcp", "udp", "udp"], "tcp_nup", ["TCP upload::1", "UDP upload::1", "UDP upload::2"]),
    ],
)  # fmt: skip
def test_series_have_the_names_of_a_test_that_flent_has(
    cell: ExportedCell, protocols: list[str], test: str, names: list[str]
) -> None:
    found: tuple[str, Mapping[str, str]] = series_of(flows_of(cell, protocols))
    assert found[0] == test
    assert list(found[1].values()) == names


def test_dollars_of_a_title_are_not_typeset(cell: ExportedCell) -> None:
    point: dict[str, float | int | str] = {"name": '$x$ "quoted", =cmd\n'}
    changed = dataclasses.replace(cell.cell, point=point)
    found = dataclasses.replace(cell, found=dataclasses.replace(cell.found, cell=changed))
    title = exported(found)["metadata"]["TITLE"]
    assert title == 'wireless: name \\$x\\$ "quoted", =cmd\n; seed 2'


def test_udp_flows_have_no_kernels_rows(cell: ExportedCell) -> None:
    flows = (dataclasses.replace(cell.cell.flows[0], protocol="udp"), cell.cell.flows[1])
    changed = dataclasses.replace(cell.cell, flows=flows)
    found = exported(dataclasses.replace(cell, found=dataclasses.replace(cell.found, cell=changed)))
    assert all("val" in row for row in found["raw_values"]["UDP upload CS0"])
