"""``groundtruth compare`` from files to verdict, on a run of a lab that boots nothing."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from model import run_folder
from model.cell import Cell
from model.run_files.comparing.own_results import OWN_RESULTS, OwnResults
from model.run_files.json_file import read
from model.run_files.point import Point
from reports.store.run import Run
from testbed.command.cli import command_status
from testbed.command.comparisons import own_results
from testbed.command.runs import run_and_report
from testbed.labs.virtual import virtual_lab
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.runs.one_point import STUDY
from tests.support.said import Said

pytestmark = pytest.mark.unit

#: What the recorded receiver of TCP says it got, in bytes.
BYTES = 2875728
MAPPING = """\
mapping: 1
source: my simulator
points: {network.bottleneck.loss.data: {part: loss, unit: '%'}}
replicate: run
values:
  - {metric: goodput_T_bps, column: tcp, unit: kbit/s}
  - {metric: goodput_S_bps, column: sctp, unit: kbit/s}
"""


def _leave(cell: Cell, folder: Path) -> None:
    """Leave what was recorded, TCP's bytes another number for each seed."""
    write_recorded(cell, folder)
    if cell.purpose == "measure":
        path = folder / "raw" / "flows" / "T.receiver.jsonl"
        text = path.read_text()
        assert str(BYTES) in text
        wanted = f'"window_goodput_bytes":{BYTES + 1000 * cell.seed}'
        path.write_text(text.replace(f'"window_goodput_bytes":{BYTES}', wanted))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a finished run of five seeds at one point, made once."""
    from tests.support.fake_lab import each_here

    place = tmp_path_factory.mktemp("compare")
    made = FakeLab(_leave)
    before = Path.cwd()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("testbed.machine.workers.each", each_here)
        patched.setattr(virtual_lab, "ensure_per_kernel", lambda *_args, **_more: made)
        patched.setattr(run_and_report, "report_run", lambda run, changed, told="screen": None)
        patched.setattr("testbed.command.export._epoch_ns", lambda folder: None)
        patched.chdir(place)
        shutil.copytree(Path(__file__).parents[2] / "data" / "study" / "hosts", place / "hosts")
        (place / "w.yaml").write_text(STUDY)
        assert command_status(["run", "w.yaml", "--reps", "5", "-j", "1", "-D", "r"]) == 0
        assert command_status(["export", "r/latest", "--format", "csv", "--format", "omnetpp"]) == 0
    assert Path.cwd() == before
    return place


@pytest.fixture
def here(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a copy of it."""
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy, symlinks=True)
    monkeypatch.chdir(copy)
    return copy


def status(words: str) -> int:
    return command_status(["compare", "r/latest", *words.split()])


def found(name: str) -> OwnResults:
    folder = Path("r/latest") / run_folder.COMPARED / name
    assert {one.name for one in folder.iterdir()} == {
        run_folder.COMPARISON_JSON, run_folder.COMPARISON_MD, run_folder.COMPARISON_HTML
    }  # fmt: skip
    return read(OWN_RESULTS, folder / run_folder.COMPARISON_JSON)


def table(*rows: str, head: str = "loss,run,tcp,sctp") -> Path:
    path = Path("mine.csv")
    path.write_text("\n".join([head, *rows]) + "\n")
    Path("m.yaml").write_text(MAPPING)
    return path


@pytest.mark.parametrize("kind", ["csv", "omnetpp"])
def test_our_own_export_comes_back_with_differences_of_exactly_0(
    kind: str, here: Path, said: Said
) -> None:
    ending = {"csv": "*-metrics.csv", "omnetpp": "*.sca"}[kind]
    files = " ".join(map(str, Path("r/latest/export", kind).glob(ending)))
    assert status(f"--with {files}") == 0
    made = found("an-export")
    assert made.comparisons
    assert {one.difference for one in made.comparisons} == {0.0}
    assert {(one.run.n, one.own.n) for one in made.comparisons} == {(5, 5)}
    goodput = next(one for one in made.comparisons if one.metric == "goodput_T_bps")
    assert goodput.run.sd == goodput.own.sd
    assert goodput.run.sd
    out, _ = said()
    assert "its numbers are the run's own, one by one" in out
    assert len(out.splitlines()) < 45


