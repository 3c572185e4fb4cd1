"""What reading takes grows with what is read, not with its square: by processor time, so by hand.

python -m pytest tests/long/own_results_growth.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from model.run_files.comparing.brought import (
    FlowReading,
    GroupFlow,
    KnownPoint,
    Listed,
    Reading,
    ResultsMapping,
    Setting,
    Sought,
    Span,
)
from model.run_files.point import Point
from simulators.results import tables
from simulators.results.gather import gather
from simulators.results.own_exports import OwnExports
from simulators.results.replicates import merged
from tests.support.simulators.own_results import stream_of

#: Ten times as much may take so many times as long: a square would take a hundred.
MOST_TIMES, FEWEST_S = 40, 0.02
AT = Point.of({"queue_pkts": 25})


def _grows(run: Callable[[int], object], count: int) -> None:
    took_s = []
    for times in (1, 10):
        before_s = time.process_time()
        run(count * times)
        took_s.append(time.process_time() - before_s)
    assert took_s[1] < MOST_TIMES * max(took_s[0], FEWEST_S)


def test_captures_of_many_receivers_are_one_replicate() -> None:
    def run(count: int) -> None:
        flows = (FlowReading(where="f", protocol="tcp", source=str(n)) for n in range(count))
        one_by_one = [
            Reading(where="f", point=AT, replicate="1",
                    flows=(GroupFlow(group="T", flow="", found=flow),), metrics={flow.source: 1.0})
            for flow in flows
        ]  # fmt: skip
        (one,) = merged(one_by_one)
        assert len(one.flows) == len(one.metrics) == count

    _grows(run, 1000)


def test_a_head_of_many_columns(tmp_path: Path) -> None:
    def run(count: int) -> None:
        head = ",".join(f"column of a simulator, number {n}".replace(",", "") for n in range(count))
        with stream_of(tmp_path, f"{head}\n") as stream:
            assert not list(tables.rows(stream))

    _grows(run, 1000)


def _mapping(listed: tuple[Listed, ...] = ()) -> ResultsMapping:
    means = Sought(metric="timeouts_S", factor=1.0, column="means", n="3")
    return ResultsMapping(
        where="m.yaml", source="s", format="csv", replicate="", listed=listed,
        settings=(Setting(name="queue_pkts", part="queue"),),
        sought=(Sought(metric="timeouts_T", factor=1.0, column="n"), *(() if listed else (means,))),
    )  # fmt: skip


def _points(count: int) -> tuple[KnownPoint, ...]:
    return tuple(
        KnownPoint(point=Point.of({"queue_pkts": n}), span=Span(from_s=0, to_s=1), duration_s=1)
        for n in range(count)
    )


def test_as_many_means_as_replicates(tmp_path: Path) -> None:
    def run(count: int) -> None:
        path = tmp_path / "t.csv"
        path.write_text("queue,n,means\n" + "".join(f"{n} packets,{n},5\n" for n in range(count)))
        found = gather(_mapping(), [path], _points(count), lambda *_: None)
        assert len(found.readings) == len(found.summaries) == count

    _grows(run, 200)


def test_an_export_of_many_points(tmp_path: Path) -> None:
    head = "study,cell,queue_pkts,replicate,seed,kernel_release,lab,excluded,metric,value"

    def run(count: int) -> None:
        path = tmp_path / "t.csv"
        rows = "".join(f"s,c{n},{n % 100},1,1,7.3,virtual,,metric {n},1\n" for n in range(count))
        path.write_text(f"{head}\n{rows}")
        _, found = OwnExports("s", _points(100), {}).read(path)
        assert len(found) == count

    _grows(run, 2000)


def test_as_many_files_as_the_mapping_lists(tmp_path: Path) -> None:
    def run(count: int) -> None:
        folder = tmp_path / str(count)
        folder.mkdir()
        names = [f"results of my simulator, {n}.csv" for n in range(count)]
        listed = tuple(Listed(file=name, parts={"queue": "1 packets"}) for name in names)
        for name in names:
            (folder / name).write_text("n,x\n5,1\n")
        files = [folder / name for name in names]
        assert len(gather(_mapping(listed), files, _points(2), lambda *_: None).files) == count

    _grows(run, 200)
