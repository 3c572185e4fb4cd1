"""What is stored of studies' cells: of each study, complete, and any other number is told."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.support.runs import stored_cells
from tests.support.runs.stored_cells import complaint, figures, flat, renew

WIRELESS = stored_cells.place("wireless").read_text()


KEPT = sorted(stored_cells.studies())


def test_there_is_one_of_each_study_and_of_nothing_else() -> None:
    assert sorted(file.stem for file in stored_cells.STORED.iterdir()) == KEPT


@pytest.mark.parametrize("name", KEPT)
def test_it_is_of_the_study_as_it_is(name: str) -> None:
    study = stored_cells.short(stored_cells.studies()[name])
    text = stored_cells.place(name).read_text()
    kept = figures(text)
    assert kept["counted"] == "true"
    settings = study.settings
    assert {f"metric.{metric}" for metric in settings.metrics} <= kept.keys()
    assert {name.split(".")[1] for name in kept if name.startswith("happened.")} == set(
        settings.groups
    )
    duration_s = study.points[0].settings.duration_s
    head = f"{name}: one cell of {duration_s:g} s, scale {float(study.scale):g}, seed"
    assert f"{head} {settings.seeds[0]};" in stored_cells.about(text)
    assert duration_s <= stored_cells.MOST_S or settings.events


def test_another_number_is_told_with_both_and_with_what_renews_it() -> None:
    changed = WIRELESS.replace("metric.goodput_T_bps: ", "metric.goodput_T_bps: 1")
    assert complaint("wireless", WIRELESS, WIRELESS) == ""
    head, stored, got, wrong, hint = complaint("wireless", WIRELESS, changed).splitlines()
    was = figures(WIRELESS)["metric.goodput_T_bps"]
    of = len(figures(WIRELESS))
    assert head == f"1 of {of} figures of the study wireless are other than stored"
    assert stored.startswith("  stored: wireless: one cell of 50 s, scale 0.05, seed 1")
    assert "kernel 6.12" in got
    assert wrong == f"  wireless metric.goodput_T_bps: stored {was}, got 1{was}"
    assert hint == "  if that is meant: make stored-cells, and say in the commit why"


def test_a_figure_that_came_or_went_is_told() -> None:
    lines = complaint("x", "a: 1\nb: null\n", "b: null\nc: 2\n").splitlines()
    assert lines[3:5] == ["  x a: stored 1, got none", "  x c: stored none, got 2"]


def test_a_kernel_of_another_release_alone_is_no_complaint() -> None:
    assert complaint("x", "# kernel 6.12.1\na: 1\n", "# kernel 6.12.2\na: 1\n") == ""


def test_figures_have_nine_digits_and_names_of_what_they_lie_in() -> None:
    found = {"a": {"b": 1 / 3, "c": {"d": None, "e": 10**12}}, "f": "x: y", "g": 12345678.25}
    assert list(flat(found)) == [
        ("a.b", "0.333333333"), ("a.c.d", "null"), ("a.c.e", "1000000000000"), ("f", '"x: y"'),
        ("g", "12345678.2"),
    ]  # fmt: skip
    assert figures('# of x\nf: "x: y"\n') == {"f": '"x: y"'}


def test_a_study_with_events_is_run_as_written() -> None:
    assert stored_cells.short(stored_cells.studies()["failover"]).scale == 1
    assert stored_cells.short(stored_cells.studies()["rfc9438"]).scale == Decimal("0.8333")


def test_what_is_renewed_is_told_as_a_diff(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"one": "# of one\na: 1\nb: 2\n", "two": "a: 3\n"}
    monkeypatch.setattr(stored_cells, "STORED", tmp_path)
    monkeypatch.setattr(stored_cells, "studies", lambda: {name: Path(name) for name in given})
    monkeypatch.setattr(stored_cells, "given_now", lambda file: given[file.name])
    (tmp_path / "one.txt").write_text(given["one"].replace("2", "7"))
    (tmp_path / "two.txt").write_text(given["two"])
    (tmp_path / "gone.txt").write_text("a: 1\n")
    renew(["two"])
    assert capsys.readouterr().out == "two: as stored\n"
    renew([])
    out = capsys.readouterr().out
    assert "gone.txt: gone, as its study is\n" in out
    assert "-b: 7\n+b: 2\n" in out
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {
        f"{name}.txt": text for name, text in given.items()
    }
    with pytest.raises(SystemExit, match="no such study: three"):
        renew(["three"])
