"""``--kernel A,B`` from a study to what changed between kernels, on a lab that boots nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from model import run_folder
from model.cell import Cell
from model.errors import Interrupted
from model.run_files.comparing.kernels import KERNELS, Kernels
from model.run_files.json_file import read
from testbed.command.cli import command_status
from testbed.command.comparisons.several_kernels import folder_names
from testbed.labs.virtual import kernel, virtual_lab
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.runs.one_point import STUDY
from tests.support.said import Said

#: What the recorded receiver of SCTP says it got, in bytes.
GOODPUT = '"window_goodput_bytes":'
PLAN = "plan w.yaml --kernel 6.1,6.12,7.3 --reps 3 -j 1"
ALL = PLAN.replace("plan", "run") + " -D r"


class Lab(FakeLab):
    """Its SCTP gets twice as much on 7.3; seeds differ a little, and alike on each kernel."""

    def __init__(self) -> None:
        super().__init__(self.leave)
        self.kernels: list[str] = []
        self.stop_at = 0

    def describe(self, kernel_version: str = "7.3") -> dict[str, str]:
        return {**super().describe(kernel_version), "kernel": kernel_version}

    def leave(self, cell: Cell, folder: Path) -> None:
        if self.stop_at and len(self.kernels) >= self.stop_at:
            raise Interrupted
        self.kernels.append(cell.lab["kernel"])
        write_recorded(cell, folder)
        if cell.purpose == "measure":
            path = folder / "raw" / "flows" / "S.receiver.jsonl"
            text = path.read_text()
            got = int(text.split(GOODPUT)[1].split(",")[0].rstrip("}\n"))
            twice = 2 + 0.001 * cell.seed if cell.lab["kernel"] == "7.3" else 1
            more = twice * (1 + 0.01 * cell.seed)
            path.write_text(text.replace(f"{GOODPUT}{got}", f"{GOODPUT}{round(got * more)}"))


@pytest.fixture
def lab(cells_here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Lab:
    made = Lab()
    monkeypatch.setattr(virtual_lab, "ensure_per_kernel", lambda *_args: made)
    monkeypatch.setattr(kernel, "check_offered", lambda _versions: None)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(Path(__file__).parents[2] / "data" / "study" / "hosts", tmp_path / "hosts")
    (tmp_path / "w.yaml").write_text(STUDY)
    return made


def made(folder: Path) -> Kernels:
    return read(KERNELS, folder / run_folder.KERNELS_JSON)


def test_a_study_is_run_on_every_kernel(lab: Lab, said: Said) -> None:
    assert command_status(ALL.split()) == 0
    out, err = said()
    folder = Path("r", Path("r/latest").readlink())
    assert folder.name.endswith("Z-wireless-kernels")
    names = ["6.1+netem-seed", "6.12", "7.3"]
    content = json.loads((folder / run_folder.SET).read_text())
    assert content == {"schema": 1, "studies": names, "then": "report"}
    assert set(lab.kernels) == set(names)
    found = made(folder)
    assert [(run.kernel, run.run, run.seeds) for run in found.runs] == [(n, n, 3) for n in names]
    told = {(one.before, one.after) for one in found.changes if one.told_apart}
    assert told == {("6.12", "7.3")}
    same = [one for one in found.changes if one.after == "6.12"]
    assert {one.difference for one in same if one.p is not None} == {0}
    assert "Claims whose verdict is not the same on all kernels" in out
    assert "what changed from each kernel to the next" in out
    assert out.rstrip().endswith(f"kernels: {folder / run_folder.KERNELS_HTML}")
    assert err.count("sensitivity to assumptions is not tried") == 1
    for name in names:
        cells = json.loads((folder / name / run_folder.CELLS).read_text())
        assert {one["cell"]["lab"]["kernel"] for one in cells} == {name}
        assert (folder / name / run_folder.REPORT_HTML).is_file()

    # The same again from the set that is there, which runs nothing.
    before, ran = (folder / run_folder.KERNELS_JSON).read_bytes(), len(lab.kernels)
    (folder / run_folder.KERNELS_MD).unlink()
    assert command_status(["report", "r/latest"]) == 0
    assert said()[0].splitlines()[1:-1] == out.splitlines()[1:-1]  # all but places
    assert (folder / run_folder.KERNELS_JSON).read_bytes() == before
    assert (folder / run_folder.KERNELS_MD).is_file()
    assert command_status(["report", "r/latest", "--tables"]) == 0
    assert "Every difference that was looked at" in said()[0]
    assert len(lab.kernels) == ran


def test_results_as_tests_tell_kernels_apart(lab: Lab, said: Said) -> None:
    assert command_status(ALL.split()) == 0
    said()
    assert command_status(["report", "r/latest", "--format", "ktap"]) == 0
    ktap = said()[0]
    assert ktap.startswith("KTAP version 1\n1..3\n")
    names = ["wireless@6.1+netem-seed", "wireless@6.12", "wireless@7.3"]
    lines = ktap.splitlines()
    assert [line.split(": ")[1] for line in lines if "# Subtest" in line] == names
    assert [line.split()[-1] for line in lines if line[0] in "on"] == names
    assert command_status(["report", "r/latest", "--format", "junit"]) == 0
    junit = said()[0]
    assert all(f'<testsuite name="{name}"' in junit for name in names)


def test_an_interrupted_one_goes_on(lab: Lab, said: Said) -> None:
    lab.stop_at = 5
    with pytest.raises(Interrupted) as interrupted:
        command_status(ALL.split())
    folder = Path("r", Path("r/latest").readlink())
    again = f"groundtruth resume {folder} && groundtruth report {folder}"
    assert interrupted.value.how == again
    assert not (folder / run_folder.KERNELS_JSON).exists()
    assert command_status(["report", str(folder)]) == 2
    assert "not finished" in said()[1]
    lab.stop_at = 0
    assert command_status(["resume", str(folder), "-j", "1"]) == 0
    assert "what changed from each kernel to the next" in said()[0]
    assert len(made(folder).runs) == 3


def test_a_changed_cell_is_in_no_comparison(lab: Lab, said: Said) -> None:
    assert command_status(ALL.split()) == 0
    folder = Path("r", Path("r/latest").readlink())
    before = (folder / run_folder.KERNELS_JSON).read_bytes()
    flows = next((folder / "7.3").glob(f"cells/*/{run_folder.FLOWS_TABLE}"))
    flows.write_bytes(flows.read_bytes() + b"x")
    said()
    assert command_status(["report", str(folder)]) == 1
    assert "7.3" in said()[1]
    assert (folder / run_folder.KERNELS_JSON).read_bytes() == before
    # Run again, it is what it was.
    assert command_status(["resume", str(folder), "-j", "1"]) == 0
    assert (folder / run_folder.KERNELS_JSON).read_bytes() == before


def test_a_set_whose_file_says_another_thing_is_refused(lab: Lab, said: Said) -> None:
    assert command_status(ALL.split()) == 0
    place = Path("r/latest") / run_folder.SET
    place.write_text(place.read_text().replace('"report"', '"../report"'))
    said()
    assert command_status(["report", "r/latest"]) != 0
    assert "cannot read a set" in said()[1]


def test_a_plan_tells_what_all_of_them_cost(
    lab: Lab, said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "nothing is built"))
    assert command_status(PLAN.split()) == 0
    lines = said()[0].splitlines()
    (one,) = (line for line in lines if line.startswith("on each kernel: "))
    (every,) = (line for line in lines if line.startswith("all together: "))
    cells = [int(line.split()[3 if line is one else 2]) for line in (one, every)]
    assert cells[1] == 3 * cells[0]
    assert "kernels 6.1+netem-seed, 6.12, 7.3" in lines
    assert any("first built, once" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--kernel 6.12,6.12", "KERNEL: the same kernel twice: wanted kernels with commas"),
        ("--kernel 6.1,6.1+netem-seed", "the same kernel twice"),
        ("--kernel 6.12,", "KERNEL: no kernel named"),
        ("--kernel ,", "KERNEL: no kernel named"),
        ("--kernel 6.12,seven", "KERNEL: no such kernel"),
        ("--kernel 6.12,6.12+netem-seed", "KERNEL: no such patch"),
        ("--kernel 6.12,7.3 --reps auto", "kernels are compared seed by seed"),
        ("--kernel 6.12,7.3 --reps 1", "too few to compare"),
        ("--kernel 6.12,7.3 --simulator ns2", "a simulator has no kernels to compare"),
        ("--kernel era2001,ns235 --lab ns2", "a simulator has no kernels to compare"),
    ],
)
def test_what_cannot_be_compared_is_refused(lab: Lab, said: Said, words: str, message: str) -> None:
    assert command_status(["run", "w.yaml", "-D", "r", *words.split()]) == 2
    assert message in said()[1]
    assert not Path("r").exists()


def test_several_studies_are_refused(lab: Lab, said: Said) -> None:
    Path("v.yaml").write_text(STUDY)
    for command in ("run", "plan"):
        assert command_status([command, "w.yaml", "v.yaml", "--kernel", "6.12,7.3"]) == 2
        assert "several kernels take one study" in said()[1]


def test_a_folders_name_is_what_a_kernels_can_be() -> None:
    names = folder_names(["6.12+a-patch", "/src/linux@v6.9", "src-linux@v6.9", "../..", "set.json"])
    assert names == ["6.12+a-patch", "src-linux@v6.9", "src-linux@v6.9-2", "kernel", "set.json-2"]
    long = f"6.12-g2aed543258ce{'+a-patch-1a2b3c4d' * 20}"
    names = folder_names([long, f"{long}+b"])
    assert len(set(names)) == 2
    assert max(map(len, names)) < 255
