"""What fails no script: a program that cannot tell right from wrong, a lab that ends early."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from model import run_folder
from model.errors import MachineError, RunError, VerifyError
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.lab.packetdrill.conftest import ONCE, STAND_IN, Run
from tests.support.killing import descendants


@pytest.fixture
def other(tmp_path: Path) -> Callable[[str, str], Path]:
    """Make a program that differs from the stand-in in some words."""

    def make(words: str, instead: str) -> Path:
        folder = tmp_path / "other"
        shutil.copytree(STAND_IN, folder)
        text = (folder / "packetdrill.c").read_text()
        assert words in text
        (folder / "packetdrill.c").write_text(text.replace(words, instead))
        return folder

    return make


@pytest.mark.parametrize(
    ("words", "instead", "got"),
    [
        ("return 1;", "return 0;", "got both pass"),
        ('" ack 1 "', '" ack 3 "', "got both fail; passes.pkt: passes.pkt:7: expected another"),
        ('" ack 1 "', '" ack 2 "', "got the reverse; passes.pkt: passes.pkt:7: expected another"),
    ],
)
def test_a_program_that_cannot_tell_right_from_wrong_gives_no_verdict(
    command: Callable[..., Path], other: Callable[[str, str], Path], tmp_path: Path,
    words: str, instead: str, got: str,
) -> None:  # fmt: skip
    (tmp_path / "a.pkt").write_text(f"{ONCE}options\n")
    with pytest.raises(VerifyError, match=f"no verdict .* can be trusted: .*{re.escape(got)}"):
        command(tmp_path / "a.pkt", name="r", failing=False, source=other(words, instead))
    assert not list((tmp_path / "r").iterdir())


def test_a_panic_before_the_script_is_no_verdict_on_it(
    run_one: Run, lab: VirtualLab, tmp_path: Path
) -> None:
    code = tmp_path / "code"
    shutil.copytree(lab.code, code, symlinks=True)
    (code / "init").unlink()
    with pytest.raises(RunError, match=r"(?s)phase boot: the lab's kernel panicked: .* init"):
        run_one("options\n", on=dataclasses.replace(lab, code=code))


def test_a_lab_that_cannot_start_is_no_verdict(
    run_one: Run, lab: VirtualLab, tmp_path: Path
) -> None:
    (tmp_path / "kernel").mkdir()
    shutil.copy(lab.kernel / "version", tmp_path / "kernel")
    with pytest.raises(RunError, match="phase boot: "):
        run_one("options\n", on=dataclasses.replace(lab, kernel=tmp_path / "kernel"))


def test_a_lab_that_is_killed_is_no_verdict(run_one: Run, tmp_path: Path) -> None:
    kill = threading.Thread(target=kill_once_spinning, args=(tmp_path,))
    kill.start()
    with pytest.raises(MachineError, match="phase script: the lab's kernel ended before its agent"):
        run_one("spin\n", tmp_path)
    kill.join()


def kill_once_spinning(place: Path) -> None:
    """Kill the kernel of a lab, which this process started, once its script has begun."""
    console = next_console(place)
    while b"lab: phase script" not in console.read_bytes():
        threading.Event().wait(0.05)
    for process, line in descendants().items():
        if line.startswith("/gt/kernel/linux "):
            os.kill(process, signal.SIGKILL)


def next_console(place: Path) -> Path:
    """Return the console of the one case below a folder, once it is there."""
    while not (found := list(place.glob(f"*/{run_folder.CONSOLE}"))):
        threading.Event().wait(0.05)
    return found[0]
