"""Why a kernel was not built, told from the log: the source, or the machine. Pure.

Invariant: what says nothing about the source (a full disk, too little memory, a compiler that was
killed) is never called the source's fault.
"""

from __future__ import annotations

import posixpath
import re

from model.errors import BuildError, RunError
from testbed.machine.process import StatusError

#: How many places are named.
MOST_NAMED = 3
MOST_CHARACTERS = 300
#: Of a line so much is looked at: what finds places takes long with a makefile's endless ones.
MOST_LOOKED_AT = 600
#: Where a tree is while it is built.
SOURCE = "/cell/source"
_MACHINE = {
    r"/tmp/\S*: No space left on device": "the build's own /tmp is full, which holds 1 GiB",
    r"No space left on device|Disk quota exceeded": "the disk is full",
    r"Cannot allocate memory|virtual memory exhausted|out of memory|"
    r"Killed signal terminated program": "there is too little memory",
    r"Read-only file system|Input/output error": "the disk cannot be written",
    r"Resource temporarily unavailable": "there are too many processes",
}
_COMPILER = re.compile(r"(?m)^(\S+?:\d+(?::\d+)?): (?:fatal )?error: (.+)$")
_FUNCTION = re.compile(r"(?:\S*ld\S*: )?(\S+\.[oa](?:\(\S+\))?): in function `.+':")
_LINKER = re.compile(
    r"(\S*ld\S*: )?(?:\S+\.o:)?([^\s:(]+(?::\d+)?)(?::?\([^)]*\))?: "
    r"(undefined reference to .+|multiple definition of `[^']+')"
)
_KCONFIG = re.compile(
    r"(?m)^(\S*Kconfig\S*:\d+): ?(?:error: )?"
    r"(syntax error.*|choice .*|can't open .*|invalid .*|unknown .*)$"
)
_CIRCLE = re.compile(r"(?m)^error: (recursive dependency detected!\n\t?symbol .+)$")
_NOT_TAKEN = re.compile(r"(?m)^this kernel did not take: (.+?)\s*$")
_TOO_LARGE = re.compile("File size limit exceeded|File too large")
_MAKE = re.compile(
    r"(?m)^make(?:\[\d+\])?: \*\*\* (?:\[(?P<where>\S+?): (?P<target>[^\]]+)\] Error \d+|"
    r"(?P<rule>No rule to make target .+?))(?:\.  Stop\.)?$"
)
_MAKEFILE = re.compile(r"(?m)^(\S*(?:Makefile|Kbuild)\S*:\d+): \*\*\* (.+?)(?:\.  Stop\.)?$")
_FILE = re.compile(r"(?:patching|checking) file (.+)")
_HUNK = re.compile(r"Hunk #(\d+) FAILED at (\d+).*")
_NO_FILE = re.compile(r"can't find file to patch at input line (\d+)")


def places(log: str) -> list[str]:
    """Return what in the source is wrong, the most telling kind of it; empty for nothing."""
    log = "\n".join(line[:MOST_LOOKED_AT] for line in log.splitlines())
    for found in (
        _not_applied(log),
        [f"{where}: error: {what}" for where, what in _COMPILER.findall(log)],
        _not_linked(log),
        [f"{where}: {what}" for where, what in _KCONFIG.findall(log)],
        [" ".join(what.split()) for what in _CIRCLE.findall(log)],
        [f"not taken by Kconfig: {what}" for what in _NOT_TAKEN.findall(log)],
        ["a file is larger than a build's may be"] if _TOO_LARGE.search(log) else [],
        [f"{where}: {what}" for where, what in _MAKEFILE.findall(log)],
        [_target(one) for one in _MAKE.finditer(log)],
    ):
        if found:
            return [text[:MOST_CHARACTERS] for text in dict.fromkeys(found)]
    return []


def files(log: str) -> set[str] | None:
    """Return the files that the compiler or Kconfig finds wrong; None where it is something else.

    Options that were not taken are wrong in the files that have them, or in none.
    """
    log = "\n".join(line[:MOST_LOOKED_AT] for line in log.splitlines())
    for pattern in (_COMPILER, _KCONFIG):
        if places := [where for where, _ in pattern.findall(log)]:
            return {_in_source(where.partition(":")[0]) for where in places}
    if taken := _NOT_TAKEN.findall(log):
        named = " ".join(re.findall(r"\((\S+:\d+(?: \S+:\d+)*)\)", " ".join(taken)))
        return {where.partition(":")[0] for where in named.split()}
    return None


def _in_source(file: str) -> str:
    return posixpath.normpath(file).removeprefix(f"{SOURCE}/")


def _target(found: re.Match[str]) -> str:
    return found["rule"] or f"{found['target']} (by {found['where']})"


def _not_linked(log: str) -> list[str]:
    """Return what the linker misses or has twice, with the object that needs it."""
    found, needs = [], ""
    for line in log.splitlines():
        if function := _FUNCTION.fullmatch(line):
            needs = f"{function[1]}: "
        elif wrong := _LINKER.match(line):
            found.append(f"{'' if wrong[1] else needs}{wrong[2]}: {wrong[3]}")
    return found


def _not_applied(log: str) -> list[str]:
    """Return each hunk that the program ``patch`` could not apply."""
    found, file = [], ""
    for line in log.splitlines():
        if named := _FILE.fullmatch(line):
            file = named[1]
        elif hunk := _HUNK.match(line):
            found.append(f"{file}:{hunk[2]}: hunk {hunk[1]} does not apply")
        elif lost := _NO_FILE.match(line):
            found.append(f"line {lost[1]} of the patch: there is no such file in the source")
    return found


def machine(log: str) -> str:
    """Return what of the machine ended a build; empty if nothing did."""
    return next((why for words, why in _MACHINE.items() if re.search(words, log)), "")


def judged(what: str, log: str, hint: str, otherwise: StatusError) -> RunError:
    """Return the error for a build that ended with a status other than 0.

    Args:
        what: what was built.
        log: all that it said.
        hint: where that is kept.
        otherwise: the error that was found, if the log does not tell more.
    """
    if why := machine(log):
        return RunError(
            f"building {what} failed: {why}",
            got=otherwise.got,
            hint=f"not the source's fault; {hint}",
        )
    found = places(log)
    if not found:
        return StatusError(otherwise.what, got=otherwise.got, hint=hint)
    more = f"; and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    got = "; ".join(found[:MOST_NAMED]) + more
    return BuildError(f"cannot build {what}", got=got, hint=hint)
