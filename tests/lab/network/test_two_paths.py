"""Two paths in the lab: each as asked for, and an association that outlives a link of the first."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.tables.write import write_tables
from model import run_folder
from model.cell import Cell
from model.event import Event
from model.links import Direction, FurtherPath, Link, Loss
from model.sctp_paths import PF_OFF, SctpPaths
from reports.wireshark.cell_export import export_cell
from testbed.campaign import calibration_checks
from testbed.campaign.run_cell import execute
from testbed.command.wireshark import read_recorded
from testbed.labs.virtual.virtual_lab import PROPERTIES, VirtualLab
from tests.support.runs import lab_part

#: Of the second path, unlike the first's: 1 Mbit/s, 60 ms.
SECOND = Direction(rate_bps=1_000_000, queue_pkts=20, owd_s=0.06, channel_limit_pkts=2000,
                   loss=Loss(model="random", loss_frac=0.01))  # fmt: skip
RTO_S, BEATS = 1.0, 3  # 1 + 2 timeouts: Path.Max.Retrans 1


def on_two_paths(cell: Cell) -> Cell:
    """Return a cell over two paths, the first of which loses nothing."""
    one = cell.wired
    none = Loss(model="none", loss_frac=0.0)
    quick = dataclasses.replace(one.bottleneck.forward, owd_s=0.02, queue_pkts=50, loss=none)
    first = Link(forward=quick, reverse=quick)
    back = dataclasses.replace(SECOND, loss=none)
    second = FurtherPath(
        source_access=one.source_access, bottleneck=Link(forward=SECOND, reverse=back),
        destination_access=one.destination_access,
    )  # fmt: skip
    network = dataclasses.replace(
        one, topology="two-paths", bottleneck=first, further_paths=(second,)
    )
    return dataclasses.replace(cell, network=network)


def event(name: str, t_s: float, **given: Any) -> Event:
    asked = {"link": "bottleneck", "way": "both", "state": "", "rate_bps": None, "owd_s": None,
             "loss_frac": None, **given}  # fmt: skip
    return Event(id=name, t_s=t_s, **asked)


def cut(cell: Cell) -> Cell:
    """Return a signalling association over both paths, whose first link is down for 8 s."""
    _, sctp = cell.flows
    paths = SctpPaths(path_max_retrans=1, pf_max_retrans=PF_OFF)
    flow = dataclasses.replace(
        sctp, message_bytes=200, rate_bps=160_000, addresses="both", paths=paths
    )
    return dataclasses.replace(
        cell,
        flows=(flow,),
        collect=dataclasses.replace(cell.collect, messages=True),
        events=(event("cut", 6.0, state="down"), event("back", 14.0, state="up")),
    )


def written(cell: Cell, folder: Path) -> list[dict[str, Any]]:
    """Write a cell's tables; return its audit's comparisons, none of which disagrees."""
    write_tables(folder, cell)
    checks: list[dict[str, Any]] = json.loads((folder / run_folder.AUDIT).read_text())["checks"]
    verify = json.loads((folder / run_folder.VERIFY).read_text())["checks"]
    assert [one for one in (*checks, *verify) if one["agrees"] is False] == []
    return checks


def test_acknowledgements_are_counted_whichever_way_they_leave(
    wireless: Callable[..., Cell], run_cell: Callable[..., Path]
) -> None:
    """Data that come over the second path are acknowledged over it: the socket counts both."""
    cell = cut(on_two_paths(wireless(duration_s=20.0)))
    collect = dataclasses.replace(cell.collect, acknowledgements=True)
    cell = dataclasses.replace(cell, collect=collect)
    folder = run_cell(cell)
    checks = [one for one in written(cell, folder) if one["check"].startswith("acknowledgements")]
    assert [one["agrees"] for one in checks] == [True]
    (row,) = json.loads((folder / run_folder.ACKNOWLEDGEMENTS).read_text())
    assert row["devices"] == ["dst2-eth0", "dst2-eth1"]
    states = pl.read_parquet(folder / run_folder.PATHS_TABLE)
    assert states.filter(event="data_from", path=2).height > 0
    verify = json.loads((folder / run_folder.VERIFY).read_text())["checks"]
    hung = [one["where"] for one in verify if one["check"] == "acknowledgements counted"]
    assert hung == [f"dst2:dst2-eth{port} egress, flow S" for port in (0, 1)]


@pytest.fixture(scope="module")
def failing(wireless: Callable[..., Cell], run_cell_once: Callable[..., Path]) -> tuple[Cell, Path]:
    cell = cut(on_two_paths(wireless(duration_s=20.0)))
    return cell, run_cell_once(cell)


def test_all_packets_are_accounted_for_and_the_event_was_in_time(failing: Any) -> None:
    cell, folder = failing
    checks = written(cell, folder)
    by_name = {one["check"] for one in checks if one["agrees"]}
    assert {"event in time", "through a link that is down, data"} <= by_name
    audit = pl.read_parquet(folder / run_folder.AUDIT_TABLE)
    assert audit.filter(direction="data")["unexplained_pkts"].to_list() == [0]
    down, up = pl.read_parquet(folder / run_folder.EVENTS_TABLE).to_dicts()
    assert down["data_lost_pkts"] > 0
    assert (up["data_lost_pkts"], up["ack_lost_pkts"]) == (0, 0)
    lost = audit.filter(direction="data")["loss_dropped_pkts"][0]
    assert lost >= down["data_lost_pkts"]


def test_the_association_goes_by_the_other_path_and_loses_no_message(failing: Any) -> None:
    cell, folder = failing
    written(cell, folder)
    messages = pl.read_parquet(folder / run_folder.MESSAGES_TABLE)
    assert messages.height > 1900
    assert messages["delivered_s"].null_count() == 0
    states = pl.read_parquet(folder / run_folder.PATHS_TABLE)
    gone = states.filter(event="unreachable", path=1)["t_s"].to_list()
    # Two timeouts, from the last acknowledgement, which comes within a round trip after the cut.
    assert 6.0 + BEATS * RTO_S <= gone[0] <= 6.0 + 1.1 * BEATS * RTO_S
    over = states.filter(event="data_from", path=2)["t_s"].to_list()
    assert 6.0 + RTO_S < over[0] < 6.0 + RTO_S + 0.2
    options = json.loads((folder / "raw" / "ledger.json").read_text())[-1]
    assert [knob["agrees"] for knob in options["knobs"]] == [True, True]


def test_another_path_becomes_the_primary_and_data_stay_there(
    wireless: Callable[..., Cell], run_cell: Callable[..., Path]
) -> None:
    cell = cut(on_two_paths(wireless(duration_s=20.0)))
    # These hosts have no potentially failed paths: the primary changes when its path has failed.
    paths = SctpPaths(path_max_retrans=1, pf_max_retrans=0, ps_max_retrans=1, hb_interval_ms=1000)
    flow = dataclasses.replace(cell.flows[0], paths=paths)
    events = (cell.events[0], dataclasses.replace(cell.events[1], t_s=10.0))
    # What the second path loses would be repeated over the first.
    second = cell.wired.further_paths[0]
    same = Link(forward=second.bottleneck.reverse, reverse=second.bottleneck.reverse)
    second = dataclasses.replace(second, bottleneck=same)
    network = dataclasses.replace(cell.wired, further_paths=(second,))
    cell = dataclasses.replace(cell, flows=(flow,), events=events, network=network)
    folder = run_cell(cell)
    written(cell, folder)
    ledger = json.loads((folder / "raw" / "ledger.json").read_text())[-1]
    assert {(knob["name"], knob["agrees"]) for knob in ledger["knobs"]} == {
        ("path_max_retrans", True), ("pf_max_retrans", True), ("ps_max_retrans", True),
        ("hb_interval_ms", True),
    }  # fmt: skip
    states = pl.read_parquet(folder / run_folder.PATHS_TABLE)
    (switched,) = states.filter(event="made_primary", path=2)["t_s"].to_list()
    assert 6.0 + BEATS * RTO_S <= switched <= 6.0 + 1.1 * BEATS * RTO_S
    # The link is up at 10 s; a heartbeat finds that out, and data stay where they are.
    (found,) = states.filter(event="available", path=1)["t_s"].to_list()
    assert 10.0 < found < 20.0
    assert states.filter(event="data_from")["path"].to_list() == [1, 2]


@pytest.fixture(scope="module")
def captured(
    wireless: Callable[..., Cell], lab: VirtualLab, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Cell, Path]:
    """Return the failing cell again, with captures and the kernel's events, finished."""
    cell = cut(on_two_paths(wireless(duration_s=20.0)))
    collect = dataclasses.replace(cell.collect, pcap=True, telemetry=True)
    cell = dataclasses.replace(cell, collect=collect)
    folder = run_folder.cell_folder(tmp_path_factory.mktemp("run"), "cell")
    folder.parent.mkdir()
    execute(cell, folder, lab, threading.Event())
    return cell, folder


