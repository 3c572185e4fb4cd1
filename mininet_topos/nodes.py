"""Mininet nodes that start fast.

Mininet gives each node an interactive bash; starting it costs more in the lab than everything
else a node needs. :class:`LabNode` keeps Mininet's protocol (a prompt of one DEL character on a
pseudo-terminal) but speaks it with dash and sets the terminal up itself.
"""

from __future__ import annotations

import os
import pty
import select
import termios

from mininet.node import Node

from mininet_topos.netns import Journal, Namespace

PROMPT = chr(127)


class LabNode(Node):  # type: ignore[misc]  # mininet is untyped
    """A Mininet node in its own network namespace, with dash for a shell."""

    @classmethod
    def checkSetup(cls) -> None:  # noqa: N802  # Mininet's name
        """Do nothing: the lab image is known to have what Mininet needs."""

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802  # Mininet's name
        """Start dash under mnexec in a new namespace and wait for its first prompt."""
        self.master, self.slave = pty.openpty()
        attributes = termios.tcgetattr(self.slave)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(self.slave, termios.TCSANOW, attributes)
        self.shell = self._popen(
            ["mnexec", mnopts or "-cdn", "dash", "-is", f"mininet:{self.name}"],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            close_fds=False,
            env={"PS1": PROMPT, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        )
        self.stdin = os.fdopen(self.master, "r")
        self.stdout = self.stdin
        self.pid = self.shell.pid
        self.pollOut = select.poll()
        self.pollOut.register(self.stdout)
        self.outToNode[self.stdout.fileno()] = self
        self.inToNode[self.stdin.fileno()] = self
        self.execed = False
        self.lastCmd = self.lastPid = None
        self.readbuf = ""
        while not self.read(1024).endswith(PROMPT):
            self.pollOut.poll()
        self.waiting = False

    def namespace(self, journal: Journal) -> Namespace:
        """Return the node's network namespace, whose commands go to ``journal``."""
        return Namespace(name=self.name, pid=self.pid, journal=journal)
