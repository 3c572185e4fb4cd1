"""Tables of a network of radios: from recorded counters by hand, and what is refused of others."""

from __future__ import annotations

import dataclasses
import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.raw.radios import radio_rows
from collectors.raw.routers import CONTROL, RouterCounts, router_counts
from collectors.tables import radio_files
from model import run_folder
from model.ad_hoc import AdHoc
from model.cell import from_dict
from model.check import Check
from model.errors import ParseError
from model.run_files.path_tables import RadioRow
from tests.support.recorded import DATA, value

RECORDED = DATA / "radios-6.12"


CELL = from_dict(value("radios-6.12/cell.json"))


def recorded_network() -> AdHoc:
    assert CELL.ad_hoc is not None
    return CELL.ad_hoc


NETWORK = recorded_network()
NODES = NETWORK.node_names()
RADIOS = NETWORK.radios()
#: How long the recorded run was.
RUN_S = CELL.duration_s
#: When a run begins that has events made up for it.
EPOCH_NS = 5_000_000_000


def written(folder: Path, network: AdHoc = NETWORK, epoch_ns: int = EPOCH_NS) -> list[Check]:
    return radio_files.write(folder, dataclasses.replace(CELL, network=network), epoch_ns)


def medium() -> dict[str, Any]:
    found: dict[str, Any] = value("radios-6.12/raw/radio/medium.json")
    return found


def routers() -> list[dict[str, Any]]:
    return [
        json.loads((RECORDED / f"raw/routing/{node}.jsonl").read_text().splitlines()[-1])
        for node in NODES
    ]


def counted_by(told: list[dict[str, Any]]) -> list[RouterCounts]:
    return [router_counts("aodv", one) for one in told]


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """A copy of what was recorded."""
    shutil.copytree(RECORDED / "raw", tmp_path / "raw")
    (tmp_path / "tables").mkdir()
    return tmp_path


def test_each_node_by_hand() -> None:
    first, second, third, fourth, fifth, _ = radio_rows(RADIOS, medium(), counted_by(routers()))
    assert first == RadioRow(
        node="n1", radio="wlan0", frames=2709, acked_frames=2655, given_up_frames=0,
        given_up_management_frames=0, group_frames=54, queue_dropped_frames=0, waiting_frames=0,
        attempts=2730,
        delivered_attempts=2655, repeated_attempts=0, collided_attempts=0,
        out_of_range_attempts=0, deaf_attempts=75,
        protected_attempts=0, rts_attempts=0, rts_delivered_attempts=0, rts_collided_attempts=0,
        rts_out_of_range_attempts=0, rts_deaf_attempts=0, rts_answered_attempts=0,
        rts_unanswered_attempts=0, rts_refused_attempts=0, cts_attempts=0,
        link_breaks=0, route_requests=1, route_requests_forwarded=0, route_replies=0,
        routes_broken=0, discoveries=1, discoveries_failed=0, router_dropped_pkts=0,
        control_pkts=1, control_bytes=24 + 28,
    )  # fmt: skip
    # The other end answers once: a reply of 20 bytes, and the headers of UDP and IPv4.
    assert (second.route_replies, second.control_pkts, second.control_bytes) == (1, 1, 48)
    assert (third.collided_attempts, third.attempts, third.acked_frames) == (1, 78, 77)
    assert (fourth.acked_frames, fourth.route_replies) == (2, 1)
    assert (fifth.node, fifth.attempts, fifth.group_frames) == ("n5", 0, 53)


def test_what_routers_count_apart_is_summed() -> None:
    told = routers()
    told[2] |= {
        "link_breaks_feedback": 3, "link_breaks_hello": 2, "link_breaks_neighbour_table": 1,
        "dropped_packets_no_route": 4, "dropped_packets_buffer_age": 5, "rreps_gratuitous": 6,
        "rreps_as_intermediate": 7, "sent_hello_packets": 10, "sent_hello_bytes": 200,
        "sent_rerr_packets": 2, "sent_rerr_bytes": 24,
    }  # fmt: skip
    third = radio_rows(RADIOS, medium(), counted_by(told))[2]
    assert (third.link_breaks, third.router_dropped_pkts, third.route_replies) == (6, 9, 13)
    # One request of 24 bytes as recorded, ten hellos, two errors: each has 28 bytes of headers.
    assert third.control_pkts == 1 + 10 + 2
    assert third.control_bytes == 24 + 200 + 24 + 13 * 28


