"""A machine with Debian's kernel that runs a study in the host lab while other tests run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.labs.stock.stock_lab import StockLab
from tests.support.machines import emulated, quick

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Running:
    """What the machine may write, and what waits for its end for so many seconds."""

    folder: Path
    said: Callable[[float], str]


@pytest.fixture(scope="session")
def debian() -> StockLab:
    """The stock lab, whose kernel the machine has."""
    return emulated.debian()


@pytest.fixture(scope="session", autouse=True)
def on_debian(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running | None]:
    """A run of a study there, begun before the first test of this folder: it takes minutes."""
    if not any("untouched" in getattr(item, "fixturenames", ()) for item in request.session.items):
        yield None
        return
    folder = tmp_path_factory.mktemp("debian")
    script = f"$PYTHON -m tests.lab.host.programs.untouched {HERE}/wireless.yaml\n"
    with quick.started(request.getfixturevalue("debian"), folder, script) as said:
        yield Running(folder, said)
