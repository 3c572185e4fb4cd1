"""Links beyond 1 Gbit/s: the kernel with the fine clock comes with them, and with them alone."""

from __future__ import annotations

import pytest

from testbed.points.load_study import find_study, load_study, study_from
from testbed.study.yaml_document import parse_document
from tests.support.study_file import HOSTS, SWEEP, UNPUBLISHED, Edit, edited, study

NO_SWEEP: Edit = (SWEEP, "  network.bottleneck.rate: [3 Mbit/s]\n")
EVENT = """\
events:
  - {id: faster, at: 50 s, link: bottleneck, rate: 2 Gbit/s}
"""


@pytest.mark.parametrize(
    ("rates", "named"),
    [
        ("3 Mbit/s, 1 Gbit/s", "7.3"), ("1000000008 bit/s", "7.3+fine-clock"),
        ("3 Mbit/s, 10 Gbit/s", "7.3+fine-clock"),
    ],
)  # fmt: skip
def test_all_points_of_a_study_have_one_clock(rates: str, named: str) -> None:
    read = study(UNPUBLISHED, (SWEEP, f"  network.bottleneck.rate: [{rates}]\n"))
    assert {read.kernel_at(point) for point in read.points} == {named}


@pytest.mark.parametrize("link", ["source_access", "destination_access"])
@pytest.mark.parametrize(
    "faster", ["rate: 2.5 Gbit/s", "reverse: {rate: 2.5 Gbit/s}\n    rate: 1 Gbit/s"]
)
def test_access_links_need_it_as_well(link: str, faster: str) -> None:
    begin = f"  {link}:\n    "
    read = study(UNPUBLISHED, NO_SWEEP, (f"{begin}rate: 10 Mbit/s", begin + faster))
    assert read.kernel_at(read.points[0]) == "7.3+fine-clock"


def test_an_event_that_makes_a_link_fast_needs_it_from_the_start() -> None:
    read = study(UNPUBLISHED, NO_SWEEP, ("flows:\n", f"{EVENT}flows:\n"))
    assert read.kernel_at(read.points[0]) == "7.3+fine-clock"


def test_a_simulator_has_no_kernel_to_change() -> None:
    fast: Edit = (SWEEP, "  network.bottleneck.rate: [10 Gbit/s]\n")
    document = parse_document(edited(UNPUBLISHED, fast), "w.yaml")
    read = study_from(document, [HOSTS], kernel="2.35-ns235")
    assert read.kernel_at(read.points[0]) == "2.35-ns235"


@pytest.mark.parametrize("name", ["wireless", "satellite", "rfc9438", "bufferbloat"])
def test_the_studies_there_are_have_the_usual_clock(name: str) -> None:
    read = load_study(find_study(name))
    assert not [p for p in read.all_points if "fine-clock" in read.kernel_at(p)]
