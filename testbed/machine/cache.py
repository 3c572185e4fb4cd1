"""The cache of things that are built once: image, kernels, code bundles, host tools.

Invariants: an entry's folder name ends in the hash of all its inputs; an entry exists either
whole or not at all (it is built beside its place and renamed); two processes never build the
same entry at once. Nothing outside the cache folder is written.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TextIO

from model.errors import RunError, UnsupportedError
from testbed.machine import homes, room, scratch, trees
from testbed.machine.console import words
from testbed.machine.process import namespaces, output_of

#: The beginning of the names of folders in which something is built.
BUILDING = ".building-"


def root() -> Path:
    """Return the cache folder: ``$XDG_CACHE_HOME/groundtruth`` or ``~/.cache/groundtruth``."""
    return homes.base("XDG_CACHE_HOME", ".cache") / "groundtruth"


def digest_of(*parts: str | bytes) -> str:
    """Return 16 hex digits over the parts, in order, each with its length."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(f"{len(data)}:".encode() + data)
    return state.hexdigest()[:16]


def files_digest(files: Iterable[tuple[str, Path]]) -> str:
    """Return the digest of named files' contents; the order given does not matter."""
    parts: list[str | bytes] = []
    for name, path in sorted(files):
        parts += [name, path.read_bytes()]
    return digest_of(*parts)


def need_space(folder: Path, wanted_bytes: int, what: str) -> None:
    """Raise :class:`UnsupportedError` where ``folder``'s disk has not ``wanted_bytes`` free."""
    free_bytes = room.free_bytes(folder)
    if free_bytes < wanted_bytes:
        raise UnsupportedError(
            f"no disk space for {what}",
            where=str(folder),
            wanted=f"{wanted_bytes / 1e9:.1f} GB free",
            got=f"{free_bytes / 1e9:.1f} GB",
            hint="free some space, or set XDG_CACHE_HOME to a larger disk",
        )


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the cache's lock of that name; a second process says so and waits.

    Its file is gone afterwards.
    """
    folder = root()
    place = folder / f".{name}.lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = _held(place, name)
    except OSError as error:
        raise UnsupportedError(
            "cannot write to the cache",
            where=str(folder),
            got=str(error),
            hint="set XDG_CACHE_HOME to a folder of yours",
        ) from error
    with handle:
        try:
            yield
        finally:
            place.unlink(missing_ok=True)  # before it is given back: who waits for it looks


def _held(place: Path, name: str) -> TextIO:
    """Return a lock's file once it is held and still the one of that name."""
    told = False
    while True:
        handle = place.open("w")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not told:  # a build takes minutes
                words().print(f"waiting for another process, which builds {name}", soft_wrap=True)
                told = True
            fcntl.flock(handle, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle.fileno()), place.stat()):
                return handle
        handle.close()


def entry(kind: str, key: str, build: Callable[[Path], None]) -> Path:
    """Return the folder ``<kind>-<key>``, building it if it is not there.

    ``build`` gets an empty folder on the same file system; if it raises or the process dies, no
    entry appears. Left-overs of killed builds are removed by the next build of anything.
    """
    place = root() / f"{kind}-{key}"
    if place.is_dir():
        return place
    with locked(kind):
        if place.is_dir():
            return place
        with scratch.scratch(root(), BUILDING, remove_left) as folder:
            folder.chmod(0o755)
            try:
                build(folder)
                folder.rename(place)
            except OSError as error:
                raise RunError(f"cannot build {kind}", where=str(place), got=str(error)) from error
    return place


def remove_left(folder: Path) -> None:
    """Remove what a build left; what another user owns stays.

    Raises:
        RunError: something is mounted in it; see :func:`testbed.machine.trees.remove`.
    """
    try:
        trees.remove(folder)
    except OSError:
        # A user's builds leave folders of the user's other ids, which only their root can empty.
        if within := namespaces():
            with contextlib.suppress(RunError, UnsupportedError):
                output_of([*within, "rm", "-rf", "--one-file-system", "--", str(folder)])