def test_a_table_of_one_s_own_is_compared(here: Path, said: Said) -> None:
    ours = _export("goodput_T_bps")
    rows = [f"1,{n},{value / 1000 * 1.2},{400 + n}" for n, value in enumerate(ours, 1)]
    table(*rows)
    assert status("--with mine.csv --mapping m.yaml") == 0
    made = found("my-simulator")
    assert made.source == "my simulator"
    tcp = next(one for one in made.comparisons if one.metric == "goodput_T_bps")
    assert tcp.verdict == "different"
    assert tcp.difference == pytest.approx(0.2 / 1.1, rel=1e-9)
    assert tcp.in_margins == pytest.approx(0.2 / 1.1 / 0.03, rel=1e-9)
    assert "pct_increase" in {one.metric for one in made.comparisons}
    out, _ = said()
    assert "my simulator beside 7.3" in out.splitlines()[0]
    assert "comparison.html" in out.splitlines()[-1]
    page = (Path("r/latest/compared/my-simulator") / run_folder.COMPARISON_HTML).read_text()
    assert "my simulator" in page
    text = (Path("r/latest/compared/my-simulator") / run_folder.COMPARISON_MD).read_text()
    assert "my simulator (95 % CI)" in text
    assert "published" not in text.lower()
    assert status("--with mine.csv --mapping m.yaml --assert") == 1
    assert "differs by more than the margin" in said()[1]
    wide = "--margin goodput_T_bps=60% --margin goodput_S_bps=1Mbit/s --margin pct_increase=5000"
    rest = "--margin share_T_pct=90 --margin share_S_pct=90 --margin utilisation_pct=50"
    rest += " --margin jain_protocols=1"
    assert status(f"--with mine.csv --mapping m.yaml --assert {wide} {rest}") == 0
    assert found("my-simulator").margins[0].text == "60%"


def _export(metric: str) -> list[float]:
    (path,) = Path("r/latest/export/csv").glob("*-metrics.csv")
    lines = [line.split(",") for line in path.read_text().splitlines()]
    at, value = lines[0].index("metric"), lines[0].index("value")
    return [float(line[value]) for line in lines[1:] if line[at] == metric]


def test_means_and_spreads_are_enough(here: Path) -> None:
    table("1 %,8,500,25", head="loss,count,mean,spread")
    Path("m.yaml").write_text(
        "mapping: 1\nsource: means\npoints: {network.bottleneck.loss.data: {part: loss}}\n"
        "values: [{metric: goodput_T_bps, column: mean, sd: spread, n: count, unit: kbit/s}]\n"
    )
    assert status("--with mine.csv --mapping m.yaml --name 'x'") == 0
    (one,) = found("x").comparisons
    assert (one.own.n, one.own.mean, one.own.sd) == (8, 500_000, 25_000)
    assert one.p_distributions is None
    assert one.distributions_reason == "means and spreads alone: no distribution is known"


def test_one_replicate_gets_no_interval_and_says_so(here: Path, said: Said) -> None:
    table("1,1,500,400")
    assert status("--with mine.csv --mapping m.yaml") == 0
    assert {one.ci95 for one in found("my-simulator").comparisons} == {None}
    assert {one.verdict for one in found("my-simulator").comparisons} == {"not judged"}
    assert "rest on one replicate of a side" in said()[0]


