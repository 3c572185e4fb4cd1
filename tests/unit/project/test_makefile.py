"""The Makefile is the front door: what it lists, and which command it runs for which variables."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MAKEFILE = (ROOT / "Makefile").read_text()
PHONY = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
DUMBBELLS = [f"studies/{name}.yaml" for name in ("wireless", "satellite", "wired")]
TARGETS = re.findall(r"^([a-z][\w-]*):(?!=)", MAKEFILE, re.MULTILINE)


def make(*arguments: str) -> str:
    """Return what `make` prints."""
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    ).stdout


def command(*arguments: str) -> list[str]:
    """Return the groundtruth command line `make` would run, without the program."""
    last = make("--dry-run", *arguments).splitlines()[-1]
    program, *rest = shlex.split(last)
    assert program == ".venv/bin/groundtruth"
    return rest


def test_every_target_is_phony() -> None:
    assert sorted(PHONY) == sorted(TARGETS)


def test_help_is_the_default_and_lists_every_target() -> None:
    text = make()
    assert re.findall(r"^  make ([\w-]+) ", text, re.MULTILINE) == PHONY


def test_experiment_without_variables_leaves_everything_to_the_command() -> None:
    assert command("experiment") == ["run", *DUMBBELLS]


def test_experiment_passes_on_what_was_given_and_nothing_else() -> None:
    given = ["STUDY=satellite", "REPS=3", "LAB=stock", "KERNEL=6.12", "JOBS=2", "SCALE=0.1"]
    options = ["--reps", "3", "--lab", "stock", "--kernel", "6.12", "--jobs", "2"]
    options += ["--scale", "0.1"]
    assert command("experiment", *given) == ["run", "studies/satellite.yaml", *options]
    at = ["--at", "loss=1%,2%", "--at", "pairs=2"]
    assert command("experiment", "AT=loss=1%,2% pairs=2")[4:] == at
    assert command("experiment", "REPS=auto")[4:] == ["--reps", "auto"]
    assert command("experiment", "RETRIES=0")[4:] == ["--retries", "0"]
    assert command("plan", "SENSITIVITY=no")[4:] == ["--no-sensitivity"]
    assert command("plan", "LAB=stock") == ["plan", *DUMBBELLS, "--lab", "stock"]


@pytest.mark.parametrize("name", ["my fix.patch", "it's.patch", "a$(id)b.patch"])
def test_a_patch_may_be_any_file_and_a_kernel_any_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    given = str(tmp_path / name).replace("$", "$$")
    kernel = f"{tmp_path}/my linux's@v6.12"
    patched = command("experiment", "STUDY=wired", f"PATCH={given}", f"KERNEL={kernel}")
    options = ["--kernel", kernel, "--patch", str(tmp_path / name)]
    assert patched == ["run", "studies/wired.yaml", *options]
    several = ["--patch", "a.patch", "--patch", "b.patch"]
    assert command("plan", "PATCH=a.patch b.patch")[4:] == several
    assert command("lab", "KERNEL=~/linux", "PATCH=a") == [
        "build", "--kernel", "~/linux", "--patch", "a"
    ]  # fmt: skip
    assert command("doctor", "PATCH=a") == ["doctor", "--patch", "a"]


@pytest.mark.parametrize("name", ["my study.yaml", "it's.yaml", "a$(id)b.yaml", "a, b.yaml"])
def test_a_study_may_be_any_file(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    given = str(tmp_path / name).replace("$", "$$")
    assert command("experiment", f"STUDY={given}") == ["run", str(tmp_path / name)]


def test_studies_are_words() -> None:
    assert command("experiment", "STUDY=wired my.yaml") == ["run", "studies/wired.yaml", "my.yaml"]
    assert command("experiment", "STUDY=") == ["run"]


def test_run_folder_defaults_to_the_latest_and_may_hold_spaces() -> None:
    assert command("verify") == ["verify", "results/latest"]
    assert command("wireshark") == ["wireshark", "results/latest"]
    assert command("report", "RUN=results/a b") == ["report", "results/a b"]
