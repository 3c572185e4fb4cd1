"""Mininet nodes and links that cost no process of their own.

Mininet gives each node an interactive bash and makes each link with a command typed into one.
Starting them costs more in the lab than everything else a network needs. :class:`LabNode` has the
namespace alone and starts a shell when the first command comes; it keeps Mininet's protocol (a
prompt of one DEL character on a pseudo-terminal) but speaks it with dash and sets the terminal up
itself. :class:`LabLink` is a link whose two interfaces are there already.
"""

from __future__ import annotations

import os
import pty
import select
import subprocess
import termios
from typing import Any

from mininet.link import Link
from mininet.node import Node

from mininet_topos.netns import Namespace

PROMPT = chr(127)


class LabNode(Node):  # type: ignore[misc]  # mininet is untyped
    """A Mininet node in a network namespace, with dash for a shell once one is needed."""

    shell: subprocess.Popen[bytes] | None

    def __init__(self, space: Namespace) -> None:
        """Make a node of a namespace."""
        self.space = space
        super().__init__(space.name)

    @classmethod
    def checkSetup(cls) -> None:  # noqa: N802  # Mininet's name
        """Do nothing: the lab image is known to have what Mininet needs."""

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802  # Mininet's name
        """Do nothing: a shell is started by what needs one."""

    @property
    def pid(self) -> int:
        """The process in the namespace that Mininet knows it by: the node's shell."""
        return self._need_shell().pid

    @pid.setter
    def pid(self, nothing: None) -> None:
        """Take Mininet's own first value, which stands for no process yet."""

    def sendCmd(self, *args: Any, **options: Any) -> None:  # noqa: N802  # Mininet's name
        """Type a command into the shell."""
        self._need_shell()
        super().sendCmd(*args, **options)

    def cmd(self, *args: Any, **options: Any) -> Any:
        """Type a command into the shell and return what it says."""
        self._need_shell()
        return super().cmd(*args, **options)

    def _need_shell(self) -> subprocess.Popen[bytes]:
        """Return the dash that runs in the namespace, started and at its prompt if none does."""
        if self.shell is None:
            self.shell = self._start_dash()
            while not self.read(1024).endswith(PROMPT):
                self.pollOut.poll()
        return self.shell

    def _start_dash(self) -> subprocess.Popen[bytes]:
        self.master, self.slave = pty.openpty()
        attributes = termios.tcgetattr(self.slave)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(self.slave, termios.TCSANOW, attributes)
        with self.space.entered():
            shell = subprocess.Popen(
                ["dash", "-is", f"mininet:{self.name}"],
                stdin=self.slave,
                stdout=self.slave,
                stderr=self.slave,
                start_new_session=True,
                env={"PS1": PROMPT, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            )
        self.stdin = os.fdopen(self.master, "r")
        self.stdout = self.stdin
        self.pollOut = select.poll()
        self.pollOut.register(self.stdout)
        self.outToNode[self.stdout.fileno()] = self
        self.inToNode[self.stdin.fileno()] = self
        return shell


class LabLink(Link):  # type: ignore[misc]  # mininet is untyped
    """A Mininet link between two interfaces that one ``ip -batch`` made with all others."""

    @classmethod
    def makeIntfPair(cls, *names: Any, **options: Any) -> None:  # noqa: N802  # Mininet's name
        """Do nothing: the interfaces are there."""