REFUSED = {
    "point": (["3,1,500,400"], "mine.csv:2: no point of the run"),
    "number": (["1,1,5oo,400"], "mine.csv:2: column tcp is no number"),
    "comma": (['1,1,"5,5",400'], "(decimals are written with a point)"),
    "nan": (["1,1,nan,400"], "column tcp is no number"),
    "huge": (["1,1,1e400,400"], "column tcp is too large"),
    "fields": (["1,1,500"], "mine.csv:2: not as many fields"),
    "twice": (["1,1,5,4", "1,1,5,4"], "mine.csv:3: goodput_S_bps for the second time"),
    "replicate": (["1,,500,400"], "mine.csv:2: no replicate"),
    "nothing": ([], "nothing in the files"),
    "negative": (
        ["1,1,-500,400"],
        "mine.csv:2: goodput_T_bps of column tcp is impossible: wanted 0 or more, got -500000",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_rows_are_told_and_nothing_is_written(case: str, here: Path, said: Said) -> None:
    rows, words = REFUSED[case]
    table(*rows)
    assert status("--with mine.csv --mapping m.yaml") == 3
    out, err = said()
    assert words in " ".join(err.split())
    assert out == ""
    assert not (Path("r/latest") / run_folder.COMPARED).exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("values:", "value:"), "m.yaml:5: value: unknown key (did you mean values?)"),
        (("goodput_T_bps", "goodput_X_bps"), "m.yaml:6: values[0].metric: unknown metric"),
        (("kbit/s", "ms"), "m.yaml:6: values[0].unit: no unit of goodput_T_bps"),
        (("network.bottleneck.loss.data", "loss"), "points.loss: unknown swept setting"),
        (("mapping: 1", "mapping: 2"), "m.yaml:1: mapping: "),
        (("column: tcp, ", ""), "m.yaml:6: values[0]: one of two keys"),
        (
            ("column: tcp,", "column: tcp, n: 0,"),
            "values[0].n: no number of replicates: wanted 1 or",
        ),
        (("values:", "groups: {Q: {destination_port: 1}}\nvalues:"), "groups.Q: unknown group"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(
    change: tuple[str, str], words: str, here: Path, said: Said
) -> None:
    table("1,1,500,400")
    Path("m.yaml").write_text(MAPPING.replace(*change))
    assert status("--with mine.csv --mapping m.yaml") == 2
    assert words in " ".join(said()[1].split())


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--with mine.csv", "not an export of this program, so it needs a mapping"),
        ("--with mine.csv --mapping m.yaml --margin goodput_T_bps", "wanted METRIC=VALUE"),
        ("--with mine.csv --mapping m.yaml --margin goodput_Q_bps=1", "no such metric"),
        ("--with mine.csv --mapping m.yaml --margin goodput_T_bps=-1", "no margin"),
        ("--with mine.csv --mapping m.yaml --margin goodput_T_bps=0%", "no margin"),
        ("--with none.csv --mapping m.yaml", "none.csv: cannot be read: No such file"),
        ("--with mine.csv mine.csv --mapping m.yaml", "a file for the second time"),
        ("--with fifo --mapping m.yaml", "fifo: cannot be read"),
        ("--with . --mapping m.yaml", "got a folder"),
    ],
)
def test_options_and_files_that_cannot_be_used(
    words: str, reason: str, here: Path, said: Said
) -> None:
    table("1,1,500,400", "1,2,510,410")
    os.mkfifo("fifo")
    assert status(words) in (2, 3)
    assert reason in " ".join(said()[1].split())


def test_a_run_that_is_not_whole_is_not_compared(here: Path, said: Said) -> None:
    table("1,1,500,400")
    cell = next(Path("r/latest/cells").iterdir())
    (cell / run_folder.DONE).unlink()
    assert status("--with mine.csv --mapping m.yaml") == 2
    assert "not finished" in said()[1]


def test_a_mapping_to_start_from_is_written_once(here: Path, said: Said) -> None:
    table("1,1,500,400")
    assert status("--with mine.csv --new-mapping new.yaml") == 0
    text = Path("new.yaml").read_text()
    assert "network.bottleneck.loss.data" in text
    assert "column 'tcp', such as '500'" in text
    assert status("--with mine.csv --new-mapping new.yaml") == 2
    assert "a file is there" in said()[1]
    assert status("--with mine.csv --mapping new.yaml") == 2
    told = said()[1]
    assert "new.yaml:5: source: not filled in: wanted what only you know" in told
    assert told.count("not filled in") == text.count("'???'")
    filled = (
        text.replace("source: '???'", "source: mine")
        .replace("part: '???'", "part: loss")
        .replace("replicate: '???'", "replicate: run")
        .replace("{metric: goodput_T_bps, column: '???', unit: Mbit/s}",
                 "{metric: goodput_T_bps, column: tcp, unit: kbit/s}")
        .replace("{metric: goodput_S_bps, column: '???', unit: Mbit/s}",
                 "{metric: goodput_S_bps, column: sctp, unit: kbit/s}")
    )  # fmt: skip
    Path("new.yaml").write_text(filled)
    assert status("--with mine.csv --mapping new.yaml") == 0


