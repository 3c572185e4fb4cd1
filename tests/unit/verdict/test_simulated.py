"""A live simulator's run beside a kernel's: what is taken over, kept, and shown."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from docs.generate.summary_schema import OF_RUN, SCHEMAS
from model import run_folder
from model.errors import ParseError, StudyError
from model.run_files.comparing.simulated import SIMULATED, Simulated
from model.run_files.json_file import text_of
from reports.page.first_screen import answer
from reports.page.grid import plain
from reports.page.result_tables import result
from reports.page.verdicts import attached_verdicts, claims_table, tally
from reports.store.run import read_run
from reports.terminal.last_screen import print_last_screen
from reports.terminal.study_tables import print_summary
from reports.verdict.files import summary_json
from reports.verdict.simulated import taken
from reports.verdict.summary import Summary, summarise
from tests.support.runs.report_run import build_run
from tests.support.runs.varied_run import build_varied

NAME = "ns-2.35, era2001"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return build_run(tmp_path / "run")


def simulated(run: Path, **metrics: float) -> Simulated:
    """Return a record with these means at every point of a run, and a verdict on each claim."""
    summary = summarise(read_run(run))
    content: dict[str, Any] = {
        "schema": 1, "simulator": NAME, "run": "its-run", "manifest_sha256": "0" * 64,
        "points": [
            {
                "point": point.point.as_dict(),
                "metrics": [
                    {"metric": name, "mean": mean, "ci95": [mean - 1, mean + 1], "n": 10,
                     "published_in_pi95": True}
                    for name, mean in metrics.items()
                ],
            }
            for point in summary.points
        ],
        "claims": [
            {"id": one.id, "verdict": "refuted", "evidence": "so it is"} for one in summary.verdicts
        ],
    }  # fmt: skip
    (run / run_folder.SIMULATOR).write_text(json.dumps(content))
    return SIMULATED.validate_json(json.dumps(content))


def attached(run: Path) -> Summary:
    return summarise(read_run(run))


def test_without_a_simulator_nothing_is_shown_of_it(run: Path) -> None:
    summary = attached(run)
    assert summary.simulated is None
    heads = [
        plain(head) for head in result(summary, summary.metric_table()["pct_increase"]).grid.heads
    ]
    assert not any("ns-2" in head for head in heads)


def test_its_means_stand_beside_published_and_measured(run: Path) -> None:
    simulated(run, pct_increase=12.5)
    summary = attached(run)
    table = result(summary, summary.metric_table()["pct_increase"]).grid
    heads = [plain(head) for head in table.heads]
    at = heads.index(NAME)
    assert (
        heads.index("Published")
        < at
        < next(i for i, head in enumerate(heads) if head.startswith("Kernel"))
    )
    assert {plain(row[at]) for row in table.rows} == {"12.5 (11.5 to 13.5)"}
    assert {plain(row[heads.index(f"for {NAME}")]) for row in table.rows} == {"inside"}
    written = json.loads(summary_json(summary))
    assert {p["metrics"]["pct_increase"]["simulated"] for p in written["points"]} == {12.5}
    assert {p["metrics"]["utilisation_pct"]["simulated"] for p in written["points"]} == {None}


def test_its_verdicts_stand_beside_the_kernels(tmp_path: Path) -> None:
    run = build_varied(tmp_path / "run")
    simulated(run)
    summary = attached(run)
    assert summary.verdicts
    table = claims_table(summary)
    heads = [plain(head) for head in table.heads]
    assert {plain(row[heads.index(f"By {NAME}")]) for row in table.rows} == {"refuted"}
    evidence = [plain(row[heads.index("Evidence")]) for row in table.rows]
    assert all(one.endswith(f"{NAME}: so it is") for one in evidence)
    for row in attached_verdicts(summary.verdicts, 1.0, summary.simulated).rows:
        assert plain(row[-1]).endswith(f"{NAME}: so it is")


def test_its_verdicts_are_in_the_summary_and_on_the_terminal(tmp_path: Path) -> None:
    run = build_varied(tmp_path / "run")
    without = json.loads(summary_json(attached(run)))
    assert without["simulated"] is None
    simulated(run)
    summary = attached(run)
    written = json.loads(summary_json(summary))
    jsonschema.validate(written, json.loads((SCHEMAS / OF_RUN).read_text()))
    ids = [one["id"] for one in written["claims"]]
    assert written["simulated"] == {
        "simulator": NAME, "run": "its-run", "manifest_sha256": "0" * 64,
        "claims": [{"id": id_, "verdict": "refuted", "evidence": "so it is"} for id_ in ids],
    }  # fmt: skip
    console = Console(file=io.StringIO(), width=400)
    print_summary(summary, console)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().count(f"{NAME}: refuted: so it is") == len(ids)


def test_a_record_that_is_none_is_named(run: Path) -> None:
    (run / run_folder.SIMULATOR).write_text('{"schema": 1, "simulator": 3}')
    with pytest.raises(ParseError, match=r"simulator\.json"):
        read_run(run)


def test_what_is_written_is_read_again(run: Path) -> None:
    made = simulated(run, pct_increase=12.5)
    assert SIMULATED.validate_json(text_of(SIMULATED, made)) == made


def test_a_kernels_run_is_no_simulators(run: Path) -> None:
    read = read_run(run)
    with pytest.raises(StudyError, match="not a run of one simulator"):
        taken(summarise(read), read, "run", "0" * 64)


def test_the_first_screens_say_how_its_verdicts_are_spread(tmp_path: Path) -> None:
    run = build_varied(tmp_path / "run")
    assert answer(read_run(run).study, attached(run)).live == ""
    simulated(run)
    summary = attached(run)
    verdicts = [one.verdict for one in summary.verdicts]
    decided = [one for one in verdicts if one in ("holds", "refuted")]
    assert decided
    assert answer(read_run(run).study, summary).live == (
        f"{NAME} itself: {tally(['refuted'] * len(verdicts))} "
        f"Both decide {len(decided)}, {decided.count('refuted')} of them alike."
    )
    console = Console(file=io.StringIO(), width=120)
    print_last_screen([summary], [], console)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    (theirs,) = (number for number, line in enumerate(lines) if line.startswith(f"{NAME}: Of "))
    assert lines[theirs + 1].startswith(f"kernel: Of {len(verdicts)} claim")
