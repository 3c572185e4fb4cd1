"""One cell from an empty folder to DONE; whatever goes wrong leaves none."""

from __future__ import annotations

import dataclasses
import json
import platform
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from collectors.audit import starts
from model import run_folder
from model.cell import Cell, from_dict
from model.check import Check
from model.errors import GroundtruthError, LateError, ParseError, RunError, VerifyError
from testbed.campaign import digests, run_cell
from testbed.labs.contract.lab import Ran
from tests.support.fake_lab import FakeLab, write_calibrated, write_measured
from tests.support.recorded import wireless_cell

MEASURE = wireless_cell()
CALIBRATE = wireless_cell(purpose="calibrate")


HERE = platform.node()


def run(cell: Cell, folder: Path, lab: FakeLab) -> None:
    run_cell.execute(cell, folder, lab, threading.Event())


@pytest.mark.parametrize("cell", [MEASURE, CALIBRATE], ids=lambda cell: cell.purpose)
def test_a_finished_cell_is_whole_and_its_digests_are_right(cell: Cell, tmp_path: Path) -> None:
    folder = tmp_path / "cells" / "x"
    run(cell, folder, FakeLab())
    assert from_dict(json.loads((folder / run_folder.CELL).read_text())) == cell
    assert json.loads((folder / run_folder.TIMING).read_text()) == {
        "wall_s": 1.235,
        "machine": HERE,
    }
    recorded = digests.read_done(folder)
    assert digests.differences(recorded, digests.of_cell(folder)) == []
    tables = {run_folder.FLOWS_TABLE, run_folder.INTERVALS_TABLE, run_folder.QDISCS_TABLE}
    assert tables & set(recorded) == (tables if cell is MEASURE else set())
    assert {run_folder.CELL, run_folder.VERIFY} <= set(recorded)
    assert [path.name for path in folder.glob(".*")] == []


def test_what_was_measured_of_a_cell_is_kept_and_not_compared(tmp_path: Path) -> None:
    class Measured(FakeLab):
        def run(self, cell: Cell, folder: Path, cancelled: threading.Event) -> Ran:
            ran = super().run(cell, folder, cancelled)
            return dataclasses.replace(ran, cpu_s=0.98765, peak_memory_bytes=1 << 20)

    run(MEASURE, tmp_path / "x", Measured())
    timing = json.loads((tmp_path / "x" / run_folder.TIMING).read_text())
    assert timing == {
        "wall_s": 1.235, "cpu_s": 0.988, "peak_memory_bytes": 1 << 20, "machine": HERE,
    }  # fmt: skip
    assert run_folder.TIMING not in digests.read_done(tmp_path / "x")


def test_how_late_the_machine_was_before_is_kept(tmp_path: Path) -> None:
    late = ("longest stall: 2 s",)
    run_cell.execute(MEASURE, tmp_path / "x", FakeLab(), threading.Event(), late)
    timing = json.loads((tmp_path / "x" / run_folder.TIMING).read_text())
    assert timing == {"wall_s": 1.235, "late": list(late), "machine": HERE}


