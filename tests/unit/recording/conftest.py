"""Sockets that stand for those of the kernel."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    mine, kernels = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    mine.setblocking(False)
    with mine, kernels:
        yield mine, kernels
