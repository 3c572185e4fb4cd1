"""Cells on their way through a store that the campaign and its workers share, instead of dask.

``GROUNDTRUTH_ARTEFACTS`` names it: a folder of a shared disk or a bucket of S3, of whom credentials
come from the environment as AWS's own tools take them. A campaign has a folder of its own there.

Invariants: what is taken from there has the digest that the worker told over the cluster's own
connections; no worker is given a cell that has not read what this campaign wrote there, and written
itself; what a campaign put there is gone when it has ended, unless it was killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.errors import GroundtruthError, MachineError, RunError, StudyError, UnsupportedError
from testbed.machine import room

#: Where cells pass through; empty: they come with the scheduler's own messages.
VARIABLE = "GROUNDTRUTH_ARTEFACTS"
_FORM = re.compile(r"file:///[^\s?#]+|s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^\s?#@]*)?")
_TOKEN = "campaign"
_PIECE_BYTES = 1 << 20
#: How long S3 may take to answer, and how often it is asked again.
_S3: dict[str, Any] = {
    "use_listings_cache": False,
    "config_kwargs": {"connect_timeout": 10, "read_timeout": 60, "retries": {"max_attempts": 3}},
}


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What a worker put into the store: its address, and what is to be found there."""

    url: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class Artefacts:
    """A campaign's folder in a store; ``token`` is what stands in a file of it."""

    url: str
    token: str

    def check(self) -> None:
        """Read what the campaign wrote, and write.

        Raises:
            UnsupportedError: this machine has not what the store needs, cannot read it, sees
                another one, or cannot write.
        """
        with _told(UnsupportedError, "this machine cannot use the artefacts", self.url):
            system = _system(self.url)
            if system.cat_file(f"{self.url}/{_TOKEN}").decode() != self.token:
                raise OSError("another campaign's file is there")
            mine = f"{self.url}/{uuid.uuid4().hex}"
            system.pipe_file(mine, b"written")
            system.rm_file(mine)

    def put(self, name: str, file: Path) -> Kept:
        """Put a file there under a name of its own; raise :class:`UnsupportedError` if not."""
        url = f"{self.url}/{name}-{uuid.uuid4().hex}"
        with _told(UnsupportedError, "this machine cannot put a cell there", self.url):
            with file.open("rb") as source:
                digest = hashlib.file_digest(source, "sha256").hexdigest()
            _system(url).put_file(str(file), url)
        return Kept(url=url, sha256=digest, size_bytes=file.stat().st_size)


@contextlib.contextmanager
def begun(base: str) -> Iterator[Artefacts]:
    """Give a new folder in a store for the block; it is gone afterwards.

    Raises:
        RunError: there is no such store, or it cannot be written and read.
        UnsupportedError: what is needed for it is not installed.
    """
    made = Artefacts(url=f"{base}/groundtruth-{uuid.uuid4().hex}", token=secrets.token_hex(16))
    try:
        _make(base, made)
        made.check()
        yield made
    finally:
        with contextlib.suppress(Exception):  # it is in nobody's way
            _system(base).rm(made.url, recursive=True)


def _make(base: str, made: Artefacts) -> None:
    with _told(RunError, "the artefacts cannot be used", base):
        system = _system(base)
        if base.startswith("file:"):
            # Who else belongs to a group that may write there may write here as well.
            above = Path(system._strip_protocol(base))
            if not above.is_dir():
                raise FileNotFoundError(f"{above}: no such folder")
            place = Path(system._strip_protocol(made.url))
            place.mkdir()
            place.chmod(above.stat().st_mode & 0o2777)
        system.pipe_file(f"{made.url}/{_TOKEN}", made.token.encode())


def get(kept: Kept, into: Path) -> None:
    """Fetch what a worker put there, in pieces, into a new file, and compare its digest.

    Raises:
        MachineError: it is gone, cannot be read, or is not what the worker put there.
        OSError: this machine's own disk is full.
    """
    digest, left = hashlib.sha256(), kept.size_bytes
    with (
        _told(MachineError, "a cell cannot be fetched", kept.url, writes_here=True),
        _opened(kept.url) as source,
        into.open("xb") as target,
    ):
        while piece := source.read(min(_PIECE_BYTES, left + 1)):
            digest.update(piece)
            left -= len(piece)
            if left < 0:
                break
            target.write(piece)
    if left or digest.hexdigest() != kept.sha256:
        raise MachineError(
            "a cell was changed on its way", where=kept.url,
            wanted=f"{kept.size_bytes} bytes, SHA-256 {kept.sha256[:16]}",
            got=f"{kept.size_bytes - left} bytes, {digest.hexdigest()[:16]}",
        )  # fmt: skip


def _opened(url: str) -> Any:
    system = _system(url)
    if system.info(url)["type"] != "file":  # reading a pipe waits for ever
        raise OSError("not a plain file")
    return system.open(url, "rb")


def remove(kept: Kept) -> None:
    """Remove what has been taken over; what cannot be goes with the campaign's folder."""
    with contextlib.suppress(Exception):
        _system(kept.url).rm_file(kept.url)


def named() -> str:
    """Return the store that ``GROUNDTRUTH_ARTEFACTS`` names, or an empty text.

    Raises:
        StudyError: it is none.
    """
    given = os.environ.get(VARIABLE, "").strip().rstrip("/")
    if given and not _FORM.fullmatch(given):
        raise StudyError(
            "not a store of artefacts", where="ARTEFACTS",
            wanted="file:///FOLDER or s3://BUCKET/PREFIX", got=given[:300],
            hint="credentials of S3 are taken from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        )  # fmt: skip
    return given


def _system(url: str) -> Any:
    import fsspec  # when needed: few campaigns use it

    kind, _, _ = url.partition(":")
    try:
        return fsspec.filesystem(kind, **(_S3 if kind == "s3" else {}))
    except ImportError as error:
        raise UnsupportedError(
            "what speaks to S3 is not installed", where=url, got=str(error),
            hint="pip install --require-hashes -r requirements/s3.txt, or groundtruth[s3]",
        ) from error  # fmt: skip


@contextlib.contextmanager
def _told(
    kind: type[GroundtruthError], what: str, where: str, *, writes_here: bool = False
) -> Iterator[None]:
    """Raise whatever goes wrong as an error of that kind; each store has its own.

    A disk that is full is the store's, unless the block writes to this machine's.
    """
    try:
        yield
    except UnsupportedError:
        raise
    except Exception as error:
        full = isinstance(error, OSError) and error.errno in room.FULL
        if full and writes_here:
            raise
        got = f"{type(error).__name__}: {error}"[:300]
        if full:  # from None: who looks for the cause would name this machine's disk
            hint = "make room there; groundtruth-... of campaigns that were killed can be removed"
            raise kind(f"{what}: no room is left there", where=where, got=got, hint=hint) from None
        raise kind(what, where=where, got=got) from error