@pytest.mark.parametrize(
    ("of_lab", "kind"), [({}, VerifyError), ({"machine": "a processor"}, LateError)]
)
def test_a_late_start_on_a_machines_kernel_is_lateness(
    of_lab: dict[str, str], kind: type[VerifyError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = Check(check="start", where="flow T", wanted="0 s", got="0.3 s", agrees=False)
    monkeypatch.setattr(starts, "read_checks", lambda *_: [late])
    cell = dataclasses.replace(MEASURE, lab={**MEASURE.lab, **of_lab})
    with pytest.raises(VerifyError, match="start is not as asked") as caught:
        run(cell, tmp_path / "x", FakeLab())
    assert type(caught.value) is kind


def test_done_is_written_last_and_by_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    replace = Path.replace

    def replaced(self: Path, target: Path) -> Path:
        steps.append(f"rename {self.name} to {target.name}")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", replaced)
    run(MEASURE, tmp_path / "x", FakeLab())
    assert steps[-2:] == ["rename .timing.json to timing.json", "rename .DONE to DONE"]


def test_a_finished_cell_is_not_run_again(tmp_path: Path) -> None:
    lab = FakeLab()
    run(MEASURE, tmp_path / "x", lab)
    run(MEASURE, tmp_path / "x", lab)
    assert lab.ran == [1]


def test_what_an_unfinished_cell_left_is_removed_first(tmp_path: Path) -> None:
    stale = tmp_path / "x" / "raw" / "stale.json"
    stale.parent.mkdir(parents=True)
    stale.write_text("old")
    run(MEASURE, tmp_path / "x", FakeLab())
    assert not stale.exists()


def test_the_same_cell_gives_the_same_digests_whatever_the_wall_time(tmp_path: Path) -> None:
    run(MEASURE, tmp_path / "a", FakeLab())
    run(MEASURE, tmp_path / "b", FakeLab())
    assert digests.read_done(tmp_path / "a") == digests.read_done(tmp_path / "b")


def fails(cell: Cell, folder: Path) -> None:
    raise RunError("the lab's kernel panicked", where=f"cell {folder.parent.name}")


def cut(cell: Cell, folder: Path) -> None:
    write_measured(folder)
    path = folder / "raw" / "flows" / "T.receiver.jsonl"
    path.write_text(path.read_text()[:-30])


def no_sack(cell: Cell, folder: Path) -> None:
    write_measured(folder)
    path = folder / run_folder.LEDGER
    ledger = json.loads(path.read_text())
    ledger[0]["knobs"][0].update(read_back={"src1": "1", "src2": "0"}, agrees=False)
    path.write_text(json.dumps(ledger))


def no_ledger(cell: Cell, folder: Path) -> None:
    write_measured(folder)
    (folder / run_folder.LEDGER).unlink()


def lossy(cell: Cell, folder: Path) -> None:
    write_calibrated(folder, cell, other_fates=3)


def no_log(cell: Cell, folder: Path) -> None:
    write_calibrated(folder, cell)
    (folder / "raw" / "calibration" / "loss_reverse.tsv").unlink()


def countless(cell: Cell, folder: Path) -> None:
    write_calibrated(folder, cell)
    path = folder / "raw" / "calibration.json"
    found = json.loads(path.read_text())
    found["loss_forward"]["packets"] = 1 << 62
    path.write_text(json.dumps(found))


@pytest.mark.parametrize(
    ("cell", "act", "kind", "message"),
    [
        (MEASURE, fails, RunError, "cell x: the lab's kernel panicked"),
        (MEASURE, cut, ParseError, r"raw/flows/T\.receiver\.jsonl:8: not JSON"),
        (
            MEASURE,
            no_sack,
            VerifyError,
            (
                r"^cell x, src2: sysctl net\.ipv4\.tcp_sack: a host setting did not take: "
                r"wanted 1, got 0 \(1 settings disagree; all are in raw/ledger\.json\)$"
            ),
        ),
        (MEASURE, no_ledger, ParseError, r"raw/ledger\.json: cannot read a raw file"),
        (
            CALIBRATE,
            lossy,
            VerifyError,
            (
                "^cell x, bottleneck: calibration: loss forward is not as asked: "
                r"wanted 1 %: the \d+ of \d+ packets that its seed draws; others with 5 %"
                r" more or less, "
                r"got \d+ \(.* %\), 3 packets with another fate \(1 of 24 checks disagree; all are"
            ),
        ),
        (CALIBRATE, countless, ParseError, r"calibration\.json: not what a calibration writes"),
        (CALIBRATE, no_log, ParseError, r"loss_reverse\.tsv: cannot read a raw file"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_fails_leaves_no_done(
    tmp_path: Path,
    cell: Cell,
    act: Callable[[Cell, Path], None],
    kind: type[GroundtruthError],
    message: str,
) -> None:
    with pytest.raises(kind, match=message):
        run(cell, tmp_path / "x", FakeLab(act))
    assert not (tmp_path / "x" / run_folder.DONE).exists()
    assert (tmp_path / "x" / run_folder.CELL).is_file()


def test_checks_are_added_to_the_others_even_when_one_disagrees(tmp_path: Path) -> None:
    with pytest.raises(VerifyError):
        run(CALIBRATE, tmp_path / "x", FakeLab(lossy))
    checks = json.loads((tmp_path / "x" / run_folder.VERIFY).read_text())["checks"]
    assert [(check["check"], check["agrees"]) for check in checks] == [
        ("shaper", True),
        ("rtt", True),
        ("rtt", True),
        ("loss forward", False),
        ("loss reverse", True),
        *[("rate", True), ("buffer", True)] * 10,
    ]


def test_a_run_that_failed_can_be_repeated(tmp_path: Path) -> None:
    with pytest.raises(RunError):
        run(MEASURE, tmp_path / "x", FakeLab(fails))
    run(MEASURE, tmp_path / "x", FakeLab())
    assert (tmp_path / "x" / run_folder.DONE).is_file()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "cells").write_text("in the way")
    folder = tmp_path / "cells" / "x"
    with pytest.raises(RunError, match=rf"^{folder}: cannot prepare a cell: got .*Not a directory"):
        run(MEASURE, folder, FakeLab())


@pytest.mark.parametrize(
    "content",
    [
        "[]", "5", "{", '{"delay_forward": null}', '{"delay_forward": {}}',
        '{"delay_forward": {"packets": 0, "ip_bytes": 128, "log": "x.tsv"}}',
        '{"delay_forward": {"packets": "x", "ip_bytes": 128, "log": "x.tsv"}}',
        '{"delay_forward": {"packets": 5, "ip_bytes": 1.5, "log": "x.tsv"}}',
        '{"delay_forward": {"packets": 5, "ip_bytes": 128, "log": "/etc/passwd"}}',
    ],
)  # fmt: skip
def test_what_is_no_calibration_is_named(tmp_path: Path, content: str) -> None:
    write_calibrated(tmp_path, CALIBRATE)
    (tmp_path / "raw" / "calibration.json").write_text(content)
    with pytest.raises(ParseError, match=r"raw/calibration\.json: not "):
        run_cell.check_calibration(CALIBRATE, tmp_path, FakeLab.properties.tolerances)


@pytest.mark.parametrize("content", ["null", "5", "[5]", "[{}]", '[{"knobs": [{}]}]', "[" * 9999])
def test_what_is_no_ledger_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "ledger.json").write_text(content)
    with pytest.raises(ParseError, match=r"raw/ledger\.json: not "):
        run_cell.check_ledger(tmp_path)
