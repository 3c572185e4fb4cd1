"""What became of a flow when a link went down, on rows worked out by hand, and its metrics."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import polars as pl
import pytest

from collectors.tables.parquet import write_rows
from model import run_folder
from model.run_files.path_tables import EventRow, PathStateRow
from model.run_files.study import Study
from reports.measures.failover import FAILOVER_FUNCTIONS
from reports.store import failover_table
from reports.store.sample import Failover, Sample, UnavailableError
from tests.support.recorded import wireless_cell
from tests.unit.measures.test_metrics import flow, sample

DOWN = EventRow(
    event="cut", t_s=10.0, done_s=10.0, link="bottleneck", path=1, state="down",
    data_under_way_pkts=0, ack_under_way_pkts=0, data_passed_pkts=0, data_lost_pkts=0,
    ack_passed_pkts=0, ack_lost_pkts=0,
)  # fmt: skip


def word(t_s: float, event: str, path: int = 1, backoffs: int | None = None) -> PathStateRow:
    side = "receiver" if event == "data_from" else "sender"
    return PathStateRow(
        flow="S", t_s=t_s, side=side, path=path, address="", event=event,
        state="active" if event == "look" else None, cwnd_bytes=None, rto_s=None,
        backoffs=backoffs,
    )  # fmt: skip


#: Two timeouts, given up at the second; data over the other path after the first.
STORY = (
    word(0.1, "data_from"), word(9.5, "look", backoffs=0), word(11.02, "look", backoffs=1),
    word(11.05, "data_from", 2), word(13.02, "unreachable"), word(13.02, "look", backoffs=2),
    word(13.5, "unreachable", 2), word(70.0, "data_from", 1),
)  # fmt: skip


def test_the_path_is_given_up_when_the_kernel_says_so_of_it() -> None:
    assert failover_table.given_up(STORY, DOWN) == pytest.approx(3.02)
    assert failover_table.given_up(STORY[:4], DOWN) == "the path was never given up"
    before = (word(9.0, "potentially_failed"), word(10.5, "available"))
    assert failover_table.given_up(before, DOWN) == "the path was never given up"


def test_timeouts_are_counted_from_the_last_look_before() -> None:
    assert failover_table.timeouts(STORY, DOWN, 3.02) == 2.0
    assert failover_table.timeouts(STORY[:5], DOWN, 3.02) == "nobody looked at the path"
    assert failover_table.timeouts(STORY, DOWN, "never") == "never"
    later = (*STORY[:1], word(9.5, "look", backoffs=4), *STORY[4:5], word(13.1, "look", backoffs=6))
    assert failover_table.timeouts(later, DOWN, 3.02) == 2.0


def test_the_primary_is_switched_when_the_kernel_makes_another_one_so() -> None:
    assert failover_table.switched(STORY, DOWN) == "the primary path stayed what it was"
    others = (word(9.0, "made_primary", 2), word(12.5, "made_primary"))
    assert failover_table.switched(others, DOWN) == "the primary path stayed what it was"
    later = (*others, word(13.0, "made_primary", 2), word(14.0, "made_primary", 2))
    assert failover_table.switched(later, DOWN) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("back_s", "last", "returned"),
    [(60.0, 70.0, 1.0), (60.0, None, 0.0), (None, None, "the link stayed down")],
)
def test_a_flow_returned_if_data_came_over_the_path_after_its_link_was_up(
    tmp_path: Path, back_s: float | None, last: float | None, returned: float | str
) -> None:
    events = [DOWN]
    if back_s is not None:
        events.append(dataclasses.replace(DOWN, event="back", t_s=back_s, state="up"))
    seen = STORY[:-1] if last is None else (*STORY[:-1], word(last, "data_from", 1))
    (tmp_path / "tables").mkdir()
    write_rows(events, EventRow, tmp_path / run_folder.EVENTS_TABLE)
    write_rows(seen, PathStateRow, tmp_path / run_folder.PATHS_TABLE)
    cell = wireless_cell()
    asks = cast("Study", SimpleNamespace(wanted_metrics=("returned_S_frac",)))
    found = failover_table.read_failovers(tmp_path, cell, asks)
    assert isinstance(found, dict)
    assert found["S"].returned_frac == returned
    assert found["T"].returned_frac == "it has one path"


def messages(*rows: tuple[float, float | None]) -> pl.DataFrame:
    columns = {"sent_s": pl.Float64, "delivered_s": pl.Float64}
    return pl.DataFrame(rows, schema=columns, orient="row")


def test_the_longest_gap_begins_with_the_last_delivery_before() -> None:
    found = messages((0.0, 1.0), (9.9, 9.95), (10.1, 12.0), (11.0, 14.5), (12.0, 14.6))
    assert failover_table.longest_gap_s(found, 10.0) == pytest.approx(2.5)
    assert failover_table.longest_gap_s(found.head(3), 10.0) == pytest.approx(2.05)
    assert isinstance(failover_table.longest_gap_s(found.head(2), 10.0), str)


def test_what_was_outstanding_is_what_was_ready_before() -> None:
    found = messages((9.9, 9.95), (9.99, 12.5), (10.0, 20.0))
    assert failover_table.outstanding(found, 10.0) == pytest.approx(2.5)
    assert failover_table.outstanding(messages((9.0, 9.1)), 10.0) == 0.0
    assert failover_table.outstanding(messages((9.0, None)), 10.0) == "1 messages never were"
    assert failover_table.outstanding(messages((10.0, 11.0)), 10.0) == (
        "nothing was handed over before"
    )


def with_failovers(found: dict[str, Failover] | str) -> Sample:
    flows = (flow("S1", "S", 1.0, 1, 0), flow("S2", "S", 1.0, 1, 0), flow("T", "T", 1.0, 1, 0))
    made = sample(*flows)
    return Sample(**{**vars(made), "failovers": found})


def failover(value: float | str) -> Failover:
    return Failover(
        gap_s=value, outstanding_s=value, other_path_s=value, failover_s=value, timeouts=value,
        switchover_s=value, return_s=value, returned_frac=value,
    )  # fmt: skip


@pytest.mark.parametrize("name", FAILOVER_FUNCTIONS)
def test_a_metric_is_of_the_flow_that_took_longest_or_says_why_not(name: str) -> None:
    mean = name.endswith("_frac")
    compute = FAILOVER_FUNCTIONS[name]
    found = {"S1": failover(2.0), "S2": failover(3.0), "T": failover("it has one path")}
    known = with_failovers(found)
    sctp, tcp = (next(group for group in known.groups if group.id == one) for one in "ST")
    assert compute(known, sctp) == (2.5 if mean else 3.0)
    with pytest.raises(UnavailableError, match="it has one path"):
        compute(known, tcp)
    with pytest.raises(UnavailableError, match="no link went down"):
        compute(with_failovers("no link went down"), sctp)
