"""The keys of a cluster: an authority of its own, and one certificate for all of its machines.

What proves that a machine belongs to the cluster is that it has the cluster's key: machines are
not told apart, so the folder is copied to each of them and to nobody else. The authority's own key
is not kept: who wants another certificate makes all keys anew.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from model.errors import StudyError, UnsupportedError
from testbed.cluster.address import AUTHORITY, CERTIFICATE, KEY
from testbed.machine import scratch
from testbed.machine.process import output_of

DAYS = 825
_PREFIX = ".keys-"
_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def make(folder: Path) -> None:
    """Make keys in a folder that is not there yet.

    Raises:
        StudyError: it is there.
        UnsupportedError: there is no ``openssl``, or the folder cannot be made.
    """
    if folder.exists():
        raise StudyError(
            "keys are never overwritten", where=str(folder), got="it is there",
            hint="machines with its keys would be cut off; remove it first if they may be",
        )  # fmt: skip
    if shutil.which("openssl") is None:
        raise UnsupportedError(
            "no openssl here", wanted="it makes keys", hint="apt install openssl"
        )
    with contextlib.ExitStack() as held:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            room = held.enter_context(scratch.scratch(folder.parent, _PREFIX))
            _fill(room)
            room.rename(folder)
        except OSError as error:
            raise UnsupportedError("cannot make keys", where=str(folder), got=str(error)) from error


def _fill(room: Path) -> None:
    mask = os.umask(0o077)
    try:
        own, request = room / "own.pem", room / "request.pem"
        days = ("-days", str(DAYS))
        output_of(
            ["openssl", "req", "-x509", *_CURVE, *days, "-subj", "/CN=groundtruth cluster",
             "-keyout", str(own), "-out", str(room / AUTHORITY)]
        )  # fmt: skip
        output_of(
            ["openssl", "req", *_CURVE, "-subj", "/CN=groundtruth machine",
             "-keyout", str(room / KEY), "-out", str(request)]
        )  # fmt: skip
        output_of(
            ["openssl", "x509", "-req", *days, "-in", str(request), "-CA", str(room / AUTHORITY),
             "-CAkey", str(own), "-CAcreateserial", "-out", str(room / CERTIFICATE)]
        )  # fmt: skip
    finally:
        os.umask(mask)
    for path in room.iterdir():
        if path.name not in (AUTHORITY, CERTIFICATE, KEY):
            path.unlink()
