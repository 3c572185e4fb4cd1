"""What became of an association's paths: bars worked out by hand, and those of a recorded cell."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import polars as pl
import pytest

from collectors.tables.write import write_tables
from model.cell import Cell, Flow, HostProfile, Knob, LedgerEntry, from_dict
from model.run_files.figures import FigureWanted
from model.run_files.path_tables import EventRow, PathStateRow
from model.run_files.point import Point
from model.sctp_paths import OF_KERNEL, PF_OFF, SctpPaths
from reports.figures.chart import Figure
from reports.figures.kinds import KINDS, NO_PATHS
from reports.figures.path_timeline import Bar, Told, due_s, lanes, rto_before_s, timeline_figure
from reports.figures.shown_run import Shown
from reports.store.cell_tables import CellTables
from tests.support.recorded import DATA, value, wireless_cell
from tests.support.runs.figure_run import columns
from tests.unit.measures.test_failover import DOWN

CELL: Cell = from_dict(value("two-paths-7.3/cell.json"))
(FLOW,) = CELL.flows
UP = dataclasses.replace(DOWN, event="back", t_s=60.0, state="up")


def word(t_s: float, event: str, path: int = 1, state: str | None = None) -> PathStateRow:
    return PathStateRow(
        flow="S", t_s=t_s, side="receiver" if event == "data_from" else "sender", path=path,
        address="", event=event, state=state, cwnd_bytes=None,
        rto_s=1.0 if event == "look" else None, backoffs=0 if event == "look" else None,
    )  # fmt: skip


STORY = (
    word(0.1, "data_from"), word(0.2, "look", 1, "active"), word(0.2, "look", 2, "unconfirmed"),
    word(3.0, "confirmed", 2), word(9.5, "look", 1, "active"),
    word(11.0, "potentially_failed"), word(11.0, "look", 1, "potentially_failed"),
    word(11.05, "data_from", 2), word(13.0, "made_primary", 2), word(70.0, "unreachable"),
    word(80.0, "look", 1, "inactive"), word(80.0, "look", 2, "active"),
)  # fmt: skip


def test_bars_are_what_was_said_until_something_else_was() -> None:
    found = lanes(Told(states=STORY, events=(DOWN, UP)), (0.0, 100.0))
    assert found == [
        Bar(lane="path 1: link", from_s=10.0, to_s=60.0, what="link down"),
        Bar(lane="path 1: its sender", from_s=0.2, to_s=11.0, what="active"),
        Bar(lane="path 1: its sender", from_s=11.0, to_s=70.0, what="potentially failed"),
        Bar(lane="path 1: its sender", from_s=70.0, to_s=80.0, what="inactive"),
        Bar(lane="path 1: data", from_s=0.1, to_s=11.05, what="data come over it"),
        Bar(lane="path 2: its sender", from_s=0.2, to_s=3.0, what="unconfirmed"),
        Bar(lane="path 2: its sender", from_s=3.0, to_s=80.0, what="active"),
        Bar(lane="path 2: data", from_s=11.05, to_s=80.0, what="data come over it"),
    ]


def test_bars_end_where_the_window_does_and_a_link_may_stay_down() -> None:
    found = lanes(Told(states=STORY, events=(DOWN,)), (12.0, 20.0))
    assert [(bar.lane, bar.from_s, bar.to_s) for bar in found] == [
        ("path 1: link", 12.0, 20.0), ("path 1: its sender", 12.0, 20.0),
        ("path 2: its sender", 12.0, 20.0), ("path 2: data", 12.0, 20.0),
    ]  # fmt: skip
    assert lanes(Told(states=(), events=(DOWN,)), (0.0, 20.0)) == []


def asking(cell: Cell, paths: SctpPaths = OF_KERNEL) -> tuple[Flow, Cell]:
    return dataclasses.replace(cell.flows[-1], paths=paths), cell


@pytest.mark.parametrize(
    ("asked", "rto_s", "due"),
    [
        (SctpPaths(path_max_retrans=5, pf_max_retrans=PF_OFF), 1.0, (1, 3, 7, 15, 31, 63)),
        (SctpPaths(path_max_retrans=1, pf_max_retrans=PF_OFF), 0.1, (0.1, 0.3)),
        # As Linux by itself: new data leave at the first.
        (OF_KERNEL, 1.0, (1,)),
        (SctpPaths(path_max_retrans=3, pf_max_retrans=1), 1.0, (1, 3)),
        # From Path.Max.Retrans on a path is not potentially failed, but failed.
        (SctpPaths(path_max_retrans=2, pf_max_retrans=2), 1.0, (1, 3, 7)),
        (
            SctpPaths(path_max_retrans=4, pf_max_retrans=9, rto_max_ms=5000),
            2.0,
            (2, 6, 11, 16, 21),
        ),
    ],
)
def test_timeouts_are_due_as_the_rfcs_have_it(
    asked: SctpPaths, rto_s: float, due: tuple[float, ...]
) -> None:
    flow, cell = asking(wireless_cell(), asked)
    assert due_s(flow, cell, rto_s) == pytest.approx(due)


def test_a_sysctl_of_the_hosts_stands_behind_what_the_flow_asks_for() -> None:
    knob = Knob(kind="sysctl", name="net.sctp.pf_retrans", value="2", side="both")
    entry = LedgerEntry(parameter="p", published="", fidelity="exact", note="", knobs=(knob,))
    hosts = HostProfile(id="h", title="h", entries=(entry,))
    flow, cell = asking(dataclasses.replace(wireless_cell(), hosts=hosts))
    assert due_s(flow, cell, 1.0) == (1.0, 3.0, 7.0)
    flow, cell = asking(cell, SctpPaths(pf_max_retrans=0))
    assert due_s(flow, cell, 1.0) == (1.0,)
    without = dataclasses.replace(knob, name="net.sctp.pf_enable", value="0")
    entry = dataclasses.replace(entry, knobs=(without,))
    hosts = dataclasses.replace(hosts, entries=(entry,))
    flow, cell = asking(dataclasses.replace(cell, hosts=hosts), SctpPaths(path_max_retrans=1))
    assert due_s(flow, cell, 1.0) == (1.0, 3.0)


def test_the_timeout_is_that_of_the_last_look_before() -> None:
    told = Told(states=STORY, events=(DOWN,))
    assert rto_before_s(told, DOWN) == 1.0
    assert rto_before_s(Told(states=STORY[3:4], events=(DOWN,)), DOWN) is None


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    folder = Path(shutil.copytree(DATA / "two-paths-7.3", tmp_path_factory.mktemp("run") / "cell"))
    write_tables(folder, CELL)
    return Shown(CELL, CellTables(folder), {}, Point(settings=()), {})


def wanted(to_s: float | None = None) -> FigureWanted:
    return FigureWanted(kind="paths", points=(Point(settings=()),), from_s=0.0, to_s=to_s)


def test_a_recorded_association_is_drawn(shown: Shown) -> None:
    (figure,) = KINDS["paths"][1](wanted(), [shown], "paths")
    assert isinstance(figure, Figure)
    assert (figure.id, figure.flow) == ("paths-S", "S")
    assert "The link of path 1 went down at 6 s." in figure.caption
    assert "Its timeout was 0.5 s then" in figure.caption
    assert "after 2 timeouts, which are due 1.5 s later" in figure.caption
    assert "The kernel gave it up 1.704 s after it went down." in figure.caption
    bars = [columns(figure, layer) for layer in figure.spec["layer"] if "data" in layer
            and "name" in layer["data"]]  # fmt: skip
    what = {one["what"][0] for one in bars if "what" in one}
    assert what == {"link down", "active", "inactive", "data come over it"}
    (due,) = [one["from_s"] for one in bars if "what" not in one]
    assert due == [6.5, 7.5]


def test_a_window_without_a_word_is_a_reason(shown: Shown) -> None:
    late = Told(states=(), events=())
    found = timeline_figure(late, FLOW, CELL, id="x", label="x", window_s=(0.0, 1.0))
    assert found == "nothing was said of the paths of flow S in that time"
    (early,) = KINDS["paths"][1](wanted(to_s=5.0), [shown], "paths")
    assert isinstance(early, Figure)
    assert "link down" not in str(early.spec["datasets"])


def test_without_several_paths_there_is_a_reason(shown: Shown) -> None:
    alone = Shown(wireless_cell(), shown.tables, {}, shown.point, {})
    assert list(KINDS["paths"][1](wanted(), [alone], "x")) == [NO_PATHS]
    bare = Shown(CELL, CellTables(Path("nowhere")), {}, shown.point, {})
    assert list(KINDS["paths"][1](wanted(), [bare], "x")) == [NO_PATHS]


def test_nothing_that_went_down_needs_no_timeouts(shown: Shown) -> None:
    states = shown.tables.path_states("S")
    assert states is not None
    found = timeline_figure(
        Told(states=states, events=()), FLOW, CELL, id="x", label="x", window_s=(0.0, 9.0)
    )
    assert isinstance(found, Figure)
    assert found.caption.startswith("Each path as its sender")
    assert found.caption.endswith("data came over.")


def test_events_of_the_table_are_read(shown: Shown) -> None:
    found = shown.tables.events()
    assert [(one.event, one.state, one.path) for one in found] == [
        ("cut", "down", 1), ("back", "up", 1),
    ]  # fmt: skip
    assert isinstance(found[0], EventRow)
    assert CellTables(Path("nowhere")).events() == ()
    assert pl.read_parquet(shown.tables.folder / "tables" / "paths.parquet").height > 10
