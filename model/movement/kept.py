"""The movement that came of a trace, as a run keeps it: ``movement.csv``, known by its digest.

Standard library only, because the lab image reads it too. Invariant: what is returned is what the
cell's settings name, to the byte, whoever had the file in hands meanwhile.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from model import plain_files
from model.errors import ParseError
from model.movement import movement_csv
from model.movement.paths import Movement

#: What such a file has at most: half a million rows, each as long as a row can be.
MOST_BYTES = 24 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}", re.A)


def is_digest(text: str) -> bool:
    """Return whether a text is a SHA-256 in hexadecimal digits, and so the name of a file."""
    return _SHA256.fullmatch(text) is not None


def digest(text: str) -> str:
    """Return by what a movement's text is known."""
    return hashlib.sha256(text.encode()).hexdigest()


def read(file: Path, sha256: str) -> bytes:
    """Return the content of a file that is the movement of that digest.

    Raises:
        ParseError: there is none, it is another one, or the digest is none.
    """
    if not is_digest(sha256):
        raise ParseError("a cell names no movement", where=str(file), wanted="a SHA-256",
                         got=repr(sha256[:80]))  # fmt: skip
    try:
        content = plain_files.read_bytes(file, MOST_BYTES)
    except OSError as error:
        raise ParseError(
            "the movement that nodes follow cannot be read", where=str(file),
            got=error.strerror or str(error), hint="put it back as it was, or run the study again",
        ) from error  # fmt: skip
    if (found := hashlib.sha256(content).hexdigest()) != sha256:
        raise ParseError(
            "not the movement that nodes follow", where=str(file), wanted=f"SHA-256 {sha256[:12]}",
            got=found[:12], hint="put it back as it was, or run the study again",
        )  # fmt: skip
    return content


def movement(file: Path, sha256: str) -> Movement:
    """Return the paths of all nodes; raises as :func:`read`, or where it is no movement."""
    content = read(file, sha256)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ParseError("not text", where=str(file), wanted="UTF-8", got=str(error)) from error
    return movement_csv.movement_of(text, str(file))
