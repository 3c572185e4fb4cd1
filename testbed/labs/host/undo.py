"""What this machine was changed in, written down before it is, so that it can always be undone.

The journal lies in a folder in memory: it goes where the changes go, with a restart. Invariants: a
change is in the journal before it is made; an undo that is done twice does no harm; what somebody
else changed since is left as it is, and told. Who holds the folder's lock is the only one to change
anything; a journal that nobody holds is a killed run's.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from collectors.recording.trace_recorder import INSTANCE, TRACING
from model import plain_files
from model.errors import RunError, UnsupportedError
from testbed.labs.host import kernel_modules

FOLDER = Path("/run/groundtruth")
JOURNAL = "host-lab.json"
#: Each cell holds it as long as anything of it runs, also when its starter was killed.
CELLS = "cells"
CELLS_END_WITHIN_S, AGAIN_S = 30.0, 0.1
SYSCTLS = Path("/proc/sys")
FOLDER_MODE = 0o700


@dataclass(frozen=True)
class Places:
    """Where things lie on a machine; tests have others."""

    folder: Path = FOLDER
    sysctls: Path = SYSCTLS
    tracing: Path = TRACING


@dataclass(kw_only=True)
class Journal:
    """What there was before: values of sysctls with ours, and the names of loaded modules."""

    sysctls: dict[str, tuple[str, str]] = field(default_factory=dict)
    modules_before: list[str] | None = None
    modules_ours: list[str] = field(default_factory=list)

    def write(self, places: Places) -> None:
        """Write it down, whole or not at all."""
        plain_files.write_text(places.folder / JOURNAL, json.dumps(asdict(self)) + "\n")


def read(places: Places) -> Journal | None:
    """Return the journal that is there.

    Raises:
        RunError: it cannot be read; it is left as it is.
    """
    path = places.folder / JOURNAL
    try:
        found = json.loads(plain_files.read_text(path))
        return Journal(
            sysctls={name: (str(was), str(ours)) for name, (was, ours) in found["sysctls"].items()},
            modules_before=found["modules_before"],
            modules_ours=list(found["modules_ours"]),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(
            "cannot read what a run changed", where=str(path), got=str(error),
            hint="a restart of the machine undoes all of it",
        ) from error  # fmt: skip


@contextlib.contextmanager
def alone(places: Places) -> Iterator[None]:
    """Hold the lock; the folder is removed afterwards if there is nothing in it.

    Raises:
        UnsupportedError: another run of this lab holds it, or only root may; or cells of a killed
            run do not end.
    """
    try:
        places.folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
        handle = os.open(places.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UnsupportedError(
            "cannot keep what a run changes", where=str(places.folder), got=str(error)
        ) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            same = os.fstat(handle).st_ino == places.folder.stat().st_ino
        except (BlockingIOError, FileNotFoundError):
            same = False
        if not same:
            raise UnsupportedError(
                "another run of the host or remote lab is under way on this machine",
                where=str(places.folder), hint="wait for its end, or interrupt it",
            )  # fmt: skip
        _await_cells(places)
        try:
            yield
        finally:
            (places.folder / CELLS).unlink(missing_ok=True)
            for cut_off in places.folder.glob(".*.json*"):  # its writer was killed
                cut_off.unlink()
            with contextlib.suppress(OSError):
                places.folder.rmdir()
    finally:
        os.close(handle)


@contextlib.contextmanager
def cell_runs(places: Places) -> Iterator[int]:
    """Give a descriptor for a cell's first process to inherit: who cleans waits for its end."""
    handle = os.open(places.folder / CELLS, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
        yield handle
    finally:
        os.close(handle)


def _await_cells(places: Places) -> None:
    """Wait until nothing of a killed run's cells is left, which ends soon after its starter."""
    deadline_s = time.monotonic() + CELLS_END_WITHIN_S
    with (places.folder / CELLS).open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline_s:
                    raise UnsupportedError(
                        "cells of a killed run are still running", where=str(places.folder),
                        hint="end what is in a network namespace with the host name lab",
                    ) from None  # fmt: skip
                time.sleep(AGAIN_S)
            else:
                return


def set_sysctls(wanted: Mapping[str, str], journal: Journal, places: Places) -> None:
    """Raise limits that all networks of the machine share to these; as ``net/core/rmem_max``.

    Limits are whole numbers, several of some; one that is higher already stays.

    Raises:
        UnsupportedError: the kernel has no such setting, or refuses the value.
    """
    for name, value in wanted.items():
        path = places.sysctls / name
        try:
            was = " ".join(path.read_text().split())
            if (raised := _raised(was, value)) != was:
                journal.sysctls[name] = (was, raised)
                journal.write(places)
                path.write_text(f"{raised}\n")
        except (OSError, ValueError) as error:
            raise UnsupportedError(
                f"cannot set sysctl {name}", wanted=value, got=str(error)
            ) from error


def _raised(was: str, wanted: str) -> str:
    """Return the higher of each limit.

    >>> _raised("4096 131072 9", "4096 65536 10")
    '4096 131072 10'
    """
    pairs = zip(was.split(), wanted.split(), strict=True)
    return " ".join(str(max(int(one), int(other))) for one, other in pairs)


def load_modules(journal: Journal, places: Places) -> None:
    """Load what the lab needs and this kernel has as modules.

    Raises:
        UnsupportedError: one is not there, or is refused.
    """
    journal.modules_before = sorted(kernel_modules.loaded())
    journal.modules_ours = kernel_modules.with_those_they_need()
    journal.write(places)
    kernel_modules.load()


def undo(places: Places, say: Callable[[str], None]) -> None:
    """Undo all that the journal tells, and remove it; the lock must be held.

    Raises:
        RunError: something could not be undone; the journal stays.
    """
    journal = read(places)
    if journal is None:
        return
    refused = [
        *_undo_sysctls(journal, places, say),
        *_end_recordings(places, say),
    ]
    _unload_modules(journal, say)
    if refused:
        raise RunError(
            "not all that a run changed could be undone", where=str(places.folder / JOURNAL),
            got="; ".join(refused), hint="groundtruth clean --lab host, or remote, tries again",
        )  # fmt: skip
    (places.folder / JOURNAL).unlink()


def _undo_sysctls(journal: Journal, places: Places, say: Callable[[str], None]) -> list[str]:
    """Give sysctls back what they had; return what is refused."""
    refused = []
    for name, (was, ours) in reversed(journal.sysctls.items()):
        path = places.sysctls / name
        try:
            now = " ".join(path.read_text().split())
            if now == ours:
                path.write_text(f"{was}\n")
                say(f"sysctl {name}: {was} again")
            elif now != was:
                say(f"sysctl {name}: left at {now}, which somebody else set")
        except FileNotFoundError:
            continue  # it went with its module
        except OSError as error:
            refused.append(f"sysctl {name}: {error}")
    return refused


def _end_recordings(places: Places, say: Callable[[str], None]) -> list[str]:
    """Remove the kernel's recordings of cells that were killed; return what is refused."""
    refused = []
    for instance in sorted((places.tracing / "instances").glob(f"{INSTANCE}-*")):
        try:
            instance.rmdir()
            say(f"recording {instance.name}: removed")
        except OSError as error:
            refused.append(f"{instance}: {error}")
    return refused


def _unload_modules(journal: Journal, say: Callable[[str], None]) -> None:
    """Unload the modules that were not there before and are ours, as far as the kernel lets go."""
    if journal.modules_before is None:
        return
    gone, kept = kernel_modules.unload(set(journal.modules_ours) - set(journal.modules_before))
    if gone:
        say(f"modules unloaded: {' '.join(gone)}")
    if kept:
        say(f"modules that stay until the machine is restarted: {' '.join(kept)}")