@pytest.mark.parametrize("more", ["--mapping m.yaml", "--name x", "--margin a=1", "--assert"])
def test_a_mapping_is_made_of_files_alone(here: Path, said: Said, more: str) -> None:
    table("1,1,500,400")
    assert status(f"--with mine.csv --new-mapping new.yaml {more}") == 2
    assert "goes without what a comparison takes" in " ".join(said()[1].split())
    assert not Path("new.yaml").exists()


def test_a_mapping_that_cannot_be_read_is_called_one(here: Path, said: Said) -> None:
    table("1,1,500,400")
    assert status("--with mine.csv --mapping none.yaml") == 2
    assert "No such file or directory: wanted a mapping in YAML" in said()[1]


def test_what_is_written_is_json_of_its_declaration(here: Path) -> None:
    table("1,1,500,400", "1,2,505,410")
    assert status("--with mine.csv --mapping m.yaml") == 0
    path = Path("r/latest/compared/my-simulator") / run_folder.COMPARISON_JSON
    content = json.loads(path.read_text())
    assert content["schema"] == 1
    assert content["files"][0]["file"] == "mine.csv"


@pytest.mark.parametrize(
    ("tcp", "words"),
    [("1e300", "column tcp is too large"), ("1e-300", "pct_increase is too large")],
)
def test_numbers_whose_sums_no_float_holds_are_refused(
    here: Path, said: Said, tcp: str, words: str
) -> None:
    table(f"1,1,{tcp},5e90", f"1,2,{tcp},5e90")
    assert status("--with mine.csv --mapping m.yaml") == 3
    assert words in said()[1]
    assert not Path("r/latest/compared").exists()


def test_a_circle_of_links_is_told(here: Path, said: Said) -> None:
    table("1,1,500,400")
    for one, other in (("a.csv", "b.csv"), ("b.csv", "a.csv")):
        Path(one).symlink_to(other)
    assert status("--with a.csv --mapping m.yaml") == 3
    assert "a.csv: cannot be read" in said()[1]


def test_nothing_is_written_through_a_link_in_the_run(here: Path, said: Said) -> None:
    table("1,1,500,400")
    elsewhere = here / "elsewhere"
    elsewhere.mkdir()
    Path("r/latest/compared").symlink_to(elsewhere)
    assert status("--with mine.csv --mapping m.yaml") != 0
    assert "compared" in said()[1]
    assert not list(elsewhere.iterdir())


def test_a_name_too_long_for_a_folder_is_refused_before_anything_is_read(
    here: Path, said: Said
) -> None:
    table("not a number")
    assert status(f"--with mine.csv --mapping m.yaml --name {'x' * 61}") == 2
    assert "--name: too long: wanted at most 60 characters, got 61" in said()[1]


def test_a_mapping_to_start_from_needs_no_more_than_the_first_row(
    here: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    table("1,1,500,400", "a row that is never looked at")
    assert status("--with mine.csv --new-mapping new.yaml") == 0
    assert "column 'tcp', such as '500'" in Path("new.yaml").read_text()


def test_a_mapping_to_start_from_keeps_few_numbers_and_no_line_of_a_file_s(
    here: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of OMNeT++ everything was kept, up to the bound; a name's line end ended the comment."""
    monkeypatch.setattr("simulators.results.omnetpp.MOST_KEPT", 50)
    numbers = "".join(f"scalar Net.sink[{n}] bytes 1\n" for n in range(100))
    Path("a.sca").write_text(f'version 3\nrun R\nitervar "a\\nreplicate: x" 1\n{numbers}')
    assert status("--with a.sca --new-mapping new.yaml") == 0
    text = Path("new.yaml").read_text()
    assert text.count("# module 'Net.sink[") == 12
    assert not any(line.startswith("replicate: x") for line in text.splitlines())


def test_the_kernels_named_are_those_of_the_cells_compared() -> None:
    """An alternative's cells, on another kernel, are at no point of the study's own."""
    here, elsewhere = Point.of({"loss_frac": 0.01}), Point.of({"loss_frac": 0.01, "kernel": "7.3"})
    cells = [
        SimpleNamespace(plan=SimpleNamespace(point=point), env={"kernel_release": release})
        for point, release in ((here, "6.12.118"), (elsewhere, "7.3.4"), (here, "6.12.118"))
    ]
    run = SimpleNamespace(study=SimpleNamespace(points=(here,)), measured=lambda: cells)
    assert own_results.kernels_compared(cast(Run, run)) == ("6.12.118",)
