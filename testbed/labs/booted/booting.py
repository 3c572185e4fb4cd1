"""A boot of a lab run to its end, and what went wrong if it did not end well.

Whatever kernel boots, init, the agent and the walls say the same words on its console, and the
errors made of them are the same.
"""

from __future__ import annotations

import re
import resource
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from model import run_folder
from model.cell import Limits
from model.errors import MachineError, RunError, UnsupportedError
from testbed.labs.confinement import allowance, lab_user
from testbed.labs.confinement.allowance import Allowance
from testbed.labs.confinement.supervise import LOOK_S, Ending, supervise
from testbed.labs.contract import accept
from testbed.labs.contract.lab import Ran
from testbed.machine import contents
from testbed.machine.process import tail

#: What init and walls say of how a lab ended.
ENDS = r"^lab: (virtual-time limit .+?|agent .+?|init: .+?|walls: .+?)\r?$"
#: Whoever ends a kernel in the lab has it say so; one that was killed says nothing.
ENDED_EARLY = "the lab's kernel ended before its agent"
RUNS_WILD = "a cell of this size needs far less; a program in the lab runs wild"
#: What is said where the host gives it no more (EAGAIN, EMFILE), of what, by which limit.
REFUSALS = (
    ("namespace failed: Resource temporarily unavailable", "processes", resource.RLIMIT_NPROC),
    ("clone failed, errno = 11", "processes", resource.RLIMIT_NPROC),
    ("failed, errno = 24", "open files", resource.RLIMIT_NOFILE),
)
#: Of a kernel that has no page left for what asks for one: init has it end then.
OUT_OF_MEMORY = "Kernel panic - not syncing: Out of memory"
#: Without the site module, which only costs time here: init names the two folders needed.
AGENT = ("/usr/bin/python3", "-S", "-m", "testbed.guest.agent")
#: The same, with its modules out of one file (boot/at_once.py).
AGENT_AT_ONCE = ("/usr/bin/python3", "-SP", "/gt/code/at_once.pyc")

#: Of the agent, in every lab: where one boots, init (boot/init.c) gives it the same.
ENVIRONMENT = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/tmp",
    "LC_ALL": "C.UTF-8",
    "PYTHONPATH": "/gt/code/lib:/usr/lib/python3/dist-packages",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
}


@dataclass(frozen=True, kw_only=True)
class Boot:
    """One boot: the seed of all randomness, when to give up, what to take, and what to run.

    ``shown`` are folders it sees besides, by their place below ``/gt``; it cannot write there.
    """

    seed: int
    limits: Limits
    allowed: Allowance = allowance.LEAST
    program: tuple[str, ...] = AGENT
    shown: Mapping[str, Path] = field(default_factory=dict)


def run_to_end(
    argv: Sequence[str],
    boot: Boot,
    folder: Path,
    cancelled: threading.Event,
    *,
    as_root: bool = False,
    held: Sequence[int] = (),
    look_s: float = LOOK_S,
) -> Ran:
    """Boot with ``folder`` as the cell, wait, and return what that took.

    Unless it runs ``as_root`` of this machine, the folder is lent to the sandbox's user. What runs
    keeps the descriptors ``held`` open to its end; what it has written is measured every
    ``look_s``.

    Raises:
        RunError: the guest panicked, hung, spun, was killed, or its program failed. The
            message names the phase and the console's last lines, which are also kept. A
            :class:`MachineError` if it was killed, or this machine gave it too little.
    """
    console = folder.parent / run_folder.CONSOLE  # a guest cannot reach it
    began_s = time.monotonic()
    if not as_root:
        lab_user.lend(folder, lab_user.of_sandbox())
    ending = supervise(
        argv,
        folder=folder,
        console=console,
        allowed=boot.allowed,
        deadline_s=began_s + boot.limits.wall_s,
        cancelled=cancelled,
        held=held,
        look_s=look_s,
    )
    wall_s = time.monotonic() - began_s
    problem = _problem(folder, console, boot, ending, cancelled.is_set())
    if problem:
        raise problem
    return Ran(wall_s=wall_s, cpu_s=ending.cpu_s, peak_memory_bytes=ending.peak_memory_bytes)


