"""docs/published.md: every published figure and table has a row, and says what the studies draw."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.points.load_study import STUDIES_FOLDER, load_study

PAGE = Path(__file__).parents[3] / "docs" / "published.md"
#: What each publication prints, by its section of the page.
PRINTED = {
    "`satellite` and `anatomy`": (range(1, 12), ["Table I", "Table II", "Table III"]),
    "`wireless` and `anatomy-wireless`": (range(1, 10), ["Table 1", "Table 2"]),
    "`wired`": (range(1, 21), ["Table 1", "Table 2", "Table 3", "Table 4"]),
    "The poster on mobile ad-hoc networks": (range(1, 4), []),
    "`rfc9438`": (range(0), ["Table 1", "Table 2", "Table 3"]),
}


@dataclass(frozen=True)
class Row:
    """One row: the printed figure or table, the study, and what is said of ours."""

    section: str
    printed: str
    study: str
    ours: str

    @property
    def kinds(self) -> list[str]:
        return re.findall(r"`(\w+)`", self.ours)


def rows() -> Iterator[Row]:
    section = ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        fields = [field.strip() for field in line.strip("|").split("|")]
        if section and fields[0].startswith(("Figure", "Table")):
            printed, _, study, ours, _ = fields
            yield Row(section, printed, study, ours)


def drawn() -> set[tuple[str, str, str]]:
    """Return (study, published figure, kind) of each counterpart that the study files ask for."""
    found = set()
    for path in STUDIES_FOLDER.glob("*.yaml"):
        for figure in load_study(path).settings.figures:
            where = figure.where
            places = where.values() if isinstance(where, dict) else [where]
            found |= {(path.stem, place, figure.kind) for place in places if place}
    return found


@pytest.mark.parametrize("section", PRINTED)
def test_every_published_figure_and_table_has_a_row(section: str) -> None:
    numbers, tables = PRINTED[section]
    wanted = [*(f"Figure {number}" for number in numbers), *tables]
    assert list(dict.fromkeys(row.printed for row in rows() if row.section == section)) == wanted
    assert {row.section for row in rows()} == set(PRINTED)


def test_the_figures_of_the_studies_are_those_of_the_page() -> None:
    figures = [row for row in rows() if row.printed.startswith("Figure") and row.study != "-"]
    assert drawn() == {(row.study, row.printed, kind) for row in figures for kind in row.kinds}


def test_what_has_no_counterpart_has_a_reason() -> None:
    for row in rows():
        assert row.ours.startswith("none: ") == (row.study == "-"), row
        assert len(row.ours.removeprefix("none: ")) > 5, row


def test_each_published_table_is_in_its_study() -> None:
    for row in rows():
        if row.printed.startswith("Table") and "`published`" in row.ours:
            published = load_study(STUDIES_FOLDER / f"{row.study}.yaml").settings.published
            assert published
            places = [published.where, *(entry.where or "" for entry in published.rows)]
            assert any(row.printed in _named(place) for place in places), row


def _named(place: str) -> list[str]:
    """Return the tables that a place names: ``Tables 2 to 4`` are three."""
    found = re.fullmatch(r"Tables (\d+) to (\d+)", place)
    if not found:
        return [place]
    return [f"Table {number}" for number in range(int(found[1]), int(found[2]) + 1)]
