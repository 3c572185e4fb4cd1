"""Files with a mapping: which is which point and replicate, and what does not fit together."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from model.errors import ParseError
from model.run_files.comparing.brought import (
    Brought,
    KnownPoint,
    Listed,
    ResultsMapping,
    Selector,
    Setting,
    Sought,
    Span,
)
from model.run_files.point import Point
from simulators.results.gather import gather
from tests.support.simulators.own_results import NS3, POINTS, SCA, VEC

pytestmark = pytest.mark.unit

MONITOR = ResultsMapping(
    where="m.yaml", source="ns-3.37", format=None,
    settings=(Setting(name="queue_pkts", part="queue", unit="packets"),), replicate="run",
    pattern="queue-{queue}-run-{run}.xml.gz",
    selectors=(Selector(group="bbr", destination_ports=(5001, 5001)),
               Selector(group="cubic", destination_ports=(5002, 5002))),
    headers_bytes=52, counted=Span(from_s=10, to_s=60), lost_in="buffer",
)  # fmt: skip
SHORT = dataclasses.replace(
    MONITOR, pattern="short-*.pcap.xz", replicate="", counted=None,
    settings=(Setting(name="queue_pkts", text="25 packets"),),
)  # fmt: skip
#: What was counted of the short recordings.
SECONDS = (
    KnownPoint(point=Point.of({"queue_pkts": 25}), span=Span(from_s=1.0, to_s=3.0), duration_s=3.0),
)
OMNET = ResultsMapping(
    where="m.yaml", source="OMNeT++", format=None, replicate="repetition",
    settings=(Setting(name="queue_pkts", part="queue", unit="packets"),),
    sought=(
        Sought(metric="goodput_bbr_bps", factor=8.0, per_second=True, module="*.sink[0]",
               name="bytes:sum"),
        Sought(metric="goodput_cubic_bps", factor=8.0, per_second=True, module="*.sink[1]",
               name="bytes:sum"),
        Sought(metric="owd_mean_bbr_s", factor=1.0, module="*", name="delay:histogram:mean"),
    ),
)  # fmt: skip


def gathered(
    mapping: ResultsMapping, *files: Path, points: tuple[KnownPoint, ...] = POINTS
) -> Brought:
    return gather(mapping, files, points, lambda *_: None)


def test_names_tell_points_and_replicates() -> None:
    files = [
        NS3 / str(queue) / f"queue-{queue}-run-{run}.xml.gz"
        for queue in (100, 400)
        for run in (1, 2)
    ]
    found = gathered(MONITOR, *files)
    assert [(dict(one.point.settings)["queue_pkts"], one.replicate) for one in found.readings] == [
        (100, "1"), (100, "2"), (400, "1"), (400, "2")
    ]  # fmt: skip
    assert {flow.group for one in found.readings for flow in one.flows} == {"bbr", "cubic"}
    assert [one.stored_bytes for one in found.files] == [one.stat().st_size for one in files]


def test_captures_of_one_replicate_are_put_together() -> None:
    """Each capture has one of the two flows, and no part tells replicates: two lack the other."""
    files = [NS3 / f"short-{one}.pcap.xz" for one in ("Bbr", "Cubic")]
    with pytest.raises(ParseError, match="no flow of group cubic"):
        gathered(SHORT, *files, points=SECONDS)
    together = dataclasses.replace(
        SHORT, replicate="run",
        listed=tuple(Listed(file=one.name, parts={"run": "1"}) for one in files),
    )  # fmt: skip
    (one,) = gathered(together, *files, points=SECONDS).readings
    goodputs = {flow.group: flow.found.goodput_bytes for flow in one.flows}
    assert goodputs.keys() == {"bbr", "cubic"}
    assert all(goodputs.values())


def test_runs_of_omnetpp_are_replicates(tmp_path: Path) -> None:
    path = tmp_path / "General.sca"
    path.write_text(SCA)
    counted = dataclasses.replace(OMNET, counted=POINTS[0].span)
    first, second = gathered(counted, path).readings
    assert (first.replicate, second.replicate) == ("0", "1")
    assert first.metrics == {
        "goodput_bbr_bps": 12_500_000 * 8 / 50, "goodput_cubic_bps": 37_500_000 * 8 / 50,
        "owd_mean_bbr_s": 0.0625,
    }  # fmt: skip
    assert second.metrics["owd_mean_bbr_s"] == 0.125


def test_vectors_become_what_is_taken_of_them(tmp_path: Path) -> None:
    path = tmp_path / "General.vec"
    path.write_text(VEC)
    window = Sought(metric="cwnd_mean_bbr_segments", factor=1.0, module="*.source[0]",
                    name="cwnd:vector", take="mean")  # fmt: skip
    (one,) = gathered(dataclasses.replace(OMNET, sought=(window,)), path).readings
    assert one.metrics == {"cwnd_mean_bbr_segments": 5.0}
    with pytest.raises(ParseError, match="a vector, and nothing says what to take of it"):
        gathered(
            dataclasses.replace(OMNET, sought=(dataclasses.replace(window, take="only"),)), path
        )


FILE = NS3 / "100" / "queue-100-run-1.xml.gz"
REFUSED = {
    "name": ({"pattern": "q{queue}.xml"}, [FILE], "a name that does not fit the mapping"),
    "twice": ({}, [FILE, FILE], "a file for the second time"),
    "replicates": ({"pattern": "queue-{queue}-*.xml.gz", "replicate": "queue"},
                   [FILE, FILE.with_name("queue-100-run-2.xml.gz")],
                   "for the second time: got replicate"),
    "point": ({"settings": (Setting(name="queue_pkts", text="26 packets"),)}, [FILE],
              "no point of the run"),
    "unit": ({"settings": (Setting(name="queue_pkts", part="queue", unit="ms"),)}, [FILE],
             "queue_pkts: unknown unit 'ms'"),
    "part": ({"settings": (Setting(name="queue_pkts", part="q"),)}, [FILE],
             "queue_pkts is not told: wanted a text called 'q'"),
    "no flow": ({"selectors": (Selector(group="bbr", source="10.9.9.9"),)}, [FILE],
                "no flow of group bbr"),
    "both": ({"selectors": (Selector(group="bbr", protocol="tcp"),
                            Selector(group="cubic", protocol="tcp"))}, [FILE],
             "is of more than one group"),
    "nothing asked": ({"selectors": ()}, [FILE], "nothing says whose its flows are"),
    "format": ({"format": "pcap"}, [FILE], "byte 0: not a capture"),
    "not listed": ({"listed": (Listed(file="a", parts={}),)}, [FILE], "does not list"),
    "headers": ({"headers_bytes": 9000}, [FILE], "packets are smaller than their headers"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(case: str) -> None:
    changes, files, words = REFUSED[case]
    with pytest.raises(ParseError) as refused:
        gathered(dataclasses.replace(MONITOR, **changes), *files)  # type: ignore[arg-type]
    assert words in str(refused.value)


def test_the_first_file_that_cannot_be_read_ends_it(tmp_path: Path) -> None:
    bad = tmp_path / "queue-400-run-1.xml.gz"
    bad.write_bytes((NS3 / "400" / bad.name).read_bytes()[:-100])
    with pytest.raises(ParseError, match="cannot be read as gzip"):
        gathered(MONITOR, FILE, bad)


def test_totals_of_another_time_than_the_study_s_are_rates_of_that_time(tmp_path: Path) -> None:
    """As FlowMonitor's: of what ``counted`` says, without it of the whole simulation."""
    scalars, table = tmp_path / "General.sca", tmp_path / "totals.csv"
    scalars.write_text(SCA)
    table.write_text("queue,repetition,bytes\n25,7,12500000\n")
    column = Sought(metric="goodput_bbr_bps", factor=8.0, per_second=True, column="bytes")
    of_table = dataclasses.replace(OMNET, sought=(column,))
    for counted, seconds in ((None, 60), (Span(from_s=20, to_s=60), 40)):
        for mapping, path in ((OMNET, scalars), (of_table, table)):
            found = gathered(dataclasses.replace(mapping, counted=counted), path)
            assert found.readings[0].metrics["goodput_bbr_bps"] == 12_500_000 * 8 / seconds
            (note,) = found.notes
            assert "of 10 s to 60 s" in note
    assert gathered(dataclasses.replace(OMNET, counted=POINTS[0].span), scalars).notes == ()