def built_first(root: Path, code: Path) -> dict[str, str]:
    """Return what of an identity is known before any kernel: the digests of image and code."""
    return {"image_digest": contents.digest(root.parent), "code_digest": contents.digest(code)}


def check_parts(parts: Iterable[Path], *, thorough: bool) -> None:
    """Raise :class:`UnsupportedError` naming files in the cache that are not as they were built."""
    found = [
        (part.parent, f"{part.name}/{line}")
        for part in parts
        for line in contents.changed(part, thorough=thorough)
    ]
    if found:
        raise UnsupportedError(
            "the cached lab is not as it was built",
            where=str(found[0][0]),
            got=contents.named([line for _, line in found]),
            hint="make clean-cache removes it; the next run builds it again",
        )


def _problem(
    folder: Path, console: Path, boot: Boot, ending: Ending, cancelled: bool
) -> RunError | None:
    text = console.read_text(errors="replace")
    phases = re.findall(r"^lab: phase (.+?)\r?$", text, re.MULTILINE)
    phase = phases[-1] if phases else "boot"
    where = f"cell {folder.parent.name}, phase {phase}"
    if cancelled:
        return RunError("interrupted", where=where)
    if ending.excess:
        return RunError(
            ending.excess.what,
            where=where,
            wanted=ending.excess.wanted,
            got=ending.excess.got,
            hint=RUNS_WILD,
        )
    if not ending.by_itself:
        return _did_not_end(boot.limits.wall_s, ending, where, tail(console))
    if re.search(r"^lab: agent exited 0\r?$", text, re.MULTILINE):
        return None
    for words, what, limit in REFUSALS:
        if words in text:
            return _ran_out_of(what, limit, boot.allowed, where, tail(console))
    message = accept.error_message(folder)
    if message:
        return RunError(message, where=where)
    if OUT_OF_MEMORY in text:
        return RunError(
            "the lab ran out of memory", where=where,
            wanted=f"at most {boot.allowed.memory_bytes // allowance.MIB} MiB", got=tail(console),
            hint=RUNS_WILD,
        )  # fmt: skip
    found = re.search(ENDS, text, re.MULTILINE)
    if "Kernel panic" in text:
        what = "the lab's kernel panicked"
    else:
        what = found.group(1) if found else ENDED_EARLY
    silent = what == ENDED_EARLY and not re.search(r"^reboot: ", text, re.MULTILINE)
    return (MachineError if silent else RunError)(what, where=where, got=tail(console))


def _did_not_end(wall_s: float, ending: Ending, where: str, last_words: str) -> RunError:
    """Return an error of the machine if that gave the lab little of a core."""
    wanted = f"within {wall_s:.0f} s of wall-clock time"
    if ending.was_starved(wall_s):
        return MachineError(
            "the lab did not end", where=where, wanted=wanted, got=last_words,
            hint=f"this machine gave it {ending.cpu_s:.0f} s of a core's time: fewer cells at once,"
            " --jobs (JOBS=), or less besides",
        )  # fmt: skip
    return RunError(
        "the lab did not end", where=where, wanted=wanted, got=last_words,
        hint="a program polls without sleeping, which stops the virtual clock, or this machine is"
        " far too busy",
    )  # fmt: skip


def _ran_out_of(what: str, limit: int, allowed: Allowance, where: str, last_words: str) -> RunError:
    may = {"processes": allowed.processes, "open files": allowed.open_files}[what]
    granted = resource.getrlimit(limit)[1]
    hint, kind = RUNS_WILD, RunError
    if granted != resource.RLIM_INFINITY and granted < may:
        hint = f"this machine grants {granted} (ulimit -H), a cell of this size may need {may}"
        may, kind = granted, MachineError
    return kind(
        f"the lab ran out of {what}",
        where=where,
        wanted=f"at most {may} on the host",
        got=last_words,
        hint=hint,
    )
