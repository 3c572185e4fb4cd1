"""What holds for every test: with CI set nothing is skipped, and no process outlives the tests.

A test has the mark of the folder it lies in. Where tests run side by side, those of a file stay
together, and so do those of a folder that boot a lab; emulated machines come one after the other.
Lots are dealt out in the order they are found in, in which those that take minutes come first. No
test depends on how busy the machine is, nor on signals that whoever started it had ignored.

Invariant: only processes this run started are looked at, so other labs on the machine are safe.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TypeVar

import hypothesis
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

PR_SET_CHILD_SUBREAPER = 36
#: What the tests of a folder need: their mark.
MARKS = {"unit": "unit", "lab": "lab", "probes": "lab", "browser": "browser", "long": "slow"}
#: Folders whose tests run one after the other, by the lot they belong to; of others in tests/lab a
#: folder is a lot, elsewhere a file.
LOTS = {
    "tests/browser/": "browser", "tests/probes/": "probes",
    "tests/lab/host/": "machines", "tests/lab/machines/": "machines",
    "tests/lab/installed/": "machines", "tests/lab/remote/": "machines",
    "tests/lab/ad_hoc/": "radios", "tests/lab/aodv/": "radios",
    "tests/lab/baselines/": "radios", "tests/lab/radio/": "radios",
}  # fmt: skip
#: Names under which a lab runs: the kernel and its guests' processes, the sandbox, the emulator.
LAB_PROGRAMS = ("linux", "uml", "vmlinux", "bwrap", "walls", "qemu")
#: How long a lab that was told to end may take to be gone.
END_DEADLINE_S = 5.0

hypothesis.settings.register_profile(
    "any machine",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    print_blob=True,
)
hypothesis.settings.load_profile("any machine")
# A test neither finds the cells of another one nor leaves any: who tests the store names one.
os.environ["GROUNDTRUTH_STORE"] = "off"
# A shell that starts a command in the background lets it ignore interrupts, and so its children.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by its folder, before tests are chosen by their marks."""
    for item in items:
        match item.nodeid.split("/"):
            case ["tests", folder, *_]:
                item.add_marker(MARKS[folder])


class Lots(LoadScopeScheduling):  # type: ignore[misc]
    """Gives whole lots to the processes that run tests side by side."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        own = file.rpartition("/")[0] if file.startswith("tests/lab/") else file
        return next((name for folder, name in LOTS.items() if file.startswith(folder)), own)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Lots:
    """Return what deals tests out to processes side by side.

    xdist_group is a mark for that, but with pytest 9.2 it does nothing: xdist 3.8 writes it into a
    test's name, which pytest makes anew.
    """
    # In the order they are found in: else lots of many tests come first, of however short ones.
    config.option.loadscopereorder = False
    return Lots(config, log)


def _fail_instead(report: Report) -> Report:
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and CI allows no skip: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of a test into its failure."""
    return _fail_instead((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn the skip of a whole file into its failure."""
    return _fail_instead((yield))


def _processes() -> Iterator[tuple[int, int, str]]:
    """Yield (pid, parent's pid, name) of every process that runs; zombies have ended."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        pid, _, rest = text.partition(" (")
        name, _, fields = rest.rpartition(") ")
        state, parent = fields.split()[:2]
        if state != "Z":
            yield int(pid), int(parent), name


def lab_processes(root_pid: int) -> dict[int, str]:
    """Return the lab processes among the descendants of ``root_pid``: pid -> name."""
    running = {pid: (parent, name) for pid, parent, name in _processes()}

    def descends(pid: int) -> bool:
        while pid in running:
            pid = running[pid][0]
            if pid == root_pid:
                return True
        return False

    return {
        pid: name
        for pid, (_, name) in running.items()
        if name.lower().startswith(LAB_PROGRAMS) and descends(pid)
    }


def _labs_left() -> dict[int, str]:
    """Return the labs' processes that are there after a moment in which they may end."""
    deadline = time.monotonic() + END_DEADLINE_S
    while (left := lab_processes(os.getpid())) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


@pytest.fixture
def labs_left() -> Callable[[], dict[int, str]]:
    """What waits for the end of labs that are told to end, and returns those that do not."""
    return _labs_left


@pytest.fixture(scope="session", autouse=True)
def _no_lab_outlives_the_tests() -> Iterator[None]:
    # Orphans become our children instead of init's, so they are still found as descendants.
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    yield
    if left := _labs_left():
        pytest.fail(f"lab processes outlive the tests: {left}; who started them must end them")


@pytest.fixture
def cells_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run and parse cells in this process."""
    from tests.support.fake_lab import each_here  # when needed: it loads much of the project

    monkeypatch.setattr("testbed.machine.workers.each", each_here)
