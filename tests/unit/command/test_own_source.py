"""Kernels by folder and patches by file, as commands take them, and as labs refuse them."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from pathlib import Path

import pytest

from model import run_folder
from model.errors import StudyError, UnsupportedError
from testbed.campaign import saved_runs, study_sets
from testbed.command.cli import command_status
from testbed.command.runs import plans, simulators
from testbed.command.runs.plans import Choices, settled
from testbed.labs.virtual import kernel
from testbed.labs.virtual.own_source import kept
from testbed.study import kernel_names
from tests.unit.own_source.conftest import git_in, linux, own_cache
from tests.unit.own_source.test_export import PATCH

__all__ = ["linux", "own_cache"]
CHOICES = Choices(
    reps=1, lab="virtual", kernel="", jobs=1, hosts="", pcap=False, telemetry=True,
    sensitivity=False,
)  # fmt: skip
OURS = "sctp-4th-duplicate"


@pytest.fixture
def patch(tmp_path: Path) -> str:
    (tmp_path / "Fix it.patch").write_bytes(PATCH)
    return str(tmp_path / "Fix it.patch")


@pytest.fixture(autouse=True)
def debian_has_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "check_offered", lambda _versions: None)


def choices(**given: object) -> Choices:
    return dataclasses.replace(CHOICES, **given)  # type: ignore[arg-type]


def test_folder_and_patches_become_a_name_once(linux: Path, patch: str) -> None:
    first = settled(choices(kernel=str(linux), patches=(patch,)))
    name = kernel_names.read(first.kernel)
    assert name is not None
    assert name.commit == git_in(linux, "rev-parse", "HEAD")[:12]
    assert [one.rpartition("-")[0] for one in name.patches] == ["fix-it"]
    assert first.patches == ()
    assert settled(first) == first
    assert str(linux) not in repr(first)


def test_patches_alone_are_for_each_kernel_of_the_study(patch: str) -> None:
    first = settled(choices(patches=(patch,)))
    assert first.kernel == ""
    (name,) = first.patches
    assert settled(first) == first
    made, _ = plans.make_plan("wireless", dataclasses.replace(first, sensitivity=True))
    assert made.kernels == (f"6.12+{name}", f"7.3+{name}")


@pytest.mark.parametrize("words", [["plan", "wireless"], ["build"]])
@pytest.mark.parametrize("revision", ["", "@main"])
def test_a_folder_with_a_comma_is_refused_with_a_way_out(
    words: list[str], revision: str, linux: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    odd = linux.rename(tmp_path / "linux,net next")
    assert command_status([*words, "--kernel", f"7.3,{odd}{revision}"]) == StudyError.exit_status
    said = " ".join(capsys.readouterr().err.split())
    assert (
        "KERNEL: a folder's name has a comma in it: wanted kernels with commas between, got "
        f"{odd} (name a link to it: ln -s '{odd}' linux)"
    ) in said
    (tmp_path / "linux").symlink_to(odd)
    assert plans.settled(choices(kernel=str(tmp_path / "linux"))).kernel.startswith("6.12-g")


def test_a_patch_whose_name_is_not_of_ascii(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / os.fsdecode("\u00dcber ".encode() + b"\xff.patch")
    words = ["plan", "wireless", "--patch", str(file)]
    assert command_status(words) == StudyError.exit_status
    said = capsys.readouterr().err
    assert "not a patch" in said
    assert "\u00dcber" in said
    file.write_bytes(PATCH)
    assert command_status(words) == 0
    assert "ber-" in capsys.readouterr().out


def test_a_simulator_beside_it_has_no_patches(patch: str) -> None:
    first = settled(choices(patches=(patch,), simulator="ns2"))
    assert simulators.chosen(first).patches == ()


def test_patches_of_hypotheses_come_after_the_users(patch: str) -> None:
    first = settled(choices(patches=(patch,), kernel=f"6.12+{OURS}"))
    assert first.kernel.endswith(f"+{OURS}")
    assert first.kernel.startswith("6.12+fix-it-")


def test_a_plan_tells_the_kernel(
    linux: Path, patch: str, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["plan", "wireless", "--kernel", f"{linux}@HEAD", "--patch", patch]
    assert command_status(argv) == 0
    told = capsys.readouterr()
    assert f"kernel 6.12-g{git_in(linux, 'rev-parse', 'HEAD')[:12]}+fix-it-" in told.err
    assert str(linux) not in told.out + told.err


@pytest.mark.parametrize("lab", ["stock", "host", "ns2"])
def test_labs_that_build_no_kernel_say_so(
    lab: str, linux: Path, patch: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for option, value in (("--kernel", str(linux)), ("--kernel", "~/x@v1"), ("--patch", patch)):
        argv = ["plan", "wireless", "--lab", lab, option, value]
        assert command_status(argv) == UnsupportedError.exit_status
        told = capsys.readouterr().err
        assert f"the {lab} lab builds no kernel" in told
        assert "LAB=virtual" in told


@pytest.mark.parametrize(
    ("kernel_asked", "said"),
    [("/nowhere@v6", "no such folder"), ("6.12+no-such", "no such patch"), ("6.12@v", "no such f"),
     ("6.12-g12", "no such kernel")],
)  # fmt: skip
def test_nonsense_is_refused_with_status_2(
    kernel_asked: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["plan", "wireless", "--kernel", kernel_asked]
    assert command_status(argv) == StudyError.exit_status
    assert said in capsys.readouterr().err


def test_a_run_keeps_what_its_kernels_need_and_gives_it_back(
    linux: Path, patch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (linux / "net" / "a.c").write_text(
        (linux / "net" / "a.c").read_text().replace("int a15;", "int local;")
    )
    chosen = settled(choices(kernel=str(linux), patches=(patch,), at=("loss=1%",)))
    made = [plans.make_plan("wireless", chosen)]
    run = study_sets.create(tmp_path / "results", made, ["groundtruth"]).folder
    saved_runs.record_lab(run, {"bash": "5"})
    told = json.loads((run / run_folder.LAB).read_text())
    (record,) = told["kernels"].values()
    assert list(told["kernels"]) == [chosen.kernel]
    assert record["tree"] == str(linux)
    assert len(record["patches"]) == 2
    for file in (run_folder.CELLS, run_folder.PLAN, run_folder.RESOLVED):
        assert str(linux) not in (run / file).read_text()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    cells = saved_runs.load_cells(run)
    linux.rename(tmp_path / "gone")
    with pytest.raises(UnsupportedError, match="its tree is not where it was"):
        saved_runs.lab_of(run, cells, lambda _what, _done: None)
    name = kernel_names.read(chosen.kernel)
    assert name is not None
    assert all(kept.patch(one) is not None for one in name.patches)


def test_a_run_on_debians_kernels_keeps_nothing_of_them(tmp_path: Path) -> None:
    made = [plans.make_plan("wireless", choices(at=("loss=1%",)))]
    run = study_sets.create(tmp_path / "results", made, ["groundtruth"]).folder
    saved_runs.record_lab(run, {"bash": "5"})
    assert json.loads((run / run_folder.LAB).read_text()) == {
        "schema": 1, "packages": {"bash": "5"}
    }  # fmt: skip


def test_a_control_of_another_tree_is_for_kernels_of_ones_own(
    linux: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert command_status(["new", "mine"]) == 0
    study = tmp_path / "mine.yaml"
    found = re.subn(r"congestion_control: bbr\b", "congestion_control: prague", study.read_text())
    assert found[1]
    study.write_text(found[0])
    capsys.readouterr()
    assert command_status(["validate", str(study)]) == StudyError.exit_status
    told = capsys.readouterr().err
    assert "unknown congestion control" in told
    assert "got prague" in told.replace("'", "")
    assert command_status(["validate", str(study), "--kernel", str(linux)]) == 0
    assert command_status(["plan", str(study), "--kernel", str(linux)]) == 0
