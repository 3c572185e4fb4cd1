"""Command lines that hints name: a shell reads them as they are meant."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from testbed.machine.command_line import groundtruth

pytestmark = pytest.mark.unit


def test_usual_words_stand_as_they_are() -> None:
    line = groundtruth("resume", Path("results/20261129T101500Z-wired"), "--jobs", 2)
    assert line == "groundtruth resume results/20261129T101500Z-wired --jobs 2"


@pytest.mark.parametrize("name", ["my results/1", "it's", "$HOME", "a;b", "", "-n", "*", "~x"])
def test_a_shell_reads_any_word_as_it_was(name: str) -> None:
    script = f"groundtruth() {{ printf '%s\\n' \"$@\"; }}; {groundtruth('report', name)}"
    read = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True)
    assert read.stdout == f"report\n{name}\n"
