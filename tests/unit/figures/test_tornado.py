"""Tornados: what each alternative makes of the number a claim turns on."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reports.figures.plain.tornado import Tornado, drawn
from reports.page.repeats import repeats_page
from reports.store.run import read_run
from reports.verdict.summary import summarise
from tests.support.runs.varied_run import build_varied


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[list[Tornado]]:
    summary = summarise(read_run(build_varied(Path(tmp_path_factory.mktemp("varied")))))
    return [[one for one, _ in tried.tornados] for tried in repeats_page(summary).tried]


def test_bars_go_from_as_assumed_the_longest_first(found: list[list[Tornado]]) -> None:
    both, first = found
    # 10 and 12 % as assumed; 20 and 22 %, 16 and 18 %; at the first point alone 14 %.
    assert [one.claim for one in both] == [
        "The increase is above 16 %.", "The increase is above 0 %.", "The increase is above 0 %.",
    ]  # fmt: skip
    large = both[0]
    assert large.bounds == (16.0,)
    assert large.base.value == pytest.approx(10, abs=0.3)
    far, near = large.bars
    assert (far.alternative, near.alternative) == (
        "bottleneck loss data 3 %", "bottleneck loss data 2 %",
    )  # fmt: skip
    assert [bar.number.value for bar in large.bars] == pytest.approx([20, 16], abs=0.3)
    assert (far.turned, near.turned) == (True, False)
    (positive,) = (one for one in first if one.claim == "The increase is above 0 %.")
    assert [bar.number.value for bar in positive.bars] == pytest.approx([14], abs=0.3)


def test_a_tornado_is_drawn_to_scale_and_told(found: list[list[Tornado]]) -> None:
    large = found[0][0]
    picture = drawn(large)
    ElementTree.fromstring(picture)
    assert f"As assumed: {large.base.told}. bottleneck loss data 3 %: " in picture
    assert re.findall(r'class="mark (\w+)"', picture) == ["kernel", "outside", "kernel"]
    swings = re.findall(
        r'x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)" y2="[\d.]+" class="swing"', picture
    )
    (base, far), (same, near) = ((float(one), float(other)) for one, other in swings)
    assert base == same
    # 20 - 10 against 16 - 10
    assert (far - base) / (near - base) == pytest.approx(10 / 6, abs=0.1)
    (bound,) = re.findall(r'x1="([\d.]+)" [^>]*class="bound"', picture)
    assert float(bound) == pytest.approx(near, abs=15)
