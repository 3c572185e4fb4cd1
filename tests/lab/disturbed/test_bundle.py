"""A bundle of a run, repeated by somebody whose machine is set up otherwise: the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from testbed.store import cells as store
from tests.support.killing import PROJECT
from tests.support.runs.lab_run import WITHIN_S, LabRun

#: Of who bundles, and of who verifies: a mask of new files, a time zone and a language.
HERS = ("077", {"TZ": "Asia/Kathmandu", "LC_ALL": "C"})
HIS = ("002", {"TZ": "America/St_Johns", "LC_ALL": "C.UTF-8"})


def command(whose: tuple[str, Mapping[str, str]], temporary: Path, *words: str) -> str:
    """Return what a command of somebody's says."""
    mask, settings = whose
    temporary.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["sh", "-c", f'umask {mask}; exec "$@"', "sh", sys.executable, "-m", "testbed", *words],
        cwd=PROJECT, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=WITHIN_S,
        env={**os.environ, store.VARIABLE: store.OFF, "TMPDIR": str(temporary), **settings},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return " ".join(done.stdout.split())


@pytest.mark.timeout(1800)  # on a machine that does much else
def test_what_one_bundled_another_repeats_to_the_byte(undisturbed: LabRun, tmp_path: Path) -> None:
    hers, his = tmp_path / "her things", tmp_path / "his things"
    bundle = hers / "the bundle.tar.gz"
    command(HERS, hers / "tmp", "bundle", str(undisturbed.folder), "--to", str(bundle))
    said = command(HIS, his / "tmp", "verify", str(bundle), "--cells", "2")
    assert "2 cells repeated" in said
    assert "the same to the byte" in said
    assert [*(hers / "tmp").iterdir(), *(his / "tmp").iterdir()] == []
