"""The agent of a cell on a machine of the remote lab: in the image's files, beside its session.

What it says is passed on to who asks the session, and what it must hear comes from there.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.guest.team import GO_ON, MEET
from testbed.labs.remote.on_machine.lines import SILENCE_S, Lines, Lost, say, tell_clock

#: Not every kernel has these.
IPC = Path("/proc/self/ns/ipc")
#: In the image's files, with the machine's own network: the agent finds its nodes by descriptors.
FIRST_PROGRAM = """
set -e
cd /
root=$1/image
mount --rbind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount --rbind /dev "$root/dev"
for place in tmp run gt; do mount -t tmpfs tmpfs "$root/$place"; done
mkdir "$root/gt/code"
mount --bind "$1/code" "$root/gt/code"
mount --bind "$2" "$root/cell"
hostname lab
shift 2
exec chroot "$root" /usr/bin/env -i "$@"
"""


def run(
    base: Path, folder: Path, spaces: Sequence[int], environment: Mapping[str, str],
    program: Sequence[str], heard: Lines,
) -> int:  # fmt: skip
    """Run it to its end, with all that it starts; return its status.

    Args:
        base: where the deployed files are.
        folder: the cell's.
        spaces: descriptors of its nodes' namespaces.
        environment: of its own, and no other variable.
        program: what it is.
        heard: what is asked of the session meanwhile.

    Raises:
        Lost: nobody speaks to the session any more.
    """
    words = [f"{name}={value}" for name, value in environment.items()]
    agent = subprocess.Popen(
        [
            "setpriv", "--pdeathsig", "KILL",
            "unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--uts",
            *(["--ipc"] if IPC.exists() else []), "--propagation", "private",
            "sh", "-c", FIRST_PROGRAM, "lab", str(base), str(folder), *words, *program,
        ],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        pass_fds=spaces,
    )  # fmt: skip
    assert agent.stdin is not None
    assert agent.stdout is not None
    try:
        _pass_between(heard, Lines(agent.stdout.fileno()), agent.stdin.fileno())
        return agent.wait()
    finally:
        agent.kill()
        agent.wait()
        agent.stdin.close()
        agent.stdout.close()


def _pass_between(heard: Lines, said: Lines, answers: int) -> None:
    """Pass on what is said on both sides until the agent says nothing any more."""
    heard_s = time.monotonic()
    while True:
        for line in heard.taken():
            _heed(json.loads(line), answers)
        left_s = heard_s + SILENCE_S - time.monotonic()
        ready = select.select([heard.handle, said.handle], [], [], max(0.0, left_s))[0]
        if heard.handle in ready:
            heard.read()
            heard_s = time.monotonic()
        elif left_s <= 0:  # whatever the agent says
            raise Lost
        if said.handle in ready:
            try:
                said.read()
            except Lost:
                return
            for line in said.taken():
                _pass_on(line)


def _heed(asked: dict[str, Any], answers: int) -> None:
    what = asked.pop("do")
    if what == "clock":
        tell_clock(**asked)
    elif what == "go on":
        with contextlib.suppress(BrokenPipeError):
            os.write(answers, f"{GO_ON}{json.dumps(asked['told'])}\n".encode())


def _pass_on(line: str) -> None:
    if line.startswith(MEET):
        what, told = json.loads(line.removeprefix(MEET))
        say("meet", what=what, told=told)
    else:
        say("console", line=line)
