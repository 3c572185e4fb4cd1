"""A patch that is given as a file: looked at, kept, and called by its name from then on."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

from model.errors import StudyError
from testbed.labs.virtual.own_source import kept, patch_text
from testbed.machine import homes
from testbed.study import kernel_names

WHERE = "PATCH"
MOST_BYTES = 16 << 20
#: So many patches have a name each in a kernel's; more are one patch, in the order given.
MOST_NAMED = 4


def named(files: Sequence[str]) -> tuple[str, ...]:
    """Return the names of patches that are given as files, or by the names of kept ones.

    Raises:
        StudyError: one cannot be read, or is none.
    """
    found = [(file, _text(file)) for file in files]
    read = [(Path(file).stem, text) for file, text in found if text is not None]
    if len(read) > MOST_NAMED:
        stem = f"{read[0][0][:12]}-and-{len(read) - 1}-more"
        joined = b"".join(text if text.endswith(b"\n") else text + b"\n" for _, text in read)
        read = [(stem, joined)]
    names = [kept.keep_patch(stem, text) for stem, text in read]
    return kernel_names.in_order([*names, *(file for file, text in found if text is None)])


def _text(file: str) -> bytes | None:
    """Return a patch's text, or None for the name of one that is kept."""
    if "/" not in file and kernel_names.is_own(file) and kept.patch(file) is not None:
        return None
    path = homes.expanded(file, WHERE) if file.startswith("~/") else Path(file)
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise _none(file, "no plain file")
        if about.st_size > MOST_BYTES:
            raise _none(file, f"{about.st_size >> 20} MiB")
        text = path.read_bytes()
    except (OSError, ValueError) as error:
        raise _none(file, getattr(error, "strerror", None) or str(error)) from error
    if not any(one.hunks or one.text.startswith(b"diff --git") for one in
               patch_text.file_patches(text)):  # fmt: skip
        raise _none(file, "no hunk in it" if text.strip() else "an empty file")
    return text


def _none(file: str, got: str) -> StudyError:
    return StudyError(
        "not a patch", where=f"{WHERE} {file}", got=got,
        wanted="a unified diff that applies in the top folder of Linux with -p1",
        hint="git diff or git format-patch make one",
    )  # fmt: skip
