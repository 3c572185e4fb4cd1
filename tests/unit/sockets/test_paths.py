"""What happened to links and what ends said of their paths: rows, and what is none."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from collectors.raw import paths
from collectors.tables import path_files
from model.cell import Cell
from model.errors import ParseError
from model.event import Event
from model.run_files.path_tables import EventRow
from model.tolerances import EXACT
from tests.support.recorded import wireless_cell

EPOCH_NS = 5_000_000_000
NAMES = ("S.sender.jsonl", "S.receiver.jsonl")
FLOW = wireless_cell().flows[1]


def cell() -> Cell:
    down = Event(id="cut", t_s=1.0, link="bottleneck", way="both", state="down", rate_bps=None,
                 owd_s=None, loss_frac=None)  # fmt: skip
    other = dataclasses.replace(down, id="slow", t_s=1.5, link="bottleneck2", state="", owd_s=0.1)
    up = dataclasses.replace(down, id="back", t_s=2.0, state="up")
    return dataclasses.replace(wireless_cell(), events=(down, other, up))


def entry(name: str, done_ns: int, forward: tuple[int, int, int]) -> dict[str, Any]:
    keys = ("passed_pkts", "dropped_pkts", "held_pkts")
    ways = (("forward", forward), ("reverse", (10, 0, 0)))
    channels = [{"way": way, **dict(zip(keys, counts, strict=True))} for way, counts in ways]
    return {"event": name, "done_ns": done_ns, "channels": channels}


ENTRIES = [
    entry("cut", EPOCH_NS + 1_000_050_000, (100, 0, 3)),
    entry("slow", EPOCH_NS + 1_500_050_000, (7, 0, 0)),
    entry("back", EPOCH_NS + 2_000_050_000, (103, 40, 0)),
]
ENDS = {
    ("bottleneck", "forward"): (150, 41), ("bottleneck", "reverse"): (60, 5),
    ("bottleneck2", "forward"): (9, 1), ("bottleneck2", "reverse"): (10, 0),
}  # fmt: skip


def test_what_a_link_lost_lies_between_its_own_events() -> None:
    cut, slow, back = paths.event_rows(ENTRIES, cell(), EPOCH_NS, ENDS)
    assert (cut.data_passed_pkts, cut.data_lost_pkts, cut.data_under_way_pkts) == (3, 40, 3)
    assert (slow.path, slow.state, slow.data_passed_pkts, slow.data_lost_pkts) == (2, None, 2, 1)
    assert (back.data_passed_pkts, back.data_lost_pkts, back.ack_lost_pkts) == (47, 1, 5)
    assert cut.done_s == pytest.approx(1.00005)


def test_events_that_are_not_the_cells_are_refused() -> None:
    with pytest.raises(ValueError, match="not the events"):
        paths.event_rows(ENTRIES[:2], cell(), EPOCH_NS, ENDS)


def rows() -> list[EventRow]:
    return paths.event_rows(ENTRIES, cell(), EPOCH_NS, ENDS)


def test_a_late_event_and_a_packet_through_a_link_that_is_down_are_found() -> None:
    assert [check.agrees for check in path_files.in_time(rows(), EXACT)] == [True] * 3
    assert [check.agrees for check in path_files.never_through(rows())] == [True, True]
    late = dataclasses.replace(rows()[0], done_s=1.01, data_passed_pkts=4)
    assert [check.agrees for check in path_files.in_time([late], EXACT)] == [False]
    assert [check.agrees for check in path_files.never_through([late])] == [False, True]
    early = dataclasses.replace(late, done_s=0.999)
    assert path_files.in_time([early], EXACT)[0].agrees is False


LOOK = {
    "event": "path", "t_ns": EPOCH_NS + 500_000_000, "address": "10.2.1.2", "state": "active",
    "cwnd_bytes": 4380, "rto_ms": 1000, "backoffs": 0,
}  # fmt: skip
CHANGE = {"event": "path_change", "t_ns": EPOCH_NS + 2_000_000_000, "address": "10.2.1.2",
          "change": "unreachable", "error": 0}  # fmt: skip
DATA = {"event": "data_from", "t_ns": EPOCH_NS + 1_000_000_000, "address": "10.3.1.2"}


def states(*sender: dict[str, Any]) -> list[Any]:
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in sender)
    received = json.dumps(DATA, separators=(",", ":")) + '\n{"event":"interval"}\n'
    return paths.path_states(FLOW, text, received, EPOCH_NS, NAMES)


def test_words_of_both_ends_are_in_order_of_time() -> None:
    look, data, change = states(LOOK, {"event": "totals"}, CHANGE)
    assert (look.t_s, look.event, look.path, look.rto_s, look.backoffs) == (0.5, "look", 1, 1.0, 0)
    assert (data.t_s, data.side, data.event, data.path) == (1.0, "receiver", "data_from", 2)
    assert (change.event, change.state, change.cwnd_bytes) == ("unreachable", None, None)


@pytest.mark.parametrize(
    "wrong",
    [{"t_ns": -1}, {"state": "well"}, {"address": "192.0.2.1"}, {"address": 5}, {"rto_ms": None},
     {"backoffs": True}],
)  # fmt: skip
def test_what_no_probe_says_names_its_file(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParseError, match=r"S\.sender\.jsonl"):
        states({**LOOK, **wrong})
