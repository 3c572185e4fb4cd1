"""The lab's agent: whatever goes wrong, the host gets a message and never a traceback."""

from __future__ import annotations

import json
import resource
import subprocess
from pathlib import Path

import pytest

from mininet_topos.netns import Journal
from model.errors import RunError, VerifyError
from testbed.guest import agent, build_network, cell_run
from tests.support.recorded import wireless_cell

FAILURES: list[tuple[BaseException, str]] = [
    (VerifyError("not as asked", where="r1"), "r1: not as asked"),
    (OSError(24, "Too many open files", "/proc/x"), "[Errno 24] Too many open files: '/proc/x'"),
    (
        subprocess.TimeoutExpired(["tc"], 60),
        "the lab's agent failed: TimeoutExpired at test_agent.py:",
    ),
    (KeyError("r9"), "the lab's agent failed: KeyError at test_agent.py:"),
    (MemoryError(), "the lab's agent failed: MemoryError at test_agent.py:"),
    (RecursionError("too deep"), "the lab's agent failed: RecursionError at test_agent.py:"),
    (SystemExit(0), "the lab's agent failed: SystemExit at test_agent.py:"),
    (KeyboardInterrupt(), "the lab's agent failed: KeyboardInterrupt at test_agent.py:"),
]


@pytest.fixture(autouse=True)
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the agent a cell folder, and leave this process its own limits."""
    (tmp_path / "cell.json").write_text("{}")
    monkeypatch.setattr(agent, "CELL", tmp_path)
    monkeypatch.setattr(agent, "from_dict", lambda value: value)
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    return tmp_path


@pytest.mark.parametrize(("error", "words"), FAILURES, ids=lambda value: type(value).__name__)
def test_every_failure_leaves_a_message(
    error: BaseException,
    words: str,
    cell: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(agent, "run_cell", fail)
    assert agent.main() == 1
    told = json.loads((cell / "error.json").read_text())
    assert told["message"].startswith(words)
    assert told["kind"] == type(error).__name__
    out, err = capfd.readouterr()
    assert (out, err) == ("lab: phase read the cell\n", "")


def test_where_no_file_can_be_written_the_console_has_the_message(
    cell: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (cell / "error.json").mkdir()
    monkeypatch.setattr(agent, "run_cell", lambda *_: 1 // 0)
    assert agent.main() == 1
    out, err = capfd.readouterr()
    assert err == ""
    assert "lab: agent cannot write error.json (" in out
    assert "ZeroDivisionError" in out
    assert "Traceback" not in out


def test_a_cell_that_fails_leaves_what_was_run_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(_cell: object, _folder: Path, journal: Journal) -> None:
        journal.add("r1", ["tc", "qdisc"], "", 5, 0)
        journal.add("r1", ["ip", "link"], "", 7, 2)
        raise RunError("ip link failed with status 2", where="r1")

    monkeypatch.setattr(build_network, "build", build)
    with pytest.raises(RunError, match="ip link failed"):
        cell_run.run_cell(wireless_cell(), tmp_path, lambda _: None)
    lines = [json.loads(line) for line in (tmp_path / "commands.jsonl").read_text().splitlines()]
    assert [(line["argv"], line["status"]) for line in lines] == [
        (["tc", "qdisc"], 0),
        (["ip", "link"], 2),
    ]


def test_a_failure_is_told_where_the_commands_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "commands.jsonl").mkdir()
    monkeypatch.setattr(build_network, "build", lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        cell_run.run_cell(wireless_cell(), tmp_path, lambda _: None)
