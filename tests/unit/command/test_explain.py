"""``groundtruth explain`` from a study to what its mechanisms do, on a lab that boots nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from model import run_folder
from model.cell import Cell
from model.errors import Interrupted
from model.run_files.comparing.explanation import EXPLANATION, Explanation
from model.run_files.json_file import read
from testbed.command.cli import command_status
from testbed.labs.virtual import virtual_lab
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.runs.one_point import STUDY
from tests.support.said import Said

HYPOTHESES = """\
hypotheses:
  - {id: fourth, text: On the 4th., restores: SCTP fast retransmit, patch: sctp-4th-duplicate}
  - {id: second, text: Every 2nd., restores: No delayed acknowledgements,
     sctp_socket: {sack_freq_packets: 2}}
  - {id: same, text: As it is., restores: No delayed acknowledgements,
     sctp_socket: {sack_freq_packets: 1}}
"""
#: What the recorded receiver of SCTP says it got, in bytes.
GOODPUT = '"window_goodput_bytes":'


class Lab(FakeLab):
    """Its SCTP gets twice as much where it acts on the 4th duplicate; seeds differ a little."""

    def __init__(self) -> None:
        super().__init__(self.leave)
        self.kernels: list[str] = []
        self.captured: set[bool] = set()
        self.stop_at = 0

    def describe(self, kernel_version: str = "7.3") -> dict[str, str]:
        return {**super().describe(kernel_version), "kernel": kernel_version}

    def leave(self, cell: Cell, folder: Path) -> None:
        if self.stop_at and len(self.kernels) >= self.stop_at:
            raise Interrupted
        self.kernels.append(cell.lab["kernel"])
        self.captured.add(cell.collect.pcap)
        write_recorded(cell, folder)
        if cell.purpose == "measure":
            path = folder / "raw" / "flows" / "S.receiver.jsonl"
            text = path.read_text()
            got = int(text.split(GOODPUT)[1].split(",")[0].rstrip("}\n"))
            more = (2 if "4th" in cell.lab["kernel"] else 1) * (1 + 0.01 * cell.seed)
            path.write_text(text.replace(f"{GOODPUT}{got}", f"{GOODPUT}{round(got * more)}"))


@pytest.fixture
def lab(cells_here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Lab:
    made = Lab()
    monkeypatch.setattr(virtual_lab, "ensure_per_kernel", lambda *_args: made)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(Path(__file__).parents[2] / "data" / "study" / "hosts", tmp_path / "hosts")
    (tmp_path / "w.yaml").write_text(f"{STUDY}{HYPOTHESES}")
    return made


ALL = "explain w.yaml --reps 3 -j 1 -D r"


def explained(folder: Path) -> Explanation:
    return read(EXPLANATION, folder / run_folder.EXPLANATION_JSON)


def test_a_study_is_run_with_every_set_of_mechanisms(lab: Lab, said: Said) -> None:
    assert command_status(ALL.split()) == 0
    out, err = said()
    folder = Path("r", Path("r/latest").readlink())
    assert folder.name.endswith("Z-wireless-explain")
    names = ["unchanged", "fourth", "second", "all"]
    assert json.loads((folder / run_folder.SET).read_text())["studies"] == names
    assert "4 runs say what 2 mechanisms do: 12 measuring cells" in err
    found = explained(folder)
    assert [run.mechanisms for run in found.runs] == [
        (),
        ("fourth",),
        ("second",),
        ("fourth", "second"),
    ]
    assert {kernel.rpartition("+")[2] for kernel in lab.kernels} == {"7.3", "sctp-4th-duplicate"}
    alone = {
        one.sets[0][0]: one.change for one in found.effects
        if (one.kind, one.metric) == ("alone", "goodput_S_bps")
    }  # fmt: skip
    assert alone["second"] == 0
    assert alone["fourth"] is not None
    assert alone["fourth"] > 0
    assert found.idle == {"same": "the hosts are so already"}
    assert "the kernel as it is" in out
    assert out.rstrip().endswith(f"explanation: {folder / run_folder.EXPLANATION_HTML}")
    text = (folder / run_folder.EXPLANATION_MD).read_text()
    assert text.startswith("#")
    assert "or back: none\n\n- 0 of " in text  # and no table without columns
    assert "fourth" in (folder / run_folder.EXPLANATION_HTML).read_text()

    # The same again from the set that is there, which runs nothing.
    before, ran = (folder / run_folder.EXPLANATION_JSON).read_bytes(), len(lab.kernels)
    assert command_status(["explain", "r/latest", "--metric", "goodput_S_bps"]) == 0
    again = explained(folder)
    assert (again.metric, again.effects) == ("goodput_S_bps", found.effects)
    assert command_status(["explain", "r/latest"]) == 0
    assert len(lab.kernels) == ran
    assert len((folder / run_folder.EXPLANATION_JSON).read_bytes()) == len(before)


def test_some_mechanisms_alone(lab: Lab, said: Said) -> None:
    assert command_status([*ALL.split(), "--by", "fourth"]) == 0
    assert "2 runs say what 1 mechanism does: 6 measuring cells" in said()[1]
    found = explained(Path("r/latest"))
    assert [run.run for run in found.runs] == ["unchanged", "fourth"]
    assert [one.id for one in found.hypotheses] == ["fourth"]


def test_packets_are_captured_only_if_asked_for(lab: Lab, said: Said) -> None:
    text = Path("w.yaml").read_text()
    Path("w.yaml").write_text(f"{text}collect: {{captures: true}}\n")
    assert command_status([*ALL.split(), "--by", "fourth"]) == 0
    assert lab.captured == {False}


def test_an_interrupted_one_goes_on(lab: Lab, said: Said) -> None:
    lab.stop_at = 6
    with pytest.raises(Interrupted) as interrupted:
        command_status(ALL.split())
    folder = Path("r", Path("r/latest").readlink())
    assert interrupted.value.how == f"groundtruth resume {folder} && groundtruth explain {folder}"
    assert command_status(["explain", str(folder)]) == 2
    assert "not finished" in said()[1]

    # An interrupt of the resume says the same, as does the resume that ends.
    how = interrupted.value.how.replace(str(folder), str(folder.resolve()))
    lab.stop_at = 8
    with pytest.raises(Interrupted) as interrupted:
        command_status(["resume", str(folder), "-j", "1"])
    assert interrupted.value.how == how
    lab.stop_at = 0
    said()
    assert command_status(["resume", str(folder), "-j", "1"]) == 0
    assert said()[0].endswith(f"next: groundtruth explain {folder.resolve()}\n")
    assert command_status(["explain", str(folder)]) == 0
    assert len(explained(folder).runs) == 4


@pytest.mark.parametrize("name", [run_folder.FLOWS_TABLE, run_folder.LEDGER, "raw/counters.json"])
def test_a_damaged_cell_explains_nothing(lab: Lab, said: Said, name: str) -> None:
    assert command_status([*ALL.split(), "--by", "fourth"]) == 0
    before = Path("r/latest", run_folder.EXPLANATION_JSON).read_bytes()
    path = sorted(Path("r/latest/fourth/cells").glob(f"*/{name}"))[-1]
    path.write_bytes(path.read_bytes()[:-1])
    said()
    assert command_status(["explain", "r/latest"]) == 1
    assert f"1 cells are changed:\n  {path.parents[name.count('/')].name}: {name}: " in said()[1]
    assert Path("r/latest", run_folder.EXPLANATION_JSON).read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (f"{ALL} --by fifth", "no such hypothesis: wanted one of fourth, second, same, got fifth"),
        (f"{ALL} --by same", "no hypothesis changes these hosts"),
        (f"{ALL} --metric speed", "--metric: no such metric: wanted one of share_T_pct, "),
        (f"{ALL} --by fourth --kernel 7.3+sctp-4th-duplicate", "fourth: the kernel is so already"),
        ("explain w.yaml --reps 1 -D r", "too few to compare"),
        ("explain r", "r: cannot read: Is a directory"),
    ],
)
def test_what_explains_nothing_is_refused(lab: Lab, said: Said, words: str, message: str) -> None:
    Path("r").mkdir()
    assert command_status(words.split()) == 2
    assert message in said()[1]
    assert list(Path("r").iterdir()) == []


def test_options_of_a_run_go_with_a_study(lab: Lab, said: Said) -> None:
    assert command_status([*ALL.split(), "--by", "fourth"]) == 0
    said()
    assert command_status(["explain", "r/latest", "--reps", "3"]) == 2
    assert "goes with a study" in said()[1]
    assert command_status(["explain", "r/latest/fourth"]) == 2
    assert "one run explains nothing" in said()[1]