def test_packets_captured_on_both_paths_are_all_accounted_for(captured: Any) -> None:
    _, folder = captured
    audit = json.loads((folder / run_folder.AUDIT).read_text())["checks"]
    assert [one for one in audit if one["agrees"] is False] == []
    agreed = [(one["check"], one["where"]) for one in audit if one["agrees"]]
    for check in ("captured before", "captured after", "captured", "time"):
        of_each = {", path 2" in where for name, where in agreed if name == check}
        assert of_each == {False, True}, check
    told = [where for name, where in agreed if name == "when dropped, by kernel events"]
    # Behind each path's buffer and at each path's loss model.
    assert len(told) == 4
    assert {"data sent", "retransmitted", "goodput"} <= {name for name, _ in agreed}
    rows = pl.read_parquet(folder / run_folder.AUDIT_TABLE)
    assert rows["basis"].unique().to_list() == ["captures"]
    assert rows["closes"].to_list() == [True, True]


def test_what_timed_out_is_seen_again_on_the_other_path(captured: Any) -> None:
    _, folder = captured
    packets = pl.read_parquet(folder / run_folder.PACKETS_TABLE)
    assert packets["connection"].n_unique() == 1
    sent = packets.filter(point="sent", direction="data").explode("data_chunks")
    chunks = sent.with_columns(number=pl.col("data_chunks").struct.field("tsn"))
    chunks = chunks.drop_nulls("number")
    first = chunks.filter(pl.col("number").is_first_distinct())
    again = chunks.filter(~pl.col("number").is_first_distinct())
    # While the first link is down what was lost there is repeated over the second.
    lost = first.filter(pl.col("t_s").is_between(6.0, 6.9), path=1)["number"]
    assert len(lost) == 19
    repeats = again.filter(pl.col("number").is_in(lost.implode()))
    assert repeats["path"].unique().to_list() == [2]
    assert repeats["retransmission"].all()
    assert not first.filter(data_chunk_count=1)["retransmission"].any()
    # Each packet passes the points of one path.
    assert packets.group_by("packet").agg(pl.col("path").n_unique())["path"].max() == 1
    # New data take the second path from the time that the first is given up.
    late = first.filter(pl.col("t_s").is_between(10.0, 13.5))
    assert late["path"].unique().to_list() == [2]


