"""Entries of the cache in one file, for machines that cannot build them: no mirror, no network.

Invariants: what is taken in has the digest that was written down for it, or nothing of it is kept;
nothing in a file is written outside the entry it is of; an entry that is there already is left
alone; the same entries give the same file, to the byte.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import re
import stat
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol, cast

from model.errors import RunError, StudyError
from testbed.machine import cache, contents
from testbed.machine.process import BuildReport

FORMAT = 1
MANIFEST = "groundtruth-lab.json"
MANIFEST_BYTES = 1 << 20
#: An entry's name in the cache: what it is, and the hash of what it is made of.
NAME = re.compile(r"[a-z][a-z0-9.+-]{0,60}-[0-9a-f]{16}")
COMPRESSION = 6
_UNREADABLE = (tarfile.TarError, EOFError, zlib.error, OSError, ValueError, KeyError, TypeError)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An entry: its name in the cache, the digest of its contents, and what they take on a disk."""

    name: str
    digest: str
    size_bytes: int


def pack(parts: Sequence[Path], target: Path, report: BuildReport) -> None:
    """Write entries of the cache into a file, which appears whole or not at all.

    Raises:
        RunError: an entry is not as it was built, or the file cannot be written.
    """
    entries = []
    for part in parts:
        if changed := contents.changed(part, thorough=True):
            raise RunError(
                "not as it was built",
                where=str(part),
                got="; ".join(changed[: contents.MOST_NAMED]),
                hint="make clean-cache; the next run builds it again",
            )
        size = sum(path.lstat().st_size for path in _files(part))
        entries.append(Entry(name=part.name, digest=contents.digest(part), size_bytes=size))
    whole = sum(entry.size_bytes for entry in entries) or 1
    partial = target.with_name(f".{target.name}.partial")
    done = 0
    try:
        with (
            partial.open("wb") as raw,
            gzip.GzipFile("", "wb", COMPRESSION, raw, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            said = {"format": FORMAT, "entries": [asdict(entry) for entry in entries]}
            text = json.dumps(said, indent=1).encode()
            tar.addfile(_described(MANIFEST, size=len(text)), io.BytesIO(text))
            for part in parts:
                for path in _files(part):
                    report("the file of the lab", done / whole)
                    done += _add(tar, f"{part.name}/{path.relative_to(part)}", path)
        partial.replace(target)
    except OSError as error:
        raise RunError("cannot write the file", where=str(target), got=str(error)) from error
    finally:
        partial.unlink(missing_ok=True)


class Readable(Protocol):
    """What is read once, from its beginning."""

    def read(self, count: int, /) -> bytes:
        """Return so many bytes, fewer only at the end."""


def unpack(source: Path, report: BuildReport) -> list[tuple[str, bool]]:
    """Put what a file holds into the cache; return each entry's name, and whether it was new.

    Raises:
        StudyError: it is no file that was packed so, or is damaged; nothing of the damaged entry
            and those after it is kept.
        UnsupportedError: there is no space for it.
    """
    with _readable(str(source)), tarfile.open(source, "r:gz") as tar:
        members = _Members(tar)
        return _take_all(members, _manifest(members), report)


def unpack_from(source: Readable, wanted: Mapping[str, str], report: BuildReport) -> None:
    """Put what is read into the cache, if it is what is wanted: names and digests of entries.

    Of an entry that is there already no more is read, if it is the last. Raises as :func:`unpack`,
    and what ``source`` raises.
    """
    with _readable("what arrives"), tarfile.open(fileobj=_as_file(source), mode="r|gz") as tar:
        members = _Members(tar)
        entries = _manifest(members)
        if (told := {entry.name: entry.digest for entry in entries}) != dict(wanted):
            raise ValueError(f"{told}, wanted {dict(wanted)}")
        _take_all(members, entries, report)


def _as_file(source: Readable) -> BinaryIO:
    return cast("BinaryIO", source)  # of a stream nothing else is asked


@contextlib.contextmanager
def _readable(where: str) -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
        raise StudyError(
            "no lab can be read from it", where=where,
            wanted="a file that groundtruth lab export wrote", got=f"{error}",
        ) from error  # fmt: skip


def _take_all(
    members: _Members, entries: Sequence[Entry], report: BuildReport
) -> list[tuple[str, bool]]:
    cache.need_space(cache.root(), sum(entry.size_bytes for entry in entries), "a lab")
    return [(entry.name, _take_in(members, entry, report)) for entry in entries]


class _Members:
    """The members of an archive in turn; the next can be looked at before it is taken."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self.tar = tar
        self._rest = iter(tar)
        self.next = next(self._rest, None)

    def go_on(self) -> None:
        """Look for the next member; the bytes of this one are read no more."""
        self.next = next(self._rest, None)

    def of(self, name: str) -> Iterator[tarfile.TarInfo]:
        """Yield the members of one entry, which stand together; those before it are passed over."""
        while self.next is not None and not self.next.name.startswith(f"{name}/"):
            self.go_on()
        while self.next is not None and self.next.name.startswith(f"{name}/"):
            # Its bytes are read before the next member is looked for.
            yield self.next
            self.go_on()


def _manifest(members: _Members) -> list[Entry]:
    first = members.next
    if first is None or first.name != MANIFEST or first.size > MANIFEST_BYTES:
        raise ValueError(f"it does not begin with {MANIFEST}")
    source = members.tar.extractfile(first)
    said = json.loads(source.read()) if source else {}
    members.go_on()
    if said["format"] != FORMAT:
        raise ValueError(f"format {said['format']}, this version reads {FORMAT}")
    entries = [Entry(**one) for one in said["entries"]]
    for entry in entries:
        if not NAME.fullmatch(entry.name):
            raise ValueError(f"{entry.name!r} is no name of an entry")
    return entries


def _take_in(members: _Members, entry: Entry, report: BuildReport) -> bool:
    """Make an entry of the cache, unless it is there; return whether it was made."""
    made = False

    def build(folder: Path) -> None:
        nonlocal made
        left = entry.size_bytes
        for member in members.of(entry.name):
            left -= member.size
            report(f"{entry.name}, from the file", 1 - left / (entry.size_bytes or 1))
            if left < 0:
                raise ValueError(f"{entry.name} is larger than it says")
            _place(folder, member, members.tar)
        contents.settle(folder)
        if contents.digest(folder) != entry.digest:
            raise ValueError(f"{entry.name} has not the contents that it says: damaged?")
        made = True

    kind, _, key = entry.name.rpartition("-")
    cache.entry(kind, key, build)
    return made


def _place(folder: Path, member: tarfile.TarInfo, tar: tarfile.TarFile) -> None:
    """Make a file, folder or link; every folder on the way must have been made here before."""
    name = PurePosixPath(member.name)
    inside = name.parts[1:]
    if name.is_absolute() or not inside or ".." in name.parts:
        raise ValueError(f"{member.name!r} leads elsewhere")
    path = folder
    for part in inside[:-1]:
        path /= part
        if not stat.S_ISDIR(path.lstat().st_mode):
            raise ValueError(f"{member.name!r} leads through a link")
    path /= inside[-1]
    if member.isdir():
        path.mkdir()
    elif member.issym():
        path.symlink_to(member.linkname)
    elif member.isreg():
        source = tar.extractfile(member)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with open(os.open(path, flags, member.mode & 0o755 | 0o600), "wb") as target:  # noqa: PTH123
            while source and (part_ := source.read(contents.READ_BYTES)):
                target.write(part_)
    else:
        raise ValueError(f"{member.name!r} is no file, folder or link")


def _files(part: Path) -> list[Path]:
    """Return all that is in an entry, folders before what is in them, but for the build's logs."""
    found: list[Path] = []
    for place, folders, files in os.walk(part):
        folders.sort()
        here = [Path(place, name) for name in sorted((*folders, *files))]
        found += [path for path in here if path.parent != part or path.name not in contents.LOGS]
    return found


def _described(name: str, *, size: int = 0, mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, mode, contents.TIME_NS // 10**9
    return info


def _add(tar: tarfile.TarFile, name: str, path: Path) -> int:
    """Add a file, folder or link; return how many bytes it has."""
    about = path.lstat()
    info = _described(name, mode=contents.plain_mode(about.st_mode))
    if stat.S_ISLNK(about.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, str(path.readlink())
        tar.addfile(info)
    elif stat.S_ISDIR(about.st_mode):
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
    else:
        info.size = about.st_size
        with path.open("rb") as source:
            tar.addfile(info, source)
    return about.st_size
