"""Readers of users' own source: patches, makefiles, logs of builds, what runs keep of kernels."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

from testbed.labs.virtual import patched_kernel
from testbed.labs.virtual.own_source import build_failure, export, given_tree, kept, patch_text
from testbed.study import kernel_names
from tests.fuzz.mutate import bytes_input, json_input, text_input

#: A reader: its inputs, how they are changed, and what reads them.
Mutate = Callable[[random.Random, Sequence[bytes]], bytes]
Reader = tuple[list[bytes], Mutate, Callable[[bytes], object]]
_LISTING = b"100644 " + b"0" * 40 + b" 0\tnet/a.c\x00120000 " + b"1" * 40 + b" 0\tlink\x00"
_LOG = b"patching file a.c\nHunk #1 FAILED at 3.\na.c:1:2: error: x\nld: a.o: in function `f':\n"


def readers(place: Path) -> dict[str, Reader]:
    """Return the readers by name; what they keep is kept below ``place``."""
    patches = [path.read_bytes() for path in sorted(patched_kernel.PATCHES.glob("*.patch"))]
    makefile = b"VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 5\nEXTRAVERSION = -rc3\n"
    name = kernel_names.own_patch("fix", "0" * 8)
    record = {"6.12-g222222222222+" + name: {
        "tree": "/x", "commit": "2" * 40, "patches": {name: "text"},
    }}  # fmt: skip
    return {
        "patch": (patches, bytes_input, _patch),
        "makefile of a kernel": (
            [makefile], text_input,
            lambda content: given_tree._version(
                "a tree", "0" * 40, content.decode(errors="replace"), given_tree.WANTED
            ),
        ),
        "files of a commit": ([_LISTING], bytes_input, export.read_listing),
        "log of a build": (
            [_LOG], text_input,
            lambda content: build_failure.places(content.decode(errors="replace")),
        ),
        "kernels of a run": ([json.dumps(record).encode()], json_input, lambda c: _kept(place, c)),
    }  # fmt: skip


def _patch(content: bytes) -> None:
    found = patch_text.file_patches(content)
    assert sum(len(one.text) for one in found) <= len(content)
    assert {one.path for one in found} <= set(patch_text.names(content))
    rest = patch_text.without(content, export.left_out)
    assert not [one for one in patch_text.file_patches(rest) if export.left_out(one.path)]


def _kept(place: Path, content: bytes) -> None:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return
    with mock.patch.dict("os.environ", {"XDG_CACHE_HOME": str(place)}):
        kept.take_in(value)
        for path in (place / "groundtruth").glob("*"):
            assert path.name == kept.FOLDER
