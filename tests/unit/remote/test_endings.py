"""How sessions of the remote lab end where a machine, its connection or this one's disk fails."""

from __future__ import annotations

import io
import json
import os
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from model.errors import RunError
from testbed.labs.remote import connections, remote_lab
from testbed.labs.remote.connections import Connection, Connections, Said
from testbed.labs.remote.on_machine import agent, links
from testbed.labs.remote.on_machine.lines import Lines, Lost


def connection(name: str, folder: Path, said: bytes = b"") -> Connection:
    """A connection with what its machine has said, and what is asked of it."""
    child: Any = SimpleNamespace(stdin=io.BytesIO(), stdout=io.BytesIO(said))
    machine: Any = SimpleNamespace(name=name)
    (folder / name).touch()
    return Connection(machine=machine, child=child, errors=folder / name)


def test_machines_hear_a_word_while_others_are_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One may take longer than a session stays that hears nothing."""
    monkeypatch.setattr(connections, "WORD_EVERY_S", 0.05)
    both = Connections(by_name={name: connection(name, tmp_path) for name in ("a", "b")})
    both.said.put(Said(machine="a", kind="ready", content={}))
    late = threading.Timer(0.3, both.said.put, [Said(machine="b", kind="ready", content={})])
    late.start()
    assert set(both.gather("ready", 10)) == {"a", "b"}
    late.join()
    for one in both.by_name.values():
        stdin: Any = one.child.stdin
        assert {"do": "wait"} in [json.loads(line) for line in stdin.getvalue().splitlines()]


def test_a_session_ends_that_hears_nothing_however_much_its_agent_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(agent, "SILENCE_S", 0.5)
    monkeypatch.setattr(agent, "say", lambda _kind, line: said.append(line))
    hears, asks = os.pipe()
    program = ["sh", "-c", "while :; do echo word; sleep 0.05; done"]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as talks:
        assert talks.stdout is not None
        with pytest.raises(Lost):
            agent._pass_between(Lines(hears), Lines(talks.stdout.fileno()), -1)
        talks.kill()
    os.close(hears)
    os.close(asks)
    assert len(said) > 1


def test_a_file_that_cannot_be_kept_here_is_not_the_machines_fault(tmp_path: Path) -> None:
    head = json.dumps({"say": "file", "name": "a", "size": 1}).encode()
    one = connection("m", tmp_path, head + b"\nx")
    one.into, one.wanted, one.most_bytes = tmp_path / "m", "a", 9  # no folder
    found: list[Said] = []
    connections._read(one, found.append)
    assert [said.kind for said in found] == ["error"]
    assert str(found[0].content["message"]).startswith("cannot be kept here: ")


def test_of_a_machine_that_is_lost_without_a_word_is_told_what_becomes_of_it(
    tmp_path: Path,
) -> None:
    error = connections.lost(connection("m", tmp_path), "phase run the flows")
    assert error.got == "no word"
    assert "groundtruth clean --lab remote" in error.hint


def test_a_machine_restarted_with_another_kernel_is_named() -> None:
    told = {"kernel_release": "6.12.41", "kernel_version": "#1 SMP"}
    remote_lab._check_restarted("m", {"kernel_package": "6.12.41 #1 SMP"}, told)
    with pytest.raises(RunError, match=r"m: .* wanted 6.12.38 #1 SMP, got 6.12.41 #1 SMP"):
        remote_lab._check_restarted("m", {"kernel_package": "6.12.38 #1 SMP"}, told)


@pytest.mark.parametrize("content", ["[", "[1]", '[{"interface": "eth1"}]'])
def test_what_was_lent_and_cannot_be_read_is_told_and_left(tmp_path: Path, content: str) -> None:
    journal = tmp_path / links.JOURNAL
    journal.write_text(content)
    with pytest.raises(RunError, match=r"cannot read what was lent: .*restart of the machine"):
        links.give_back(tmp_path, lambda _line: None)
    assert journal.read_text() == content
