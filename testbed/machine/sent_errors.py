"""Errors on their way from one process to another, with what they came of."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

from model.errors import RunError
from testbed.machine.causes import with_causes


class _Raised(list[BaseException]):
    """An error, what it came of, and what that came of: pickled alone, an error forgets it."""


def pickled(error: Exception) -> bytes:
    """Return an error, pickled: without what it came of, or in words, where that cannot be sent.

    It has notes.
    """
    for chain in (with_causes(error), [error]):
        try:
            answer = pickle.dumps(_Raised(chain))
            pickle.loads(answer)
        except Exception:  # noqa: BLE001  # an error of any kind may not be made for it
            continue
        return answer
    told = RunError("an error that cannot be sent", got=f"{type(error).__name__}: {error}")
    told.add_note("".join(error.__notes__))
    return pickle.dumps(told)


def unpacked(answer: Any) -> Any:
    """Return what was taken out: an error with what it came of, anything else as it is."""
    if not isinstance(answer, _Raised):
        return answer
    for error, cause in itertools.pairwise(answer):
        error.__cause__ = cause
    return answer[0]
