"""What is worked on in a folder of its own is never left behind for ever, nor taken from a user."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from testbed.machine import scratch
from testbed.machine.scratch import sweep

PREFIX = ".verify-"
PROJECT = Path(__file__).parents[3]
HOLDER = """
import sys
from pathlib import Path
from testbed.machine.scratch import scratch
with scratch(Path(sys.argv[1]), ".verify-") as place:
    (place / "deep").mkdir()
    print(place.name, flush=True)
    sys.stdin.read()
"""


def test_the_folder_is_gone_afterwards(tmp_path: Path) -> None:
    with scratch.scratch(tmp_path, PREFIX) as place:
        assert list(tmp_path.iterdir()) == [place]
    assert list(tmp_path.iterdir()) == []


def test_it_may_have_been_moved(tmp_path: Path) -> None:
    with scratch.scratch(tmp_path, PREFIX) as place:
        place.rename(tmp_path / "made")
    assert list(tmp_path.iterdir()) == [tmp_path / "made"]


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_uses_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / f"{PREFIX}left" / "cells").mkdir(parents=True)
    (tmp_path / "cells").mkdir()
    with scratch.scratch(tmp_path, PREFIX) as first, scratch.scratch(tmp_path, PREFIX) as second:
        assert set(tmp_path.iterdir()) == {tmp_path / "cells", first, second}
    assert list(tmp_path.iterdir()) == [tmp_path / "cells"]


def test_a_process_that_is_killed_gives_it_back(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(
        argv, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        place = tmp_path / holder.stdout.readline().strip()
        sweep(tmp_path, PREFIX)
        assert (place / "deep").is_dir()
        holder.kill()
    sweep(tmp_path, PREFIX)
    assert list(tmp_path.iterdir()) == []


def test_one_that_was_swept_before_it_was_held_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    real = tempfile.mkdtemp

    def mkdtemp(prefix: str, dir: Path) -> str:  # as it is called there
        made.append(real(prefix=prefix, dir=dir))
        if len(made) == 1:
            sweep(tmp_path, PREFIX)
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", mkdtemp)
    with scratch.scratch(tmp_path, PREFIX) as place:
        assert str(place) == made[1]
        assert list(tmp_path.iterdir()) == [place]
