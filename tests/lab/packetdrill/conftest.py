"""Scripts run in the lab with a program of our own in packetdrill's place, alone or by command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from model.errors import DisagreementError
from testbed.command import packetdrill
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.packetdrill import kernel, program, run
from testbed.packetdrill.results import CaseResult
from testbed.packetdrill.scripts import of_user
from tests.support.recorded import DATA

STAND_IN = DATA / "packetdrill-stand-in"
#: Each is run over IPv4 only, which takes one boot.
ONCE = "--ip_version=ipv4\n"
Run = Callable[..., CaseResult]


@pytest.fixture(scope="module")
def run_one(lab: VirtualLab, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run a script of this text in a boot of its own."""
    built = program.ensure(STAND_IN, lab.image)

    def run_text(
        text: str, above: Path | None = None, virtual_limit_s: float = 60.0,
        wall_limit_s: float = 300.0, on: VirtualLab = lab,
    ) -> CaseResult:  # fmt: skip
        place = above or tmp_path_factory.mktemp("case")
        (place / "own").mkdir()
        (place / "own" / "a.pkt").write_text(ONCE + text)
        given = of_user([place / "own"])
        (place / "shown").mkdir()
        given.write(place / "shown")
        asked = run.Asked(
            lab=on, tools=built.folder, scripts=place / "shown", captures=True,
            virtual_limit_s=virtual_limit_s, wall_limit_s=wall_limit_s,
        )  # fmt: skip
        (case,) = given.cases()
        return run.run_case(case, asked=asked, above=place)

    return run_text


@pytest.fixture
def command(
    lab: VirtualLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Path]:
    """Run the command on the lab's usual kernel; return the folder of results."""
    monkeypatch.setattr(kernel, "ensure", lambda _version, _report, _check: lab)

    def run_command(
        *files: Path, name: str, form: str = "screen", failing: bool, source: Path = STAND_IN
    ) -> Path:
        wanted = packetdrill.Wanted(
            source=source, files=files, kernel=lab.kernel_version, jobs=2,
            data_dir=tmp_path / name, form=form, captures=not failing, tolerance_usecs=0,
            virtual_limit_s=60.0,
        )  # fmt: skip
        if failing:
            with pytest.raises(DisagreementError, match="1 of 2 scripts fail"):
                packetdrill.command(wanted)
        else:
            packetdrill.command(wanted)
        (folder,) = (tmp_path / name).iterdir()
        return folder

    return run_command
