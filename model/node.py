"""A host or router of a built topology, as all that works there sees it.

What samples, captures or starts programs needs no more than this; ``mininet_topos.netns`` has what
builds the network and sets it up too.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol


class Node(Protocol):
    """A name, and a way to do things there."""

    @property
    def name(self) -> str:
        """What it is called in files and messages."""

    def entered(self) -> AbstractContextManager[None]:
        """Enter its network namespace for the block: what is opened or started there stays."""
