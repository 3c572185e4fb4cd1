"""The errors of the whole project: each knows its exit status and says where, wanted, got, hint.

Invariant: nothing but these (and programming errors) leaves a public function.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Interrupted(BaseException):
    """Ctrl-C, SIGTERM or SIGHUP; no KeyboardInterrupt, which the option parser would swallow."""

    how = "the same command"


@contextlib.contextmanager
def going_on(how: str) -> Iterator[None]:
    """Tell who interrupts the block by which command to go on."""
    try:
        yield
    except Interrupted as interrupt:
        interrupt.how = how
        raise


class GroundtruthError(Exception):
    """Base of all expected failures; ``exit_status`` is the command's exit status."""

    exit_status = 3

    def __init__(
        self, what: str, *, where: str = "", wanted: str = "", got: str = "", hint: str = ""
    ) -> None:
        self.what, self.where = what, where
        self.wanted, self.got, self.hint = wanted, got, hint
        super().__init__(self.message())

    def message(self) -> str:
        """Return one readable line: ``where: what: wanted W, got G (hint)``."""
        text = f"{self.where}: {self.what}" if self.where else self.what
        if self.wanted:
            text += f": wanted {self.wanted}"
        if self.got:
            text += f", got {self.got}" if self.wanted else f": got {self.got}"
        if self.hint:
            text += f" ({self.hint})"
        return text


class StudyError(GroundtruthError):
    """The study file or the command line cannot be used (exit status 2)."""

    exit_status = 2


class UnsupportedError(GroundtruthError):
    """This machine, kernel or lab cannot do what was asked (exit status 4)."""

    exit_status = 4


class RunError(GroundtruthError):
    """A cell, a build or a program in the lab failed (exit status 3)."""


class MachineError(RunError):
    """What ran in a lab did not end it: its machine did, or gave it too little (exit status 3)."""


class BuildError(RunError):
    """A kernel's source does not build: its code, its options or a patch (exit status 3).

    Never for a full disk, too little time or an interrupt: those say nothing about the source.
    """


class VerifyError(GroundtruthError):
    """What was read back or measured is not what was asked for (exit status 3)."""


class LateError(VerifyError):
    """The machine did not keep up with real time while a cell ran (exit status 3)."""


class ParseError(GroundtruthError):
    """A tool's output is not what its parser expects; ``where`` names file and line."""


class NothingJudgedError(GroundtruthError):
    """Agreement was asked for, and nothing could be judged (exit status 5)."""

    exit_status = 5


class DisagreementError(GroundtruthError):
    """Results disagree where agreement was asked for (exit status 1)."""

    exit_status = 1
