"""Routes of flows from daemons' events: followed by hand, hostile lines refused, read back."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.raw.router_events import RouterEvents, router_events
from collectors.raw.routes import RouteChange, Way, followed, route
from collectors.tables import radio_files
from collectors.tables.parquet import write_rows
from model import run_folder
from model.ad_hoc import AdHoc, address
from model.cell import Cell, from_dict
from model.errors import ParseError
from model.run_files.path_tables import RouteRow
from model.run_files.point import Point
from reports.figures.moving.of_run import NO_ROUTES, moving_nodes
from reports.store.audit import Evidence
from reports.store.route_table import from_start, read_routes
from reports.store.run import Run
from tests.support.recorded import value
from tests.support.report_page import Page

S = 1_000_000_000
A, B, C = (address(number) for number in range(3))
NAMES = {A: "n1", B: "n2", C: "n3"}
DATA, BACK = Way("main", "data", "n1", "n2"), Way("main", "ack", "n2", "n1")


def line(t_ns: int, event: str, destination: str = B, next_hop: str = C) -> str:
    """A line as the daemon writes it."""
    return (
        f'{{"t_ns":{t_ns},"event":"{event}","destination":"{destination}",'
        f'"next_hop":"{next_hop}","hops":2,"seq":null}}\n'
    )


def test_events_of_routes_are_read_and_others_passed_by() -> None:
    text = (
        line(5, "route_added")
        + f'{{"t_ns":6,"event":"link_broken","destination":"{C}","cause":"feedback"}}\n'
        + line(6, "route_changed", next_hop=B) + line(7, "route_broken")
        + line(8, "route_expired") + line(8, "route_deleted")
    )  # fmt: skip
    found = router_events(text, "n1.events", "n1", 9)
    assert found.changes == (
        RouteChange(5, "n1", B, C), RouteChange(6, "n1", B, B), RouteChange(7, "n1", B, None),
        RouteChange(8, "n1", B, None), RouteChange(8, "n1", B, None),
    )  # fmt: skip
    nothing = {"link_breaks": 0, "routes_broken": 0, "discoveries": 0, "discoveries_failed": 0}
    assert found.counts == {**nothing, "link_breaks": 1, "routes_broken": 1}
    assert router_events("", "n1.events", "n1", 9) == RouterEvents((), nothing)


@pytest.mark.parametrize(
    "broken",
    [
        line(9, "route_added")[:-9], line(9, "route_lost"), line(-1, "route_added"),
        line(9, "route_added").replace("next_hop", "hop"), '["event":"route_added"]',
        '[{"event":"route_added"}]', '{"event":"route_added"}',
        '{"t_ns":9,"event":"route_added","destination":1,"next_hop":"10.0.0.1"}',
        '{"t_ns":9,"event":"route_added","destination":"10.0.0.1","next_hop":null}',
        '{"t_ns":1e3,"event":"route_broken","destination":"10.0.0.1"}',
    ],
)  # fmt: skip
def test_lines_that_no_daemon_writes_are_named(broken: str) -> None:
    with pytest.raises(ParseError, match=r"n1\.events:2") as caught:
        router_events(line(5, "route_added") + broken, "n1.events", "n1", 9)
    assert "not an event of a router" in str(caught.value)


def test_times_that_descend_are_named() -> None:
    with pytest.raises(ParseError, match="times of events descend"):
        router_events(line(5, "route_added") + line(4, "route_broken"), "n1.events", "n1", 9)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = router_events('"event":"route_' + text, "n1.events", "n1", 9)
    except ParseError:
        return
    assert found.changes == ()


def test_routes_followed_by_hand() -> None:
    changes = [
        RouteChange(10 * S, "n1", B, C),  # not whole: n3 knows no way on
        RouteChange(11 * S, "n3", B, B),  # n1 n3 n2
        RouteChange(12 * S, "n3", A, A),
        RouteChange(12 * S, "n2", A, C),  # and back, both at once
        RouteChange(13 * S, "n1", B, C),  # says what was known
        RouteChange(14 * S, "n3", B, None),  # breaks on the way
        RouteChange(15 * S, "n3", B, A),  # n1 n3 n1 would be a loop
        RouteChange(16 * S, "n1", B, B),  # straight
        RouteChange(17 * S, "n1", B, "10.9.9.9"),  # of a stranger
        RouteChange(17 * S, "n1", C, C),  # of no flow
    ]

    def row(way: Way, t_s: float, nodes: str | None) -> RouteRow:
        return RouteRow(flow="main", way=way.way, t_s=t_s, nodes=nodes)

    assert followed(changes, [DATA, BACK], NAMES, 10 * S, 20 * S) == [
        row(DATA, 1.0, "n1 n3 n2"), row(BACK, 2.0, "n2 n3 n1"), row(DATA, 4.0, None),
        row(DATA, 6.0, "n1 n2"), row(DATA, 7.0, None),
    ]  # fmt: skip


def test_a_change_that_is_undone_in_the_same_nanosecond_is_none() -> None:
    changes = [
        RouteChange(1 * S, "n1", B, B), RouteChange(2 * S, "n1", B, None),
        RouteChange(2 * S, "n1", B, B),
    ]  # fmt: skip
    assert len(followed(changes, [DATA], NAMES, 0, 3 * S)) == 1


def test_a_route_that_is_lost_when_the_run_has_ended_has_no_row() -> None:
    changes = [
        RouteChange(-1, "n1", B, B), RouteChange(5 * S - 1, "n1", B, None),
        RouteChange(5 * S, "n1", B, B), RouteChange(6 * S, "n1", B, None),
    ]  # fmt: skip
    found = [row.t_s for row in followed(changes, [DATA], NAMES, 0, 5 * S)]
    assert found == [-1e-9, pytest.approx(5 - 1e-9)]


@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("abcdef")))
def test_a_route_is_whole_or_not_there(hops: dict[str, str]) -> None:
    found = route({(node, "f"): following for node, following in hops.items()}, "a", "f")
    if found:
        assert (found[0], found[-1]) == ("a", "f")
        assert len(set(found)) == len(found)
        assert [hops[node] for node in found[:-1]] == list(found[1:])


def cell() -> Cell:
    """The recorded cell of six nodes with one flow between its first pair."""
    recorded = from_dict(value("radios-6.12/cell.json"))
    return replace(recorded, flows=recorded.flows[:1])


def lay_events(folder: Path) -> None:
    """Node 1 finds node 2 over node 3 a second after the start; half a second later it is lost.

    When the run has ended node 1 finds it again.
    """
    end_ns = 21 * S + int(cell().duration_s * S)
    (folder / "tables").mkdir()
    (folder / "raw/routing").mkdir(parents=True)
    events = {
        "n1": line(22 * S, "route_added")
        + line(22 * S + S // 2, "route_broken")
        + line(end_ns, "route_added"),
        "n3": line(21 * S, "route_added", next_hop=B),
    }
    for number in range(1, 7):
        path = folder / run_folder.routing_events(f"n{number}")
        path.write_bytes(gzip.compress(events.get(f"n{number}", "").encode()))


def write_routes(folder: Path) -> None:
    network, end_ns = cell().network, 21 * S + int(cell().duration_s * S)
    assert isinstance(network, AdHoc)
    if events := radio_files.read_events(folder, network.radios(), end_ns):
        radio_files.write_routes(folder, network, cell().flows, events, (21 * S, end_ns))


def test_from_events_to_what_a_page_is_given(tmp_path: Path) -> None:
    lay_events(tmp_path)
    write_routes(tmp_path)
    (flow,) = cell().flows
    assert (flow.source, flow.destination) == (0, 0)
    assert read_routes(tmp_path / run_folder.ROUTES_TABLE, cell()) == {
        (flow.id, "data"): ((0, ()), (S, (0, 2, 1)), (S + S // 2, ())),
        (flow.id, "ack"): ((0, ()),),
    }


def test_without_events_there_is_no_table_and_some_are_not_enough(tmp_path: Path) -> None:
    write_routes(tmp_path)
    assert not (tmp_path / run_folder.ROUTES_TABLE).exists()
    lay_events(tmp_path)
    (tmp_path / run_folder.routing_events("n4")).unlink()
    with pytest.raises(ParseError, match=r"n4\.events"):
        write_routes(tmp_path)


@pytest.mark.parametrize(
    "change", [{"flow": "x"}, {"way": "up"}, {"nodes": "n1 n7"}, {"t_s": None}, {"t_s": 0.5}]
)
def test_tables_of_another_cell_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    good = {"flow": cell().flows[0].id, "way": "data", "t_s": 2.0, "nodes": "n1 n2"}
    rows = [RouteRow(**good), RouteRow(**{**good, **change})]  # type: ignore[arg-type]
    write_rows(rows, RouteRow, tmp_path / "routes.parquet")
    with pytest.raises(ParseError, match=r"routes\.parquet"):
        read_routes(tmp_path / "routes.parquet", cell())


def test_routes_before_the_start_are_those_at_it() -> None:
    assert from_start([(-5, (0, 1)), (-2, (0, 2, 1)), (3, ())]) == ((0, (0, 2, 1)), (3, ()))
    assert from_start([]) == ((0, ()),)


def test_a_page_shows_the_first_flow_first_or_says_why_not(tmp_path: Path) -> None:
    lay_events(tmp_path)
    write_routes(tmp_path)
    shown = Page(str(moving_nodes(run_of(tmp_path / run_folder.ROUTES_TABLE), "m")))
    data = json.loads(shown.scripts[0])
    assert data["routes"] == [[0], [1000, 0, 2, 1], [1500]]
    assert data["others"] == [[[0]]]
    options = [attrs["value"] for tag, attrs in shown.tags if tag == "option"]
    assert options[-2:] == ["0", "1"]
    flow = cell().flows[0].id
    assert f"{flow}, data" in shown.words
    assert f"No routes are shown: {NO_ROUTES}." in str(moving_nodes(run_of(None), "m")).replace(
        "&#39;", "'"
    )


def run_of(routes: Path | None) -> Run:
    """A run of one finished cell, with what its picture needs."""
    finished = SimpleNamespace(
        cell=cell(), plan=SimpleNamespace(point=Point.of({})), evidence=Evidence(routes=routes)
    )
    study = SimpleNamespace(parameters=())
    return cast(Run, SimpleNamespace(measured=lambda: (finished,), study=study, traced=None))


def test_what_daemons_of_older_runs_did_is_not_compressed(tmp_path: Path) -> None:
    lay_events(tmp_path)
    for packed in tmp_path.glob("raw/routing/*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    write_routes(tmp_path)
    assert (tmp_path / run_folder.ROUTES_TABLE).exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"no gzip", "incorrect header"),
        (gzip.compress(b"\xff", mtime=0), "utf-8"),
    ],
)
def test_what_a_daemon_did_is_damaged(tmp_path: Path, content: bytes, said: str) -> None:
    lay_events(tmp_path)
    (tmp_path / run_folder.routing_events("n4")).write_bytes(content)
    with pytest.raises(ParseError, match=rf"n4\.events\.gz.*{said}"):
        write_routes(tmp_path)
