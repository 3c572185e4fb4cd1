"""The program with standard streams closed, full or unread: a documented exit status, no traceback.

Status 1 means that results disagree, so nothing here may end with it.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.command.cli import command_status
from testbed.labs.virtual import virtual_lab
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.study_file import HOSTS, UNPUBLISHED, edited

ROOT = Path(__file__).resolve().parents[3]
#: What is typed, and how it ends when all can be written.
COMMANDS = [
    ("validate anatomy", 0),
    ("--version", 0),
    ("report nonesuch", 2),
    ("--nonesuch", 2),
]
CLOSED = [closed for count in range(4) for closed in itertools.combinations("012", count)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a finished run, r/latest."""
    made = tmp_path_factory.mktemp("streams")
    shutil.copytree(HOSTS, made / "hosts")
    (made / "w.yaml").write_text(edited(UNPUBLISHED))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(virtual_lab, "ensure_per_kernel", lambda *_: FakeLab(write_recorded))
        patch.chdir(made)
        assert command_status(["run", "w.yaml", "--reps", "1", "-D", "r"]) == 0
    return made


@pytest.fixture(scope="module")
def usual(folder: Path) -> dict[str, subprocess.CompletedProcess[str]]:
    """Return how each command ends with all streams open."""
    return {line: ended(folder, line, "") for line, _ in COMMANDS}


def ended(folder: Path, line: str, redirections: str) -> subprocess.CompletedProcess[str]:
    """Run the program from a shell with these redirections; what is left open is read here."""
    script = f'exec "$0" -m testbed {line} {redirections}'
    return subprocess.run(
        ["/bin/sh", "-c", script, sys.executable],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("closed", CLOSED, ids=lambda closed: "".join(closed) or "none")
def test_closed_streams_change_neither_status_nor_words(
    closed: tuple[str, ...], folder: Path, usual: dict[str, subprocess.CompletedProcess[str]]
) -> None:
    redirections = " ".join("<&-" if number == "0" else f"{number}>&-" for number in closed)
    for line, status in COMMANDS:
        done = ended(folder, line, redirections)
        assert (line, done.returncode) == (line, status), done.stderr
        assert done.stdout == ("" if "1" in closed else usual[line].stdout)
        assert done.stderr == ("" if "2" in closed else usual[line].stderr)
        assert "Traceback" not in usual[line].stderr + usual[line].stdout


@pytest.mark.parametrize("closed", ["<&-", "<&- >&- 2>&-"])
def test_a_report_needs_no_standard_stream(closed: str, folder: Path) -> None:
    page = folder / "r" / "latest" / "report" / "index.html"
    page.unlink()
    assert ended(folder, "report r/latest", closed).returncode == 0
    assert page.is_file()


@pytest.mark.parametrize("line", ["validate anatomy", "--version", "--help"])
def test_output_that_cannot_be_written_is_told(line: str, folder: Path) -> None:
    done = ended(folder, line, ">/dev/full")
    assert done.returncode == 3
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr


@pytest.mark.parametrize(("line", "status"), COMMANDS)
def test_words_that_cannot_be_written_are_no_disagreement(
    line: str, status: int, folder: Path
) -> None:
    assert ended(folder, line, "2>/dev/full").returncode in (status, 3)
    assert ended(folder, line, ">/dev/full 2>/dev/full").returncode in (status, 3)


@pytest.mark.parametrize(("line", "status"), COMMANDS)
def test_output_that_nobody_reads_is_no_disagreement(line: str, status: int, folder: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    for out, err in ((write_end, subprocess.PIPE), (subprocess.DEVNULL, write_end)):
        done = subprocess.run(
            [sys.executable, "-m", "testbed", *line.split()],
            cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode in (status, 3)
        assert b"Traceback" not in (done.stderr or b"")
    os.close(write_end)


def test_what_is_said_never_commands_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_status(["validate", "\x1b[31m\x07ü\x9b.yaml"]) == 2
    assert capsys.readouterr().err.startswith(r"groundtruth: \x1b[31m\x07ü\x9b.yaml: cannot read")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_every_name_can_be_told_in_every_encoding(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = os.fsdecode(b"st\xc3\xbcdy \xe2\x82\xac \xff")  # the last byte is no UTF-8
    (tmp_path / f"{name}.yaml").write_text("study: [")
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    done = subprocess.run(
        [sys.executable, "-m", "testbed", "validate", f"{name}.yaml"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(b"groundtruth: st")
    assert b"Traceback" not in done.stderr
