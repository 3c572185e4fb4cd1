"""The summary on terminals: narrow, without colour, without Unicode, with hostile text."""

import dataclasses
import io
from pathlib import Path

import pytest
from rich.console import Console

from model import run_folder
from model.run_files.point import Point
from model.run_files.study import Parameter
from reports.store.run import read_run
from reports.terminal.study_tables import print_summary
from reports.verdict.summary import Summary, summarise
from tests.support.runs.report_run import PUBLISHED, build_run, only_cell
from tests.support.runs.varied_run import build_varied


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    return summarise(read_run(build_run(tmp_path_factory.mktemp("run"))))


def printed(summary: Summary, width: int = 80, encoding: str = "utf-8", tty: bool = False) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="strict", newline="\n")
    print_summary(summary, Console(file=stream, width=width, force_terminal=tty))
    stream.flush()
    return raw.getvalue().decode(encoding)


def lines_of(text: str, head: str) -> list[str]:
    """Return the lines that begin so, with single spaces and without borders."""
    plain = (" ".join(line.replace("|", " ").split()) for line in text.splitlines())
    return [line for line in plain if line.startswith(head)]


def test_published_stands_beside_measured_at_80_columns(summary: Summary) -> None:
    text = printed(summary)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert lines_of(text, "1.5 %") == [
        "1.5 % 5 46.3 ± 0.5 44.1† +2.2 ✗ 53.7 ± 0.5 55.9† -2.2 ✗",
        "1.5 % 5 16.0 ± 2.3 25.6† -9.6 ✗ 7.2 ± 0.1 14.4 -7.2 ✗",
        "1.5 % 16.0 (13.7 to 18.3) 16.0 (13.8 to 18.3)",
    ]


def test_verdicts_of_scaled_times_are_marked(tmp_path: Path) -> None:
    mark = "; times are scaled by 0.1, so these are no verdicts on the publication."
    full = summarise(read_run(build_varied(tmp_path / "run")))
    assert full.verdicts
    for scale, times in ((1.0, 0), (0.1, 1)):
        text = printed(dataclasses.replace(full, scale=scale))
        assert " ".join(text.split()).count(mark) == times


def test_a_setting_that_goes_with_another_has_no_column(summary: Summary) -> None:
    def with_queue(queues: tuple[int, ...]) -> Summary:
        points = tuple(
            dataclasses.replace(p, point=Point.of({**p.point.as_dict(), "queue_pkts": queue}))
            for p, queue in zip(summary.points, queues, strict=False)
        )
        queue = Parameter(name="queue_pkts", path="network.bottleneck.queue")
        return dataclasses.replace(
            summary, points=points, parameters=(*summary.parameters, queue), verdicts=()
        )

    text = printed(with_queue((10, 20, 30, 40, 50, 60, 70)))
    assert lines_of(text, "1.5 %")[0] == lines_of(printed(summary), "1.5 %")[0]
    alone = summary.points[0].point
    twice = dataclasses.replace(summary, points=(summary.points[0],) * 2)
    both = tuple(
        dataclasses.replace(p, point=Point.of({**alone.as_dict(), "queue_pkts": queue}))
        for p, queue in zip(twice.points, (10, 20), strict=True)
    )
    text = printed(dataclasses.replace(with_queue(()), points=both))
    assert lines_of(text, "20 packets 5 ")


def test_what_is_not_published_has_no_column(tmp_path: Path) -> None:
    run = build_run(tmp_path, losses=(0.0,), seeds=1, changes={"published": None})
    text = printed(summarise(read_run(run)))
    assert "paper" not in text
    assert "kernel mean\n" in text


def test_nothing_published_is_lost(summary: Summary) -> None:
    text = printed(summary, width=60)
    for row in PUBLISHED:
        assert all(str(value) in text for value in row)


def test_a_wide_terminal_needs_one_table(summary: Summary) -> None:
    assert len(lines_of(printed(summary, width=150), "1.5 %")) == 2  # and the estimates


def test_warnings_come_first_and_contradictions_last(summary: Summary) -> None:
    text = printed(summary, width=200)
    order = [
        "Read this before trusting the run (3 warnings)",
        "cannot-be-set: SCTP fast retransmit",
        "utilisation",
        "† loss 0.8 %: printed increase 6.1 %, but the printed shares give (50.2 - 49.8)",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_without_unicode(summary: Summary) -> None:
    text = printed(summary, encoding="ascii")
    assert lines_of(text, "2 %")[0] == ("2 % 5 45.9 +- 0.5 45.8* +0.1 = 54.1 +- 0.5 54.2* -0.1 =")


def test_no_color_is_respected(summary: Summary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[3" in printed(summary, tty=True)  # a colour
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in printed(summary, tty=True)


def test_missing_numbers_are_dashes(tmp_path: Path) -> None:
    run = build_run(tmp_path, losses=(0.01,), seeds=1)
    (only_cell(run) / run_folder.DONE).unlink()
    text = printed(summarise(read_run(run)))
    none = "\N{EN DASH}"
    assert lines_of(text, "1 %")[0] == (
        f"1 % 0 of 1 {none} 43.7† {none} {none} {none} 56.3† {none} {none}"
    )


def test_a_title_moves_no_cursor_and_is_no_markup(tmp_path: Path) -> None:
    changes = {"title": "[bold]evil[/] \x1b[2J\x07"}
    run = build_run(tmp_path, losses=(0.01,), seeds=1, changes=changes)
    text = printed(summarise(read_run(run)))
    assert "[bold]evil[/]" in text
    assert "\x1b" not in text
    assert "\x07" not in text


def test_letters_that_a_terminal_lacks_stop_nothing(tmp_path: Path) -> None:
    run = build_run(tmp_path, losses=(0.01,), seeds=1, changes={"title": "Jos\u00e9 \u201cx\u201d"})
    assert printed(summarise(read_run(run)), encoding="ascii").startswith("Jos? ?x?\n")
