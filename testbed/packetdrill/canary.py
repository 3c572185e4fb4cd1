"""Scripts of our own, one that must pass and one that must fail, run before any verdict counts.

A packetdrill that always ends with status 0, or a kernel on which nothing passes, would give a
verdict on every script all the same. Both scripts open a connection; they differ in one digit, the
acknowledgement that is expected. Invariant: they are run as any script is.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from model.errors import VerifyError
from testbed.packetdrill import results, run
from testbed.packetdrill.run import Asked
from testbed.packetdrill.scripts import IN_LAB, Script, Scripts

FOLDER = "canary"
_TEXT = """\
// {what}
 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000>
+0 > S. 0:0(0) ack {ack} <...>
"""
TEXTS = {
    "passes.pkt": _TEXT.format(what="A connection is accepted: this must pass.", ack=1),
    "fails.pkt": _TEXT.format(what="No kernel acknowledges what never came: must fail.", ack=2),
}


def check(asked: Asked, above: Path, where: str, jobs: int) -> None:
    """Run both scripts as ``asked``; their folder in ``above`` is new.

    Raises:
        VerifyError: one has the wrong verdict, so none of this program and kernel is worth much.
        GroundtruthError: they could not be run.
    """
    folder = above / FOLDER
    shown = folder / "scripts"
    shown.mkdir(parents=True)
    own = Scripts(
        scripts=tuple(
            Script(name=name, folder=IN_LAB, file=name, ways=("ipv4",)) for name in TEXTS
        ),
        files={name: text.encode() for name, text in TEXTS.items()},
    )  # fmt: skip
    own.write(shown)
    asked = dataclasses.replace(asked, scripts=shown)
    passes, fails = run.run_cases(
        own.cases(), asked, folder / "cases", jobs=jobs, report=lambda _done, _of: None
    )
    if passes.passed and not fails.passed:
        return
    raise VerifyError(
        "no verdict of this packetdrill on this kernel can be trusted", where=where,
        wanted="of two scripts of our own, passes.pkt to pass and fails.pkt to fail",
        got="both pass" if passes.passed else
        f"{'both fail' if not fails.passed else 'the reverse'}; passes.pkt: "
        f"{results.one_line(passes.said)}",
        hint="packetdrill may be changed or of another kind, or the kernel accept no connection",
    )  # fmt: skip
