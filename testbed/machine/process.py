"""Run a host program to its end, or to a deadline, leaving no process behind.

Every program runs in its own process group; on a deadline or an interrupt the whole group is
ended, TERM first and KILL after a grace time. A guard beside it (``guard.py``) ends all that came
from it, also when this process is killed; what builds as root gets mounts and processes of its own.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.errors import RunError, UnsupportedError

GRACE_S = 1.0
#: How long a guard may take to end what is left, on a machine that has other things to do.
GUARD_S = 30.0
POLL_S = 0.5
#: Of a log so much is looked at to tell how far a build is.
MOST_LOOKED_BYTES = 16 << 20
GUARD = Path(__file__).with_name("guard.py")
MOUNTS = Path("/proc/self/mountinfo")

#: How far a build is told to be at most before it has ended: how long its last steps take, which
#: say little, its log does not tell.
MOST_TOLD_FRAC = 0.99
#: Told now and then how far a build is: what is being built, and the part done from 0 to 1.
BuildReport = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True)
class Watch:
    """How to tell a build's progress by its log: lines so far against lines expected."""

    what: str
    expected_lines: int
    report: BuildReport

    def look(self, log: Path) -> None:
        """Report how far the build is; never quite the end, which only its exit tells."""
        with log.open("rb") as file:
            lines = file.read(MOST_LOOKED_BYTES).count(b"\n")
        self.report(self.what, min(MOST_TOLD_FRAC, lines / self.expected_lines))


def end_group(child: subprocess.Popen[bytes]) -> None:
    """End a child and everything in its process group."""
    for number, grace_s in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)
        try:
            child.wait(timeout=grace_s)
        except subprocess.TimeoutExpired:
            continue
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        return


@functools.cache
def namespaces() -> tuple[str, ...]:
    """Return what a command begins with to get mounts and processes of its own; maybe nothing.

    All of them end with their first process. A user is root inside, with the ids of
    ``/etc/subuid`` for the others. Empty where this kernel or container refuses that.
    """
    own = ["unshare", "--mount", "--pid", "--fork"]
    if os.geteuid() != 0:
        own += ["--user", "--map-root-user", "--map-auto"]
    kinds = [["--propagation", "private", "--mount-proc"], ["--propagation", "private"]]
    if " shared:" not in MOUNTS.read_text():  # in a plain chroot nothing can be made private
        kinds.append(["--propagation", "unchanged"])
    for kind in kinds:
        with contextlib.suppress(RunError, UnsupportedError):
            output_of([*own, *kind, "--", "true"])
            return (*own, *kind, "--")
    return ()


class StatusError(RunError):
    """A program ended by itself, with a status that says that it failed."""


def run_logged(
    argv: Sequence[str],
    *,
    log: Path,
    what: str,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    watch: Watch | None = None,
    within: Sequence[str] = (),
    check: Callable[[int], None] | None = None,
) -> None:
    """Run a program with its output in ``log``; raise naming the log's last lines if it fails.

    ``check`` is called now and then with its process, and ends it by an error of its own;
    ``within`` is what :func:`namespaces` returned, for a program that mounts.
    """
    deadline_s = time.monotonic() + timeout_s
    env = os.environ if env is None else env
    if not shutil.which(argv[0], path=env.get("PATH", os.defpath)):
        raise UnsupportedError(f"cannot start {argv[0]} ({what})", got="no such program")
    # Nobody else has the writing end, so the guard sees this process end, however it does.
    watched, lifeline = os.pipe()
    guarded = [*within, sys.executable, "-I", "-S", str(GUARD), str(watched), *argv]
    with contextlib.ExitStack() as held, log.open("ab") as out:
        held.callback(os.close, lifeline)
        try:
            child = subprocess.Popen(
                guarded,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=dict(env),
                start_new_session=True,
                pass_fds=[watched],
            )
        except OSError as error:
            raise UnsupportedError(f"cannot start {argv[0]} ({what})", got=str(error)) from error
        finally:
            os.close(watched)
        try:
            status = _watched(child, deadline_s, log, watch, check)
        finally:
            _end_guarded(child, held)
    if status is None:
        raise RunError(f"{what} did not end", wanted=f"within {timeout_s:.0f} s", got=tail(log))
    if status != 0:
        raise StatusError(f"{what} failed with status {status}", got=tail(log))


def _end_guarded(child: subprocess.Popen[bytes], lifeline: contextlib.ExitStack) -> None:
    """Let a guarded program end by itself for a moment, then let its guard end what is left."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=GRACE_S)
    lifeline.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=GUARD_S)
    end_group(child)


def _watched(
    child: subprocess.Popen[bytes], deadline_s: float, log: Path, watch: Watch | None,
    check: Callable[[int], None] | None,
) -> int | None:  # fmt: skip
    """Wait for the child, reporting now and then; return its status, or None at the deadline."""
    while (left_s := deadline_s - time.monotonic()) > 0:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.wait(timeout=min(left_s, POLL_S))
        if check:
            check(child.pid)
        if watch:
            watch.look(log)
    return None


def ending(log: Path, most_bytes: int) -> bytes:
    """Return the last bytes of a log, of which a program may have written any number."""
    with log.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - most_bytes))
        return file.read(most_bytes)


def tail(log: Path, lines: int = 15) -> str:
    """Return the last lines of a log as text for a message."""
    text = ending(log, 8192).decode(errors="replace")
    return "\n  " + "\n  ".join(text.strip().splitlines()[-lines:])


def output_of(argv: Sequence[str], timeout_s: float = 30.0) -> str:
    """Return a short program's standard output; raise :class:`RunError` if it fails."""
    try:
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except OSError as error:
        raise UnsupportedError(f"cannot start {argv[0]}", got=str(error)) from error
    except subprocess.TimeoutExpired as error:
        raise RunError(f"{argv[0]} did not end", wanted=f"within {timeout_s:.0f} s") from error
    if done.returncode != 0:
        raise RunError(f"{' '.join(argv)} failed", got=done.stderr.strip()[-500:])
    return done.stdout
