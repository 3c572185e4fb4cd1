"""Run on a machine of its own: a run of the host lab ended in many ways, and what is left of it.

endings.py STUDY SEED KILLS: writes differences, by how the run was ended, as JSON to its output.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from model.cell import cell_json
from testbed.command.cli import command_status
from testbed.labs.host.kind import HOST
from testbed.labs.host.undo import FOLDER, JOURNAL
from testbed.planning.plan import make_plan
from testbed.points.load_study import load_study

#: What a kernel changes by itself.
VOLATILE = re.compile(
    r"kernel/(random/.*|ns_last_pid|pty/nr|perf_.*)|fs/((dentry|inode)-state|(inode|file|aio)-nr)"
)
RESULTS = Path("/tmp/results")
#: How long a killed run's processes and networks may take to end.
ENDED_WITHIN_S = 20.0
State = dict[str, Any]


def texts(folder: Path, skip: re.Pattern[str] | None = None) -> dict[str, str]:
    """Return the content of every file that can be read below a folder of a kernel's."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            short = str(path.relative_to(folder))
            if skip and skip.fullmatch(short):
                continue
            try:
                found[short] = path.read_text(errors="replace")
            except OSError:
                continue
    return found


def said(*argv: str) -> str:
    """Return what a program of the image says."""
    argv = ("chroot", os.environ["IMAGE"], *argv)
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def processes() -> tuple[list[str], list[str]]:
    """Return the command lines of all programs, and the namespaces they are in."""
    found, namespaces = [], set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            argv = (entry / "cmdline").read_bytes()
            if not argv:
                continue  # the kernel's own
            namespaces |= {str(path.readlink()) for path in (entry / "ns").iterdir()}
            found.append(argv.decode(errors="replace"))
        except OSError:
            continue
    return sorted(found), sorted(namespaces)


def state() -> State:
    """Return all that a run might change of a machine."""
    running, namespaces = processes()
    tracing = Path("/sys/kernel/tracing")
    return {
        "processes": running,
        "namespaces": namespaces,
        "links": said("ip", "-d", "link"),
        "addresses": said("ip", "address"),
        "routes": said("ip", "route", "show", "table", "all"),
        "queues": said("tc", "qdisc"),
        "sysctls": texts(Path("/proc/sys"), VOLATILE),
        "modules": sorted(line.split()[0] for line in _lines("/proc/modules")),
        "mounts": _lines("/proc/self/mounts"),
        "recordings": sorted(path.name for path in (tracing / "instances").iterdir()),
        "tracing": texts(tracing / "options"),
        "events": (tracing / "set_event").read_text(),
        "files": sorted(
            str(path)
            for top in ("/run", "/tmp", "/dev/shm", "/var/tmp")
            for path in Path(top).rglob("*")
            if not path.is_relative_to(RESULTS)
        ),
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except FileNotFoundError:
        return []


def difference(before: State, after: State) -> dict[str, Any]:
    """Return what is not as it was."""
    found: dict[str, Any] = {}
    for what, then in before.items():
        now = after[what]
        if isinstance(then, dict) and isinstance(now, dict):
            changed = {k: (then.get(k), now.get(k)) for k in {*then, *now}}
            changed = {k: pair for k, pair in changed.items() if pair[0] != pair[1]}
        else:
            changed = {"was": then, "is": now} if then != now else {}
        if changed:
            found[what] = changed
    return found


def settled(before: State) -> dict[str, Any]:
    """Return what is not as it was once all that ends by and by has had time to."""
    deadline_s = time.monotonic() + ENDED_WITHIN_S
    while (left := difference(before, state())) and time.monotonic() < deadline_s:
        time.sleep(0.5)  # the kernel takes networks apart by and by
    return left


def whole(study: str) -> int:
    """Become the project's command with a study."""
    options = ["--lab", "host", "--reps", "1", "--no-sensitivity", "-D", str(RESULTS)]
    os.execv(sys.executable, [sys.executable, "-m", "testbed", "run", study, *options])


def cells(study: str) -> int:
    """Run the cells of a study in this process, and parse nothing."""
    lab = HOST.ready([HOST.kernel_instead("")], lambda *_: None)
    plan = make_plan(
        load_study(Path(study), kernel=HOST.kernel_instead("")), seeds=[1], lab={"name": "host"},
        of_kernel=lab.describe, lab_kind=HOST, sensitivity=False,
    )  # fmt: skip
    with lab.prepared():
        for planned in plan.cells:
            folder = RESULTS / planned.id / "guest"
            folder.mkdir(parents=True)
            (folder / "cell.json").write_text(cell_json(planned.cell))
            lab.run(planned.cell, folder, threading.Event())
    return 0


def begin(act: Callable[[str], int], study: str) -> int:
    """Begin to act in a session of its own; return its process."""
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    log = os.open(RESULTS / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os._exit(act(study))


def ended(
    act: Callable[[str], int], study: str, moment_s: float, number: int, before: State
) -> tuple[dict[str, Any], int, str]:
    """End a run by a signal; return what is left of it, its status and words.

    ``moment_s`` is since it began, or if negative since it first changed the machine.
    """
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir()
    pid = begin(act, study)
    while moment_s < 0 and not (FOLDER / JOURNAL).exists():
        time.sleep(0.05)
    if number:
        time.sleep(abs(moment_s))
        os.kill(pid, number)
    _, status = os.waitpid(pid, 0)
    if number == signal.SIGKILL:  # at once: its cell may still be ending
        command_status(["clean", "--lab", "host"])
    left = settled(before)
    log = (RESULTS / "log").read_text() if (RESULTS / "log").exists() else ""
    return left, os.waitstatus_to_exitcode(status), log


def main() -> None:
    """End runs in all ways, and say what was left of each."""
    study, seed, kills = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    draw = random.Random(seed)
    found: list[dict[str, Any]] = []

    def end(act: Callable[[str], int], part: float = 0.0, number: int = 0) -> None:
        began_s = time.monotonic()
        moment_s = part * lasts_s.get(act, 0.0) if part >= 0 else part
        left, status, log = ended(act, study, moment_s, number, before)
        lasts_s.setdefault(act, time.monotonic() - began_s)
        name = signal.Signals(number).name if number else "by itself"
        how = f"{act.__name__}: {name} at {part:.2f}"
        found.append({"how": how, "status": status, "left": left, "log": log[-2000:]})
        Path(os.environ["OUT"], "endings.json").write_text(json.dumps(found))

    lasts_s: dict[Callable[[str], int], float] = {}
    before = state()
    end(whole)
    end(cells)
    end(whole, -2.0, signal.SIGTERM)
    end(whole, -0.1, signal.SIGINT)
    for i in range(kills):
        # Half of the moments are early, where a machine is changed.
        end(whole if i % 7 == 0 else cells, draw.random() ** (1 + 2 * (i % 2)), signal.SIGKILL)


if __name__ == "__main__":
    main()