def test_each_outcome_of_rts_has_its_column() -> None:
    counted = medium()
    numbers = {
        "rts_attempts": 40, "rts_under_way": 1, "rts_delivered": 20, "rts_collided": 9,
        "rts_out_of_range": 8, "rts_receiver_sending": 2, "rts_answered": 17, "cts_timeouts": 21,
        "cts_refused": 3, "cts_sent": 6, "protected_attempts": 16,
    }  # fmt: skip
    for name, number in numbers.items():
        counted[name][1] = number
    second = radio_rows(RADIOS, counted, counted_by(routers()))[1]
    assert (second.rts_attempts, second.protected_attempts, second.cts_attempts) == (39, 16, 6)
    assert (second.rts_delivered_attempts, second.rts_collided_attempts) == (20, 9)
    assert (second.rts_out_of_range_attempts, second.rts_deaf_attempts) == (8, 2)
    assert (second.rts_answered_attempts, second.rts_unanswered_attempts) == (17, 21)
    assert second.rts_refused_attempts == 3


def test_the_files(left: Path) -> None:
    checks = written(left)
    assert len(checks) == 3 * 6
    assert all(check.agrees for check in checks)
    assert (checks[0].where, checks[0].wanted, checks[0].got) == (
        "node n1", "2709 frames", "2709 frames",
    )  # fmt: skip
    table = pl.read_parquet(left / run_folder.RADIOS_TABLE)
    assert [RadioRow(**row) for row in table.to_dicts()] == radio_rows(
        RADIOS, medium(), counted_by(routers())
    )


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    totals = medium()
    edit(totals)
    (folder / run_folder.MEDIUM).write_text(json.dumps(totals))


FATES = "acknowledged, given up, sent to all, dropped or waiting"
OUTCOMES = "delivered, repeated, collided, out of range or not listened to"
RTS = "RTS decoded, collided, out of range or not listened to"


@pytest.mark.parametrize(
    ("counter", "what"),
    [
        ("handed_in", FATES),
        ("acked", FATES),
        ("given_up", FATES),
        ("group_done", FATES),
        ("dropped_full", FATES),
        ("waiting_at_end", FATES),
        ("unicast_attempts", OUTCOMES),
        ("unicast_delivered", OUTCOMES),
        ("unicast_duplicate", OUTCOMES),
        ("unicast_collided", OUTCOMES),
        ("unicast_out_of_range", OUTCOMES),
        ("unicast_receiver_sending", OUTCOMES),
        ("rts_attempts", RTS),
        ("rts_delivered", RTS),
        ("rts_collided", RTS),
        ("rts_out_of_range", RTS),
        ("rts_receiver_sending", RTS),
    ],
)
def test_a_sum_that_does_not_close_is_of_its_node(left: Path, counter: str, what: str) -> None:
    def one_more(totals: dict[str, Any]) -> None:
        totals[counter][3] += 1

    change(left, one_more)
    (wrong,) = [check for check in written(left) if not check.agrees]
    assert (wrong.check, wrong.where) == (what, "node n4")


def test_a_frame_on_the_air_when_the_medium_ends_is_no_mistake(left: Path) -> None:
    def one_more(totals: dict[str, Any]) -> None:
        totals["unicast_attempts"][3] += 1
        totals["unicast_under_way"][3] += 1
        totals["handed_in"][3] += 1
        totals["waiting_at_end"][3] += 1

    change(left, one_more)
    assert all(check.agrees for check in written(left))
    (fourth,) = pl.read_parquet(left / run_folder.RADIOS_TABLE).filter(node="n4").to_dicts()
    assert (fourth["attempts"], fourth["waiting_frames"]) == (2, 1)


@pytest.mark.parametrize(
    "edit",
    [
        lambda totals: totals.pop("acked"),
        lambda totals: totals.pop("radios"),
        lambda totals: totals.update(radios=5),
        lambda totals: totals.update(radios=True),
        lambda totals: totals.update(acked=[1]),
        lambda totals: totals.update(acked=7),
        lambda totals: totals.update(acked=["1"] * 6),
        lambda totals: totals.update(acked=[1.5] * 6),
        lambda totals: totals.update(acked=[-1] * 6),
        lambda totals: totals.update(ended_ns=totals["began_ns"]),
        lambda totals: totals.update(ended_ns=None),
        lambda totals: totals.pop("ack_air_ns"),
        lambda totals: totals.pop("cts_air_ns"),
        lambda totals: totals.pop("rts_attempts"),
        lambda totals: totals.update(data_air_ns=None),
    ],
)
def test_damaged_counters(left: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    change(left, edit)
    with pytest.raises(ParseError, match=r"medium\.json"):
        written(left)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"event":"options"}\n',
        "[]\n",
        '{"event":"totals"}\n{"event":"options"}\n',
    ],
)
def test_damaged_words_of_a_daemon(left: Path, text: str) -> None:
    (left / "raw/routing/n2.jsonl").write_text(text)
    with pytest.raises(ParseError, match=r"n2\.jsonl"):
        written(left)


@pytest.mark.parametrize("name", [f"sent_{kind}_packets" for kind in CONTROL])
def test_totals_of_a_daemon_without_a_counter(left: Path, name: str) -> None:
    path = left / "raw/routing/n2.jsonl"
    options, *_, last = path.read_text().splitlines()
    totals = json.loads(last)
    del totals[name]
    path.write_text(f"{options}\n{json.dumps(totals)}\n")
    with pytest.raises(ParseError):
        written(left)


