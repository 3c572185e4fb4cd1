"""The rules that hold for every test, tried on small suites of their own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[2] / "conftest.py"


def outcome(folder: Path, test: str, **environment: str) -> tuple[int, str]:
    """Run pytest on one small file under our conftest; return exit status and output."""
    (folder / "conftest.py").symlink_to(CONFTEST)
    (folder / "test_it.py").write_text(test)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(folder), "."],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return run.returncode, run.stdout


SKIPS = {
    "test": "import pytest\ndef test_it(): pytest.skip('no such thing here')\n",
    "file": "import pytest\npytest.skip('no such thing here', allow_module_level=True)\n",
}


@pytest.mark.parametrize("what", SKIPS)
def test_skip_fails_in_ci_and_gives_its_reason(tmp_path: Path, what: str) -> None:
    status, text = outcome(tmp_path, SKIPS[what], CI="true")
    assert status != 0
    assert "CI allows no skip" in text
    assert "no such thing here" in text
    assert "skipped" not in text.splitlines()[-1]


def test_skip_is_a_skip_elsewhere(tmp_path: Path) -> None:
    status, text = outcome(tmp_path, SKIPS["test"])
    assert status == 0
    assert "1 skipped" in text.splitlines()[-1]


def test_expected_failure_is_not_a_skip(tmp_path: Path) -> None:
    test = "import pytest\n@pytest.mark.xfail\ndef test_it(): raise ValueError\n"
    status, text = outcome(tmp_path, test, CI="true")
    assert status == 0
    assert "1 xfailed" in text.splitlines()[-1]


TELLS_ITS_PROCESS = """
import os, pathlib, pytest, time
@pytest.mark.parametrize("number", range(6))
def test_it(number):
    time.sleep(0.05)
    (pathlib.Path(__file__).parent / f"by-{os.getpid()}").touch()
"""


def test_a_lot_is_one_process_s(tmp_path: Path) -> None:
    """Side by side: a folder that boots a lab, or some of them, and each other file."""
    parts = {
        "radios": ("tests/lab/ad_hoc", "tests/lab/radio"),
        "machines": ("tests/lab/host", "tests/lab/remote"),
        "folder": ("tests/lab/one",), "file": ("tests/unit/one",),
    }  # fmt: skip
    for folder in (tmp_path / name for names in parts.values() for name in names):
        folder.mkdir(parents=True)
        (folder / "test_it.py").write_text(TELLS_ITS_PROCESS)
    (tmp_path / "tests/lab/one/test_other.py").write_text(TELLS_ITS_PROCESS)
    argv = (
        "-n", "2", "--dist", "loadscope", "-p", "no:cacheprovider", "--rootdir", str(tmp_path),
        "--import-mode", "importlib", "-o", "markers=lab\nunit", "tests",
    )  # fmt: skip
    (tmp_path / "conftest.py").symlink_to(CONFTEST)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *argv],
        cwd=tmp_path, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert "42 passed" in run.stdout, run.stdout
    by = {
        lot: {path.name for name in names for path in (tmp_path / name).glob("by-*")}
        for lot, names in parts.items()
    }
    assert {lot: len(processes) for lot, processes in by.items()} == dict.fromkeys(parts, 1)
    assert by["radios"] != by["machines"], "the first two that are found begin together"


LEAVES_A_LAB = """
import pathlib, subprocess
def test_it(tmp_path):
    kernel = tmp_path / "linux-test"
    kernel.symlink_to("/bin/sleep")
    # The shell ends at once, so the lab is an orphan.
    subprocess.run(["sh", "-c", f"{kernel} 60 >/dev/null 2>&1 & echo $! >pid"], check=True)
    name = pathlib.Path("/proc", pathlib.Path("pid").read_text().strip(), "comm")
    while name.read_text() != "linux-test\\n":  # until then it is still the shell's copy
        pass
"""


def test_lab_left_behind_is_an_error(tmp_path: Path) -> None:
    status, text = outcome(tmp_path, LEAVES_A_LAB)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert status != 0
    assert "lab processes outlive the tests" in text
    assert "linux-test" in text
