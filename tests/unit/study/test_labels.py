"""What a study calls its points, in its run's folder and in words."""

from __future__ import annotations

import pytest

from model.run_files.point import Point
from model.run_files.study import Study, ValueLabel
from reports.measures.metrics import metrics_of
from reports.measures.quantities import called, named, point_words
from reports.verdict.words import Words
from testbed.planning.findings import find
from testbed.planning.plan import make_plan
from testbed.planning.resolved import resolved
from testbed.points.load_study import STUDIES_FOLDER, load_study


def run_of(name: str) -> Study:
    plan = make_plan(load_study(STUDIES_FOLDER / f"{name}.yaml"), seeds=(1,), lab={})
    return resolved(plan, find(plan.study, seeds=plan.seeds))


@pytest.fixture(scope="module")
def satellite() -> Study:
    return run_of("satellite")


def test_a_point_is_called_by_its_labels_everywhere(satellite: Study) -> None:
    names = [point_words(point, satellite.parameters) for point in satellite.points]
    assert names[0] == "2 sources, 2 Mbit/s"
    assert names[5] == "4 sources, 0.2 Mbit/s"
    words = Words(metrics_of(satellite.groups, satellite.compare), satellite.parameters)
    naming = words.naming(satellite.points)
    assert [words.point(point, naming) for point in satellite.points] == names
    assert [one.path for one in named(satellite.parameters)] == [
        "network.pairs", "network.bottleneck.rate",
    ]  # fmt: skip


def test_an_alternative_keeps_the_name_and_says_what_it_is(satellite: Study) -> None:
    point = satellite.points[5]
    moved = Point.of({**point.as_dict(), "source_access_queue_pkts": 50})
    assert point_words(moved, satellite.parameters) == (
        "4 sources, 0.2 Mbit/s, source access queue 50 packets"
    )


def test_each_value_can_have_a_label_of_its_own() -> None:
    (protocol,) = run_of("wired").parameters
    assert protocol.label == (
        ValueLabel(value="sctp", text="transfers over SCTP"),
        ValueLabel(value="tcp", text="transfers over TCP"),
    )
    assert called(protocol, "tcp") == "transfers over TCP"
    assert called(protocol, "udp") == "udp"  # of an alternative


def test_without_labels_all_settings_are_told() -> None:
    run = run_of("wireless")
    assert [one.label for one in run.parameters] == [None]
    assert named(run.parameters) == run.parameters
    assert point_words(run.points[2], run.parameters) == "loss 1 %"
    assert called(run.parameters[0], 0.01, "loss {value}") == "loss 1 %"
