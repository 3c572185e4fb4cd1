"""A cell whose nodes follow a file: links break when the file takes them apart."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from model import run_folder
from model.cell import Cell
from model.movement.closeness import links
from model.movement.movement_csv import movement_of
from model.units import NS_PER_S
from testbed.campaign import digests
from testbed.campaign.run_cell import execute
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support.radio.traced_study import MOVEMENT, cell_of, read

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

#: n2 is 200 m from n5 and 400 m from n1, and from 5 s on goes away at 20 m/s: 250 m from n5 at
#: 7.5 s. n5 alone is within 250 m of both, and n6, whom n2 meets later, within that of nobody else.
APART_S, RELAY, FAR = 7.5, 4, 1
#: Seven attempts of 1.5 kB at 2 Mbit/s, each after a backoff of at most 20 ms, while n1 sends too.
GIVEN_UP_WITHIN_S = 0.5


@dataclass(frozen=True)
class Left:
    """What the cell left, and where its time zero lies."""

    cell: Cell
    folder: Path

    def events(self, node: int, name: str) -> list[dict[str, Any]]:
        """Return what a node's daemon did, with the time since time zero."""
        epoch_ns = json.loads((self.folder / run_folder.EPOCH).read_text())["epoch_ns"]
        packed = (self.folder / run_folder.routing_events(f"n{node + 1}")).read_bytes()
        found = [json.loads(line) for line in gzip.decompress(packed).splitlines()]
        return [
            {**one, "t_s": (one["t_ns"] - epoch_ns) / NS_PER_S}
            for one in found if one.get("event") == name
        ]  # fmt: skip


RunTrace = Callable[..., Left]


@pytest.fixture(scope="module")
def follow(radios: VirtualLab, tmp_path_factory: pytest.TempPathFactory) -> RunTrace:
    """Run a cell of the study of tests/support/radio/traced_study.py, tables and audit included."""
    place = tmp_path_factory.mktemp("traces")

    def run(name: str, *, seed: int = 1) -> Left:
        study = read(place / name / "study")
        one = cell_of(study, seed=seed, lab=radios.describe())
        ((sha256, text),) = study.movements.of_cells([one])
        kept = run_folder.kept_movement(place / name, sha256)
        kept.parent.mkdir()
        kept.write_text(text)
        for file in (place / name / "study").iterdir():
            file.unlink()
        folder = run_folder.cell_folder(place / name, "c")
        execute(one, folder, radios, threading.Event())
        assert run_folder.is_done(folder)
        return Left(one, folder)

    return run


@pytest.fixture(scope="module")
def left(follow: RunTrace) -> Left:
    return follow("one")


def test_nodes_follow_the_file(left: Left) -> None:
    assert (left.folder / run_folder.MOVEMENT).read_text() == MOVEMENT
    assert not (left.folder / run_folder.GIVEN_MOVEMENT).exists()
    met = links(movement_of(MOVEMENT, "m"), 250_000, 20 * NS_PER_S).contacts[FAR, RELAY]
    assert [round(one.to_ns / NS_PER_S, 6) for one in met] == [APART_S]


def test_the_link_breaks_when_the_file_takes_its_ends_apart(left: Left) -> None:
    (broken,) = [one for one in left.events(RELAY, "link_broken")
                 if one["destination"] == f"10.0.{FAR}.1"]  # fmt: skip
    assert broken["cause"] == "feedback"
    assert APART_S < broken["t_s"] < APART_S + GIVEN_UP_WITHIN_S
    assert [one for node in range(6) for one in left.events(node, "link_broken")
            if one["t_s"] < APART_S] == []  # fmt: skip


def test_its_routes_break_with_it(left: Left) -> None:
    (found, *_) = left.events(0, "discovery_found")
    assert found["t_s"] < 5
    routes = [one for one in left.events(0, "route_added") if one["destination"] == "10.0.1.1"]
    assert routes[0]["next_hop"] == f"10.0.{RELAY}.1"
    assert routes[0]["hops"] == 2
    (broken, *_) = [one for one in left.events(RELAY, "route_broken")
                    if one["destination"] == "10.0.1.1"]  # fmt: skip
    assert APART_S < broken["t_s"] < APART_S + GIVEN_UP_WITHIN_S


def test_tables_show_it(left: Left) -> None:
    radios = {row["node"]: row for row in pl.read_parquet(
        left.folder / run_folder.RADIOS_TABLE).to_dicts()}  # fmt: skip
    assert radios["n5"]["link_breaks"] == 1
    assert radios["n5"]["routes_broken"] >= 1
    assert radios["n6"]["link_breaks"] == radios["n3"]["link_breaks"] == 0
    table = pl.read_parquet(left.folder / run_folder.INTERVALS_TABLE)
    main = table.filter((pl.col("flow") == "main") & (pl.col("goodput_bytes") > 0))
    assert main.filter(pl.col("end_s") <= 5).height >= 3
    assert main["start_s"].max() == 7, "nothing arrives in an interval that begins after 7.5 s"


def test_all_adds_up(left: Left) -> None:
    for name in (run_folder.AUDIT, run_folder.VERIFY):
        checks = json.loads((left.folder / name).read_text())["checks"]
        assert checks
        assert [check for check in checks if check["agrees"] is False] == []


def test_it_repeats_to_the_byte(left: Left, follow: RunTrace) -> None:
    again = follow("again")
    assert digests.differences(digests.of_cell(left.folder), digests.of_cell(again.folder)) == []


def test_another_seed_draws_other_backoffs_but_no_movement(left: Left, follow: RunTrace) -> None:
    other = follow("other", seed=2)
    assert (other.folder / run_folder.MOVEMENT).read_text() == MOVEMENT
    assert (other.folder / run_folder.MEDIUM).read_text() != (
        left.folder / run_folder.MEDIUM
    ).read_text()
    (broken,) = [one for one in other.events(RELAY, "link_broken")
                 if one["destination"] == f"10.0.{FAR}.1"]  # fmt: skip
    assert APART_S < broken["t_s"] < APART_S + GIVEN_UP_WITHIN_S
