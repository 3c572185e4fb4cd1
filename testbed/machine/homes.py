"""The user's home folder, and what lies in it unless the environment says otherwise.

Invariant: a user of no home, as ``docker run --user 1234`` makes one, is told what to set.
"""

from __future__ import annotations

import os
from pathlib import Path

from model.errors import StudyError, UnsupportedError


def base(variable: str, folder: str) -> Path:
    """Return the folder that a variable of the XDG base directories names, else ``~/folder``.

    Raises:
        UnsupportedError: it names none, and the user has no home.
    """
    if given := os.environ.get(variable):
        return Path(given)
    try:
        return Path.home() / folder
    except RuntimeError as error:
        raise UnsupportedError(
            "this user has no home folder", where=f"user {os.geteuid()}", wanted=variable,
            got="neither that nor HOME nor an entry among the machine's users",
            hint=f"set {variable} to a folder of yours",
        ) from error  # fmt: skip


def expanded(text: str, where: str) -> Path:
    """Return a path whose ``~`` is a home; ``where`` is what gave it.

    Raises:
        StudyError: there is no such user, or one without a home.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise StudyError(
            "nobody's home", where=where, got=text[:300],
            wanted="a path, with ~ or ~USER of a user of this machine",
        ) from error  # fmt: skip
