"""``groundtruth crosscheck`` from study or runs to verdict, on labs that boot nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from model import run_folder
from model.cell import Cell
from model.errors import Interrupted, RunError
from model.run_files.comparing.crosscheck import CROSSCHECK, Crosscheck
from model.run_files.json_file import read
from testbed.campaign.study_sets import Found
from testbed.command.cli import command_status
from testbed.command.runs import commands, plans, run_and_report
from testbed.command.runs.run_and_report import Errors
from testbed.labs import registry
from testbed.labs.stock import stock_lab
from testbed.labs.stock.kind import STOCK
from testbed.labs.virtual import virtual_lab
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.runs.one_point import STUDY
from tests.support.said import Said

#: What the recorded receiver of TCP says it got, in bytes.
GOODPUT = '"window_goodput_bytes":2875728'


class Stock(FakeLab):
    """The same in place of the other lab; its TCP gets ``more`` times as much."""

    properties = replace(FakeLab.properties, name="stock", repeatable=False)

    def __init__(self) -> None:
        super().__init__(self.leave)
        self.more = 1.0
        self.error: BaseException | None = None
        self.shown: list[str] = []

    def describe(self, kernel_version: str = "7.3") -> dict[str, str]:
        return {**super().describe(kernel_version), "name": "stock"}

    def leave(self, cell: Cell, folder: Path) -> None:
        if self.error and cell.seed == 3:
            raise self.error
        write_recorded(cell, folder)
        if cell.purpose == "measure":
            path = folder / "raw" / "flows" / "T.receiver.jsonl"
            text = path.read_text()
            assert GOODPUT in text
            more = GOODPUT.replace("2875728", str(round(2875728 * self.more)))
            path.write_text(text.replace(GOODPUT, more))


@pytest.fixture
def stock(cells_here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stock:
    made = Stock()
    for module, lab in ((virtual_lab, FakeLab()), (stock_lab, made)):
        monkeypatch.setattr(module, "ensure_per_kernel", lambda *_args, _lab=lab: _lab)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(Path(__file__).parents[2] / "data" / "study" / "hosts", tmp_path / "hosts")
    (tmp_path / "w.yaml").write_text(STUDY)

    def report_set(found: Found, changed: object, jobs: int, told: str = "screen") -> Errors:
        made.shown.append(told)
        return {}

    monkeypatch.setattr(run_and_report, "report_set", report_set)
    monkeypatch.setattr(run_and_report, "report_run", lambda run, changed, told="screen": None)
    return made


BOTH = "crosscheck w.yaml --labs virtual,stock --reps 5 -j 1 -D r"


def compared_after(command: str) -> Crosscheck:
    """Return the comparison that a command makes."""
    assert command_status(command.split()) == 0
    return compared(Path("r/latest"))


def compared(folder: Path) -> Crosscheck:
    return read(CROSSCHECK, folder / run_folder.CROSSCHECK_JSON)


def test_a_study_is_run_in_each_lab_and_they_agree(stock: Stock, said: Said) -> None:
    assert command_status(BOTH.split()) == 0
    out, err = said()
    folder = Path("r", Path("r/latest").readlink())
    assert folder.name.endswith("Z-wireless-crosscheck")
    assert json.loads((folder / run_folder.SET).read_text())["studies"] == ["virtual", "stock"]
    assert f"set: {folder}" in err
    assert stock.ran[0] == 1  # the calibration
    assert sorted(stock.ran) == [1, 1, 2, 3, 4, 5]
    assert stock.shown == ["nothing"]
    found = compared(folder)
    assert [(lab.label, lab.run, lab.seeds) for lab in found.labs] == [
        ("virtual", "virtual", 5), ("stock", "stock", 5),
    ]  # fmt: skip
    # Nothing differs between the recorded runs: five equal pairs, p = 1/32.
    assert {one.verdict for one in found.comparisons} == {"equivalent", "not judged"}
    assert {one.p_equivalent for one in found.having("equivalent")} == {1 / 32}
    assert out.startswith("stock against virtual, 5 seeds: ")
    assert out.rstrip().endswith(f"crosscheck: {folder / run_folder.CROSSCHECK_MD}")
    assert "lab" in (folder / run_folder.CROSSCHECK_MD).read_text()

    # The same again from what is there: the set, and its runs by their folders.
    before = (folder / run_folder.CROSSCHECK_JSON).read_bytes()
    assert command_status(["crosscheck", "r/latest"]) == 0
    assert (folder / run_folder.CROSSCHECK_JSON).read_bytes() == before
    runs = [str(folder / name) for name in ("stock", "virtual")]
    assert command_status(["crosscheck", *runs, "-D", "elsewhere"]) == 0
    (other,) = Path("elsewhere").iterdir()  # no latest: it is no run
    assert [lab.label for lab in compared(other).labs] == ["stock", "virtual"]
    assert len(stock.ran) == 6


def test_the_study_can_be_shortened_and_runs_that_are_there_cannot(
    stock: Stock, said: Said
) -> None:
    whole = compared_after(BOTH)
    half = compared_after(f"{BOTH} --scale 0.5")
    assert half.duration_s == whole.duration_s / 2
    said()
    assert command_status(["crosscheck", "r/latest", "--scale", "0.5"]) == 2
    assert "goes with --labs" in said()[1]


def test_labs_that_differ_end_with_status_1(stock: Stock, said: Said) -> None:
    stock.more = 1.1
    assert command_status([*BOTH.split(), "--reps", "12"]) == 1
    _, err = said()
    assert "labs differ by more than the margin in " in err
    assert "goodput_T_bps at 1 %" in err
    found = compared(Path("r/latest"))
    (one,) = (one for one in found.comparisons if one.metric == "goodput_T_bps")
    assert one.verdict == "different"
    assert one.difference == pytest.approx(0.1 / 1.05, rel=1e-6)
    (same,) = (one for one in found.comparisons if one.metric == "goodput_S_bps")
    assert same.verdict == "equivalent"


def test_an_interrupted_comparison_says_how_to_go_on_and_does(stock: Stock, said: Said) -> None:
    stock.error = Interrupted()
    with pytest.raises(Interrupted) as interrupted:
        command_status(BOTH.split())
    folder = Path("r", Path("r/latest").readlink())
    assert interrupted.value.how == (
        f"groundtruth resume {folder} && groundtruth crosscheck {folder}"
    )
    stock.error = RunError("the kernel panicked")
    assert command_status(["resume", str(folder), "-j", "1"]) == 3
    said()
    assert command_status(["crosscheck", str(folder)]) == 2
    assert f"stock: not finished: wanted 6 cells, got 5 (groundtruth resume {folder}" in said()[
        1
    ].replace(f"{Path.cwd()}/", "")
    stock.error = None
    assert command_status(["resume", str(folder), "-j", "1"]) == 0
    assert command_status(["crosscheck", str(folder)]) == 0


def test_labs_collect_the_same_where_one_has_no_trace_events(
    stock: Stock, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = replace(STOCK, properties=replace(STOCK.properties, name="remote", traces=False))
    monkeypatch.setitem(registry.LABS, "remote", remote)
    chosen: list[plans.Choices] = []

    def stop(_study: str, choices: Sequence[plans.Choices], _data_dir: Path) -> None:
        chosen.extend(choices)
        raise Interrupted

    monkeypatch.setattr(commands, "run_in_labs", stop)
    with pytest.raises(Interrupted):
        command_status(["crosscheck", "w.yaml", "--labs", "virtual,remote", "--reps", "2"])
    made = [plans.make_plan("w.yaml", one)[0] for one in chosen]
    assert [one.lab_kind.properties.name for one in made] == ["virtual", "remote"]
    collected = [{planned.cell.collect for planned in one.cells} for one in made]
    assert collected[0] == collected[1]
    assert {(one.pcap, one.telemetry) for one in collected[0]} == {(True, False)}


def test_one_seed_is_too_few(stock: Stock, said: Said) -> None:
    assert command_status(["crosscheck", "w.yaml", "--labs", "virtual,stock", "--reps", "1"]) == 2
    assert "SEEDS: too few to compare: wanted at least 2, got 1" in said()[1]
    assert not Path("results").exists()


def test_a_changed_cell_and_a_lone_run_are_not_compared(stock: Stock, said: Said) -> None:
    assert command_status(BOTH.split()) == 0
    assert command_status(["crosscheck", "r/latest/stock"]) == 2
    assert "nothing to compare: wanted two runs of a study or more, got 1" in said()[1]
    cell = next(Path("r/latest/stock/cells").iterdir())
    (cell / run_folder.ENV).write_text("{}")
    assert command_status(["crosscheck", "r/latest"]) == 1
    assert "cells are changed" in said()[1]
