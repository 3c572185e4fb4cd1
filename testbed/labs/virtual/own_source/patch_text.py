"""The text of a patch, taken apart: its files and hunks, with their lines. Pure.

It tells whether a text is a patch at all, which hunk did not apply, and what of a patch is in
files that the lab's kernels are built without.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NOTHING = b"/dev/null"
_ESCAPE = re.compile(rb"\\(?:([0-7]{3})|(.))", re.DOTALL)
_LETTERS = {
    b"n": b"\n",
    b"t": b"\t",
    b"r": b"\r",
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"v": b"\v",
}


@dataclass(frozen=True)
class Hunk:
    """Where a hunk begins in the file as it was, from 1, and in the patch."""

    line: int
    patch_line: int


@dataclass(frozen=True)
class FilePatch:
    """What a patch does to one file; ``text`` is all of it, from its header on."""

    path: str
    hunks: tuple[Hunk, ...]
    text: bytes

    def number_of(self, line: int) -> int:
        """Return which hunk begins at a line of the file, from 1; 0 for none."""
        lines = [hunk.line for hunk in self.hunks]
        return lines.index(line) + 1 if line in lines else 0


def file_patches(text: bytes) -> list[FilePatch]:
    """Return the patches of files in a text, in order; what stands around them is left out."""
    lines = text.splitlines(keepends=True)
    found = []
    for begin, end in _spans(lines):
        path = _path(lines[begin:end])
        if path:
            hunks = tuple(_hunks(lines, begin, end))
            found.append(FilePatch(path=path, hunks=hunks, text=b"".join(lines[begin:end])))
    return found


def _spans(lines: list[bytes]) -> Iterator[tuple[int, int]]:
    """Yield where patches of files begin and end: a header, and hunks as long as they say."""
    begin, at = -1, 0
    while at < len(lines):
        hunk = _HUNK.match(lines[at])
        if hunk and begin >= 0:
            at = _after(lines, at, hunk)
            continue
        starts_git = lines[at].startswith(b"diff --git ")
        plain = lines[at].startswith(b"--- ") and lines[at + 1 : at + 2] != []
        starts_plain = (
            plain and lines[at + 1].startswith(b"+++ ") and not _in_header(lines, begin, at)
        )
        if starts_git or starts_plain:
            if begin >= 0:
                yield begin, at
            begin = at
        at += 1
    if begin >= 0:
        yield begin, len(lines)


def _in_header(lines: list[bytes], begin: int, at: int) -> bool:
    """Return whether a file's own header goes on there: no hunk and no other names came before."""
    if begin < 0 or not lines[begin].startswith(b"diff --git "):
        return False
    return not any(_HUNK.match(line) or line.startswith(b"--- ") for line in lines[begin:at])


def _after(lines: list[bytes], at: int, hunk: re.Match[bytes]) -> int:
    """Return the line after a hunk, which is as long as its header says, or as the text goes on."""
    before, after = int(hunk[2] or 1), int(hunk[4] or 1)
    at += 1
    while at < len(lines) and (before > 0 or after > 0):
        kind = lines[at][:1]
        if kind not in (b" ", b"-", b"+", b"\\", b"\n", b"\r"):
            break
        before -= kind in (b" ", b"-", b"\n", b"\r")
        after -= kind in (b" ", b"+", b"\n", b"\r")
        at += 1
    return at


def _hunks(lines: list[bytes], begin: int, end: int) -> Iterator[Hunk]:
    at = begin
    while at < end:
        hunk = _HUNK.match(lines[at])
        if hunk:
            yield Hunk(line=int(hunk[1]), patch_line=at + 1)
            at = _after(lines, at, hunk)
        else:
            at += 1


def _path(lines: list[bytes]) -> str:
    """Return the file a patch is of, without its first folder; "" if it says none."""
    for start in (b"+++ ", b"--- ", b"rename to ", b"copy to "):
        for line in lines:
            if line.startswith(b"@@ "):
                break
            if line.startswith(start):
                name = _named(line[len(start) :].rstrip(b"\r\n"))
                if name and name != _NOTHING:
                    return _stripped(name, whole=start.endswith(b"to "))
    found = re.fullmatch(rb'diff --git "?a/(.+?)("?) "?b/\1\2', lines[0].rstrip(b"\r\n"))
    return _named(b"%b%b%b" % (found[2], *found.groups())).decode(errors="replace") if found else ""


def _named(text: bytes) -> bytes:
    """Return a file's name as a header has it: quoted, with escapes, where it is not of ASCII."""
    name = text.split(b"\t")[0]
    if not (name.startswith(b'"') and name.endswith(b'"') and len(name) > 1):
        return name
    return _ESCAPE.sub(_unescaped, name[1:-1])


def _unescaped(found: re.Match[bytes]) -> bytes:
    if digits := found[1]:
        return bytes([int(digits, 8) & 0xFF])
    return _LETTERS.get(found[2], found[2])


def _stripped(name: bytes, *, whole: bool) -> str:
    text = name.decode(errors="replace")
    return text if whole else text.partition("/")[2]


def names(text: bytes) -> list[str]:
    """Return every file that a patch names, as it was and as it becomes."""
    found: dict[str, None] = {}
    for one in file_patches(text):
        for line in one.text.splitlines():
            if line.startswith(b"@@ "):
                break
            for start in (b"--- ", b"+++ ", b"rename from ", b"copy from "):
                if line.startswith(start):
                    name = _named(line[len(start) :])
                    found[_stripped(name, whole=start.endswith(b"from "))] = None
        found[one.path] = None
    return list(found)


def without(text: bytes, left_out: Callable[[str], bool]) -> bytes:
    """Return a patch without what it does to files that are left out; as it is if there is none."""
    found = file_patches(text)
    if not any(left_out(one.path) for one in found):
        return text
    return b"".join(one.text for one in found if not left_out(one.path))