def test_a_vector_s_sum_is_of_the_study_s_time(tmp_path: Path) -> None:
    path = tmp_path / "General.vec"
    path.write_text(VEC)
    total = Sought(metric="goodput_bbr_bps", factor=8.0, per_second=True, module="*.source[0]",
                   name="cwnd:vector", take="sum")  # fmt: skip
    mapping = dataclasses.replace(OMNET, sought=(total,), counted=Span(from_s=0, to_s=60))
    (one,) = gathered(mapping, path).readings
    assert one.metrics == {"goodput_bbr_bps": (4 + 6) * 8 / 50}


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [("bytes:sum\" 37500000", "bytes:sum\" -5", "bytes:sum of Net.sink[1] is impossible"),
     ("0 18 10.5 4", "0 18 10.5 -4", "cwnd:vector of Net.source[0] is impossible")],
)  # fmt: skip
def test_what_is_taken_of_several_hides_no_impossible_one(
    old: str, new: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "General.any"
    path.write_text((SCA if old in SCA else VEC).replace(old, new))
    sums = Sought(metric="goodput_bbr_bps", factor=8.0, per_second=True, module="*",
                  name="bytes:sum" if old in SCA else "cwnd:vector", take="sum")  # fmt: skip
    with pytest.raises(ParseError, match="impossible: wanted 0 or more") as refused:
        gathered(dataclasses.replace(OMNET, sought=(sums,)), path)
    assert name in str(refused.value)
