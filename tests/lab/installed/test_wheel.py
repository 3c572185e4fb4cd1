"""The wheel, installed into an empty environment, runs a study from an empty folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
TIMEOUT_S = 900.0


def ran(*argv: str | Path, cwd: Path) -> str:
    """Run a program as a stranger would, without this checkout's settings; return what it said."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, argv)), cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of what is committed."""
    folder = tmp_path_factory.mktemp("wheel")
    ran("git", "clone", "--quiet", ROOT, folder / "checkout", cwd=folder)
    ran(*PIP, "wheel", "--no-deps", "--wheel-dir", folder, folder / "checkout", cwd=folder)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the command of an environment that has the wheel, and what it needs as pinned."""
    place = tmp_path_factory.mktemp("empty") / "environment"
    ran(sys.executable, "-m", "venv", "--without-pip", place, cwd=place.parent)
    into = (*PIP, "--python", place / "bin" / "python", "install")
    ran(*into, "--require-hashes", "-r", ROOT / "requirements" / "run.txt", cwd=place.parent)
    ran(*into, "--no-deps", wheel, cwd=place.parent)
    return place / "bin" / "groundtruth"


def test_it_takes_one_name_of_all_that_can_be_imported(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert {name.split("/")[0] for name in names} == {
        "groundtruth", f"groundtruth_transport-{version}.dist-info",
        f"groundtruth_transport-{version}.data",
    }  # fmt: skip
    shared = [name.partition(".data/")[2] for name in names if ".data/" in name]
    assert shared == ["data/share/man/man1/groundtruth.1"]
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".o"))]


@pytest.mark.timeout(1200)
def test_it_runs_a_study_from_an_empty_folder(command: Path, tmp_path: Path) -> None:
    assert ran(command, "--version", cwd=tmp_path).startswith("groundtruth ")
    assert "wireless" in ran(command, "list", "studies", cwd=tmp_path)
    said = ran(command, "run", "anatomy", "--reps", "1", cwd=tmp_path)
    assert "report: results/" in said
    assert "Of 12 claims" in said
    # The same cells as those of a checkout.
    here = (sys.executable, "-m", "testbed")
    ran(*here, "run", "anatomy", "--reps", "1", "-D", tmp_path / "checkout", cwd=ROOT)
    cells = [tmp_path / name / "latest" / "cells" for name in ("results", "checkout")]
    names = sorted(path.name for path in cells[0].iterdir())
    assert names == sorted(path.name for path in cells[1].iterdir())
    for name in names:
        here_and_there = [(place / name / "verify.json").read_bytes() for place in cells]
        assert here_and_there[0] == here_and_there[1]
        digests = [json.loads((place / name / "cell.json").read_text())["lab"] for place in cells]
        assert digests[0] == digests[1]


@pytest.mark.timeout(1200)
def test_new_and_plan_find_what_they_need(command: Path, tmp_path: Path) -> None:
    ran(command, "new", "mine", "--like", "satellite", cwd=tmp_path)
    assert (tmp_path / "mine.yaml").is_file()
    assert "cells" in ran(command, "plan", "mine.yaml", cwd=tmp_path)
    assert ran(command, "doctor", cwd=tmp_path)