def test_loss_episodes_over_two_paths_are_those_of_the_link_that_failed(captured: Any) -> None:
    cell, folder = captured
    episodes = pl.read_parquet(folder / run_folder.EPISODES_TABLE)
    assert episodes["basis"].unique().to_list() == ["captures"]
    first = episodes.row(0, named=True)
    assert first["lost_at"] == "loss"
    assert 6.0 - 0.02 <= first["lost_s"] <= 6.05
    assert first["detected_by"] == "timeout"
    # From the last acknowledgement; what was lost first had left a round trip before it came.
    assert RTO_S - 0.14 < first["detect_s"] < RTO_S
    # Path.Max.Retrans 1: two timeouts; what did not fit into their first packets left later.
    assert (first["timeouts"], first["lost_pkts"]) == (2, 18)
    # A window is one path's: none is said of what went over two.
    assert episodes["cwnd_before_bytes"].null_count() == episodes.height
    assert cell.flows[0].is_multihomed()


def test_the_export_says_by_which_path_packets_went(captured: Any) -> None:
    cell, folder = captured
    run = folder.parents[1]
    exported = export_cell(run, "cell", cell, read_recorded(folder), all_points=True)
    found = [path.read_bytes() for path in exported.files]
    assert b"src2 sends, path 2" in found[0]
    assert b"over path 2, after path 1" in found[0]
    assert b"after the queue, path 2 (r3-bottleneck2)" in found[-1]


