"""Small pictures: where things stand, what is said of them, and that no text becomes markup."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from reports.figures.plain.multiples import multiple
from reports.figures.plain.offsets import forest, offsets, overview
from reports.figures.plain.shapes import picture, ticks, words
from reports.store.run import read_run
from reports.verdict.summary import Summary, summarise
from tests.support.report_page import HOSTILE
from tests.support.runs.report_run import LOSSES, METRICS, build_run


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    return summarise(read_run(build_run(tmp_path_factory.mktemp("runs") / "run")))


def marks(drawn: Markup) -> list[str]:
    return re.findall(r'class="mark (\w+)"', drawn)


def test_everything_published_has_an_offset(summary: Summary) -> None:
    found = offsets(summary)
    assert len(found) == len(METRICS)
    assert sum(len(one.offsets) + one.without for one in found) == len(METRICS) * len(LOSSES)
    increase = next(one for one in found if one.name.startswith("Increase"))
    # At 1 % loss S has 114, T 98 to 102 kbit/s; 27.6 is printed.
    offset = next(one for one in increase.offsets if one.place.endswith("1 %"))
    assert offset.told.startswith("27.6 \N{RIGHTWARDS ARROW} 14.0 %")
    assert offset.mean == pytest.approx(100 * (14.0 - 27.6) / 27.6, abs=0.3)


def test_both_pictures_show_every_value(summary: Summary) -> None:
    found = offsets(summary)
    every = sum(len(one.offsets) for one in found)
    for draw in (overview, forest):
        drawn = draw(found, "a name")
        ElementTree.fromstring(drawn)
        assert len(marks(drawn)) == every
        assert drawn.count("<title>") == every
        assert 'role="img" aria-label="a name"' in drawn
    judged = [one.judged for part in found for one in part.offsets]
    assert marks(forest(found, "")).count("outside") == judged.count(False) > 0


def test_a_multiple_has_a_mark_for_each_mean_and_each_published_value(summary: Summary) -> None:
    metric = summary.metric_table()["utilisation_pct"]
    drawn = multiple(summary, metric)
    assert drawn is not None
    ElementTree.fromstring(drawn)
    assert marks(drawn).count("kernel") == len(summary.points)
    assert marks(drawn).count("published") == len(LOSSES)
    assert "polyline" not in drawn


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (0, 10, [0, 5, 10]),
        (-60, 130, [0, 100]),
        (0.97, 1.0, [0.97, 0.98, 0.99, 1.0]),
        (5, 5.4, [5, 5.2, 5.4]),
    ],
)
def test_ticks_are_round(low: float, high: float, wanted: list[float]) -> None:
    assert ticks(low, high, 3) == pytest.approx(wanted)


def test_hostile_text_stays_text() -> None:
    drawn = picture(HOSTILE, 10, 10, [words(0, 0, HOSTILE)])
    tree = ElementTree.fromstring(drawn)
    assert tree.get("aria-label") == HOSTILE
    assert [one.text for one in tree] == [HOSTILE]
