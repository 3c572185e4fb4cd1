"""What is kept of users' own source, by its name: where a tree was, and the text of patches.

It lies in the cache, and in the ``lab.json`` of each run that needs it, from which it is put back:
so a kernel is found again, and built again, by its name alone. Invariant: a text is given out only
if its digest is the one in its name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model import plain_files
from model.errors import StudyError
from testbed.labs.virtual.own_source.given_tree import WHERE, GivenTree
from testbed.machine import cache
from testbed.study import kernel_names

FOLDER = "kernel-sources"
MOST_BYTES = 64 << 20
#: A whole name, and no words that lead on from one: ``2aed...~1`` is another commit.
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class Origin:
    """Where a commit was found, and its whole name."""

    tree: str
    commit: str


def _place(name: str) -> Path:
    return cache.root() / FOLDER / name


def keep_patch(stem: str, text: bytes) -> str:
    """Keep a patch; return its name.

    Raises:
        StudyError: another patch has the same name.
    """
    name = kernel_names.own_patch(stem, _digest(text))
    before = patch(name)
    if before not in (None, text):
        raise StudyError(
            "another patch has the same name and first digits", where="PATCH", wanted="one text",
            got=f"{name}, which is kept with another", hint="give the file another name",
        )  # fmt: skip
    if before is None:
        plain_files.write(_place(f"{name}.patch"), text, unlocked=True)
    return name


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def patch(name: str) -> bytes | None:
    """Return the text of a patch, or None if it is not kept."""
    try:
        text = plain_files.read_bytes(_place(f"{name}.patch"), MOST_BYTES)
    except OSError:
        return None
    return text if _is(name, text) else None


def _is(name: str, text: bytes) -> bool:
    return name.endswith(f"-{_digest(text)[: kernel_names.DIGEST_DIGITS]}")


def keep_origin(tree: GivenTree) -> None:
    """Keep where a commit's tree is; the last place counts.

    Raises:
        StudyError: another commit has the same first digits.
    """
    before = origin(tree.base)
    if before and before.commit != tree.commit:
        raise StudyError(
            "another commit has the same first digits", where=WHERE, wanted=before.commit,
            got=tree.commit, hint="make clean-cache forgets it",
        )  # fmt: skip
    _keep_origin(tree.base, Origin(str(tree.folder), tree.commit))


def _keep_origin(base: str, found: Origin) -> None:
    if origin(base) != found:
        content = {"schema": 1, "tree": found.tree, "commit": found.commit}
        text = json.dumps(content, indent=1, sort_keys=True) + "\n"
        plain_files.write(_place(f"{base}.json"), text.encode(), unlocked=True)


def origin(base: str) -> Origin | None:
    """Return where a commit was found last, or None if that is not known."""
    try:
        value = json.loads(plain_files.read_text(_place(f"{base}.json"), MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return _origin(base, value)


def _origin(base: str, value: object) -> Origin | None:
    """Return what a record says, if it says it of that kernel."""
    found = kernel_names.read(base)
    if not isinstance(value, dict) or found is None:
        return None
    tree, commit = value.get("tree"), value.get("commit")
    if not isinstance(tree, str) or not isinstance(commit, str):
        return None
    whole = _COMMIT.fullmatch(commit) and found.commit and commit.startswith(found.commit)
    return Origin(tree, commit) if whole else None


def records(names: Sequence[str]) -> dict[str, Any]:
    """Return what a run keeps of these kernels: nothing of those of known source."""
    made: dict[str, Any] = {}
    for name in names:
        found = kernel_names.read(name)
        if found is None or not found.own_source:
            continue
        record: dict[str, Any] = {}
        if where := origin(found.base):
            record |= {"tree": where.tree, "commit": where.commit}
        texts = {one: patch(one) for one in found.patches if kernel_names.is_own(one)}
        patches = {one: text.decode("latin-1") for one, text in texts.items() if text is not None}
        made[name] = {**record, "patches": patches} if patches else record
    return made


def take_in(kernels: object) -> None:
    """Put back into the cache what a run kept, where the cache has it no more.

    What does not belong to its name is left out: whoever needs it is told that it is missing.
    """
    if not isinstance(kernels, Mapping):
        return
    for name, record in kernels.items():
        found = kernel_names.read(name) if isinstance(name, str) else None
        if found is None or not isinstance(record, dict):
            continue
        if (where := _origin(found.base, record)) and origin(found.base) is None:
            _keep_origin(found.base, where)
        patches = record.get("patches")
        for one, text in patches.items() if isinstance(patches, dict) else ():
            _take_patch(found.patches, one, text)


def _take_patch(wanted: Sequence[str], name: object, text: object) -> None:
    if not isinstance(name, str) or not isinstance(text, str) or name not in wanted:
        return
    try:
        content = text.encode("latin-1")
    except UnicodeEncodeError:
        return
    if kernel_names.is_own(name) and _is(name, content) and patch(name) is None:
        plain_files.write(_place(f"{name}.patch"), content, unlocked=True)
