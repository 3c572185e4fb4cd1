"""A cluster of this machine for a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed.cluster import address, giving
from tests.support.runs import clusters
from tests.support.runs.cluster_cells import WITHIN_S


@pytest.fixture
def port() -> int:
    """Return a port of this machine that nobody uses now."""
    return clusters.free_port()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., object]]:
    """Return what begins a command of the program, and waits until it says that it runs."""
    with clusters.programs(tmp_path) as begun:
        yield begun.start


@pytest.fixture
def here(port: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return an address of this machine, which runs are told of."""
    monkeypatch.setattr(giving, "NO_WORKER_S", WITHIN_S)  # a busy machine begins them in its time
    text = f"tcp://127.0.0.1:{port}"
    monkeypatch.setenv(address.VARIABLE, text)
    return text


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """Return a folder in which cells leave that they began."""
    folder = tmp_path / "begun"
    folder.mkdir()
    return folder