def test_a_step_of_rate_delay_and_loss_on_a_dumbbell_is_read_back(
    wireless: Callable[..., Cell], run_cell: Callable[..., Path]
) -> None:
    cell = wireless(duration_s=20.0, pcap=True)
    cell = dataclasses.replace(
        cell,
        events=(
            event("slow", 5.0, rate_bps=1_000_000, way="forward"),
            event("far", 8.0, owd_s=0.4), event("lossy", 12.0, loss_frac=0.05),
        ),
    )  # fmt: skip
    folder = run_cell(cell)
    written(cell, folder)
    end = json.loads((folder / "raw" / "qdiscs.json").read_text())
    (channel,) = [q for q in end["r2"] if (q["dev"], q["handle"]) == ("ifb-bottleneck", "1:")]
    assert channel["options"]["delay"]["delay"] == pytest.approx(0.4)
    assert channel["options"]["loss-random"]["loss"] == pytest.approx(0.05)
    (shaper,) = [q for q in end["r1"] if (q["dev"], q["handle"]) == ("r1-bottleneck", "10:")]
    assert shaper["options"]["rate"]["rate"] * 8 == 1_000_000
    (other,) = [q for q in end["r2"] if (q["dev"], q["handle"]) == ("r2-bottleneck", "10:")]
    assert other["options"]["rate"]["rate"] * 8 == 3_000_000


@pytest.fixture(scope="module")
def measured(wireless: Callable[..., Cell], run_cell_once: Callable[..., Path]) -> Any:
    cell = on_two_paths(wireless(purpose="calibrate"))
    folder = run_cell_once(cell, "calibration")
    found, logs = lab_part.measured(folder)
    return cell, found, logs


def test_both_paths_are_as_asked(measured: Any) -> None:
    cell, found, logs = measured
    made = calibration_checks.checks(cell.wired, cell.seed, found, logs, PROPERTIES.tolerances)
    assert [one for one in made if one.agrees is False] == []
    assert len([one for one in made if one.where.endswith(", path 2")]) == 4
    # Both ways of two bottlenecks and of two pairs' links at either side of both paths.
    assert len([one for one in made if one.check == "buffer"]) == 20


@pytest.mark.parametrize(
    ("changes", "caught_by"),
    [({"owd_s": 0.0601}, "rtt"), ({"rate_bps": 1_003_000}, "rate"), ({"queue_pkts": 21}, "buffer"),
     ({"loss": Loss(model="random", loss_frac=0.0105)}, "loss forward")],
)  # fmt: skip
def test_another_second_path_is_caught(
    measured: Any, changes: dict[str, Any], caught_by: str
) -> None:
    cell, found, logs = measured
    second = cell.wired.further_paths[0]
    forward = dataclasses.replace(second.bottleneck.forward, **changes)
    link = dataclasses.replace(second.bottleneck, forward=forward)
    network = dataclasses.replace(
        cell.wired, further_paths=(dataclasses.replace(second, bottleneck=link),)
    )
    made = calibration_checks.checks(network, cell.seed, found, logs, PROPERTIES.tolerances)
    wrong = [one for one in made if one.agrees is False]
    assert caught_by in {one.check for one in wrong}
    assert all("path 2" in one.where or "bottleneck2" in one.where for one in wrong)
