"""Standard input, output and error as they really are: closed, full, unread, or of few letters.

Invariants: descriptors 0, 1 and 2 are open before anything else is loaded, so that no file or pipe
of ours gets such a number; what cannot be written raises nothing at the program's end.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TextIO

UNWRITABLE_STATUS = 3


def make_usable() -> None:
    """Open on nothing what is closed, and let every text be written, whatever the encoding."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Write a line on standard error; where that cannot be, the exit status must do.

    Names of files and what they hold may be anybody's: none of it commands the terminal.
    """
    shown = "".join(
        letter if letter.isprintable() or letter in "\n\t" else repr(letter)[1:-1]
        for letter in text
    )
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{shown}\n")
        sys.stderr.flush()


def flushed(status: int) -> int:
    """Write out what is held back; return the status, or another where it cannot be written."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            discard(stream)
            if isinstance(error, BrokenPipeError):
                status = UNWRITABLE_STATUS
            else:
                say(f"groundtruth: cannot write what was found: {error.strerror}")
                status = status or UNWRITABLE_STATUS
    return status


def discard(stream: TextIO) -> None:
    """Let what a stream holds go nowhere: Python would try again at its end, and exit with 120."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2 if stream is sys.stderr else 1)
    os.close(nothing)
