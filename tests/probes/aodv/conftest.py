"""Builds the AODV programs in the lab's image, with sanitizers, once for all tests here."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.labs.booted import image
from testbed.labs.confinement import lab_user
from testbed.labs.confinement.sandbox import Sandbox
from testbed.machine.process import run_logged
from tests.support.aodv.node import ME, AodvNode

ROOT = Path(__file__).parents[3]
FOLDERS = ("probes/common", "mininet_topos/aodv")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
BUILD_TIMEOUT_S = 300.0

NewNode = Callable[..., AodvNode]


@dataclass(frozen=True)
class Built:
    folder: Path
    image: Path

    def argv(self, program: str) -> list[str]:
        libraries = self.image / LIBRARIES
        loader = libraries / "ld-linux-x86-64.so.2"
        return [str(loader), "--library-path", str(libraries), str(self.folder / program)]


@pytest.fixture(scope="session")
def built_aodv(tmp_path_factory: pytest.TempPathFactory) -> Built:
    root = image.ensure(lambda _what, _done: None)
    folder = tmp_path_factory.mktemp("aodv")
    for name in FOLDERS:
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__*__*", "build")
        )
    command = f"make -s -j{os.cpu_count() or 1} -C /cell/mininet_topos/aodv OUT=/cell/bin"
    with lab_user.lent(folder) as uid:
        sandbox = Sandbox(image=root, uid=uid, writable={"/cell": folder})
        run_logged(
            sandbox.argv([*command.split(), "SANITIZE=1", "CFLAGS=-O1"]),
            log=folder / "build.log", what="compiling AODV", timeout_s=BUILD_TIMEOUT_S,
        )  # fmt: skip
    return Built(folder / "bin", root)


@pytest.fixture
def node(built_aodv: Built) -> Iterator[NewNode]:
    """Start state machines; keywords change members of its configuration."""
    with contextlib.ExitStack() as stack:

        def start(
            *, interfaces: tuple[str, ...] = (ME,), others: tuple[str, ...] = (), **config: int
        ) -> AodvNode:
            started = AodvNode(built_aodv.argv("aodv_core_drive"), interfaces, others, **config)
            stack.callback(started.close)
            return started

        yield start