@pytest.mark.parametrize("name", [run_folder.MEDIUM, "raw/routing/n6.jsonl"])
def test_a_missing_file(left: Path, name: str) -> None:
    (left / name).unlink()
    with pytest.raises(ParseError):
        written(left)


def test_a_row_for_each_of_two_radios(tmp_path: Path) -> None:
    """The first two nodes have a second radio: counted as two more, each with its own daemon."""
    network = dataclasses.replace(NETWORK, multihoming="same-channel")
    assert [(one.node, one.device) for one in network.radios()[5:]] == [
        ("n6", "wlan0"), ("n1", "wlan1"), ("n2", "wlan1"),
    ]  # fmt: skip
    shutil.copytree(RECORDED / "raw", tmp_path / "raw")
    (tmp_path / "tables").mkdir()
    for node, like in (("n1", "n4"), ("n2", "n5")):
        shutil.copy(
            tmp_path / f"raw/routing/{like}.jsonl", tmp_path / f"raw/routing/{node}.wlan1.jsonl"
        )
    totals = medium()
    more = {
        name: [*column, column[3], column[4]]
        for name, column in totals.items()
        if isinstance(column, list)
    }
    more["acked"][7] += 1
    (tmp_path / run_folder.MEDIUM).write_text(json.dumps(totals | more | {"radios": 8}))
    (wrong,) = [check for check in written(tmp_path, network) if not check.agrees]
    assert wrong.where == "node n2, wlan1"
    table = pl.read_parquet(tmp_path / run_folder.RADIOS_TABLE)
    assert table["node"].to_list() == [*NODES, "n1", "n2"]
    assert table["radio"].to_list() == ["wlan0"] * 6 + ["wlan1"] * 2
    fourth, seventh = table.row(3, named=True), table.row(6, named=True)
    assert {**fourth, "node": "n1", "radio": "wlan1"} == seventh


@pytest.mark.parametrize("name", ["raw/routing/n1.wlan1.jsonl", "raw/routing/n2.wlan1.jsonl"])
def test_a_second_daemon_that_said_nothing(left: Path, name: str) -> None:
    network = dataclasses.replace(NETWORK, multihoming="same-channel")
    for node in ("n1", "n2"):
        shutil.copy(left / "raw/routing/n3.jsonl", left / f"raw/routing/{node}.wlan1.jsonl")
    (left / name).unlink()
    with pytest.raises(ParseError, match=name.rpartition("/")[2].replace(".", r"\.")):
        written(left, network)


def lay_events(folder: Path, of_third: str) -> None:
    for node in NODES:
        text = of_third if node == "n3" else ""
        kept = folder / run_folder.routing_events(node)
        kept.write_bytes(gzip.compress(text.encode()))


def event(t_ns: int, name: str, **more: object) -> str:
    return json.dumps({"t_ns": t_ns, "event": name, **more}, separators=(",", ":")) + "\n"


def test_what_happened_after_the_run_is_not_of_it(left: Path) -> None:
    end_ns = EPOCH_NS + round(RUN_S * 1e9)
    lines = [
        event(1, "link_broken", cause="hello"),
        event(end_ns - 1, "link_broken", cause="feedback"),
        event(end_ns, "link_broken", cause="hello"),
        event(end_ns - 2, "route_broken", destination="10.0.0.1"),
        event(end_ns - 1, "route_expired", destination="10.0.0.1"),
        event(end_ns + 9, "route_broken", destination="10.0.0.1"),
        event(7, "discovery_started", repair=False), event(8, "discovery_started", repair=True),
        event(9, "discovery_failed", repair=True), event(10, "discovery_failed", repair=False),
        event(11, "discovery_started", repair=False),
        event(end_ns, "discovery_failed", repair=False),
    ]  # fmt: skip
    lay_events(left, "".join(lines))
    written(left)
    third = RadioRow(**pl.read_parquet(left / run_folder.RADIOS_TABLE).to_dicts()[2])
    assert (third.link_breaks, third.routes_broken) == (2, 1)
    assert (third.discoveries, third.discoveries_failed) == (2, 1)


@pytest.mark.parametrize(
    "line",
    ['{"event":"link_broken"}', '{"t_ns":-1,"event":"link_broken"}',
     '{"t_ns":1,"event":"link_broken"', '["event":"link_broken"]', '[{"event":"link_broken"}]',
     '{"t_ns":1,"x":{"event":"link_broken"}}'],
)  # fmt: skip
def test_damaged_events_of_a_router(left: Path, line: str) -> None:
    lay_events(left, event(1, "route_expired", destination="10.0.0.1") + line + "\n")
    with pytest.raises(ParseError, match="not an event of a router") as caught:
        written(left)
    assert "n3.events.gz:2" in str(caught.value)
