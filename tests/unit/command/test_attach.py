"""``report RUN --simulated RUN``: what a simulator's run may stand beside, and what is refused."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from model import run_folder
from model.errors import StudyError
from model.run_files.comparing.simulated import SIMULATED, Simulated
from model.run_files.json_file import read
from testbed.campaign import saved_runs, study_sets
from testbed.command.cli import command_status
from testbed.command.comparisons import attach as attaching
from testbed.command.comparisons.attach import attach
from testbed.command.runs import commands, plans, simulators
from testbed.labs.ns2.kind import NS2
from tests.support.fake_lab import FakeLab
from tests.support.runs.one_point import STUDY
from tests.support.said import Said

Make = Callable[..., Path]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Make:
    """Return what makes runs without cells; of them only what was planned is looked at."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(Path(__file__).parents[3] / "studies" / "hosts", tmp_path / "hosts")
    monkeypatch.setattr(attaching, "check_whole", lambda run: None)
    monkeypatch.setattr(simulators, "taken_from", taken_from)

    def made(name: str, *edits: tuple[str, str], lab: str = "virtual", **changes: object) -> Path:
        text = STUDY
        for before, after in edits:
            assert before in text
            text = text.replace(before, after)
        Path(f"{name}.yaml").write_text(text)
        choices = plans.Choices(
            reps=2, lab=lab, kernel=NS2.kernel_instead("") if lab == "ns2" else "7.3", jobs=1,
            hosts="", pcap=False, telemetry=True, sensitivity=lab != "ns2",
        )  # fmt: skip
        choices = plans.settled(dataclasses.replace(choices, **changes))  # type: ignore[arg-type]
        plan = plans.make_plan(f"{name}.yaml", choices, of_kernel=FakeLab().describe
                               if lab == "virtual" else simulator)  # fmt: skip
        return study_sets.create(tmp_path / name, [plan], ["groundtruth"]).folder

    return made


def simulator(kernel_version: str) -> dict[str, str]:
    return {"name": "ns2", "simulator": "ns-2.35", "kernel": kernel_version, "tick_hz": "100"}


def taken_from(run: Path) -> Simulated:
    return Simulated(
        simulator="ns-2.35", run=run.name, manifest_sha256="0" * 64, points=(), claims=()
    )


def test_the_same_points_and_seeds_are_attached(make: Make) -> None:
    run, its = make("kernel"), make("its", lab="ns2")
    before = saved_runs.load_cells(run)
    attach(str(run), str(its))
    assert read(SIMULATED, run / run_folder.SIMULATOR).run == its.name
    assert saved_runs.load_cells(run) == before  # the manifest covers what was added

    another = make("another", lab="ns2")
    attach(str(run), str(another))
    assert read(SIMULATED, run / run_folder.SIMULATOR).run == another.name


@pytest.mark.parametrize(
    ("changes", "edits", "message"),
    [
        ({"reps": 3}, (), r"/kernel/.*: not the same points and seeds: wanted seed 3 at .*0\.01"),
        ({"reps": 1}, (), r"/its/.*: not the same points and seeds: wanted seed 2 at .*0\.01"),
        ({}, (("[1 %]", "[2 %]"),), r"not the same points and seeds: wanted seed 2 at .*0\.01"),
        ({"scale": Decimal("0.5")}, (), r"not the same cells: wanted duration_s as .*: 1000.0, "),
        ({}, (("delay: 250 ms", "delay: 260 ms"),),
         r"wanted network as in .*: bottleneck forward owd_s 0.25, got bottleneck forward owd_s"),
        ({}, (("study: wireless", "study: other"),), "not simulated: wanted a run of wireless, "),
    ],
)  # fmt: skip
def test_another_experiment_is_refused(
    make: Make, changes: dict[str, object], edits: tuple[tuple[str, str], ...], message: str
) -> None:
    run, its = make("kernel"), make("its", *edits, lab="ns2", **changes)
    with pytest.raises(StudyError, match=message):
        attach(str(run), str(its))
    assert not (run / run_folder.SIMULATOR).exists()


def test_a_simulators_run_gets_none_beside_it(make: Make) -> None:
    its = make("its", lab="ns2")
    with pytest.raises(StudyError, match="a simulator beside a simulator"):
        attach(str(its), str(its))


def test_sets_are_attached_study_by_study(make: Make, tmp_path: Path) -> None:
    run, its = make("kernel"), make("its", lab="ns2")
    both = tmp_path / "set"
    both.mkdir()
    shutil.copytree(its, both / "one")
    shutil.copytree(its, both / "two")
    (both / run_folder.SET).write_text(study_sets._text(["one", "two"]))
    with pytest.raises(StudyError, match="two runs of one study: wanted one of each, got one and"):
        attach(str(run), str(both))
    (both / run_folder.SET).write_text(study_sets._text(["two"]))
    attach(str(run), str(both))
    assert read(SIMULATED, run / run_folder.SIMULATOR).run == "two"


def test_the_command_attaches_before_it_reports(
    make: Make, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, its = make("kernel"), make("its", lab="ns2")
    there: list[bool] = []
    monkeypatch.setattr(
        commands, "report", lambda name, _told: there.append((run / run_folder.SIMULATOR).exists())
    )
    assert command_status(["report", str(run), "--simulated", str(its)]) == 0
    assert command_status(["report", str(run), "--simulated", "gone"]) == 2
    assert "gone: not a run folder" in said()[1]
    assert there == [True]
