"""What runs on a cluster's machines until it is told to end: a scheduler, and workers.

A worker is one process per core, which a nanny of dask begins again when it dies; a cell's lab ends
with it. One cell at a time runs on a core. Neither serves pages: what dask would show of itself on
another port is in the clear, and ``groundtruth status`` tells how far a run is.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.errors import RunError
from testbed.cluster import address
from testbed.cluster.address import Address
from testbed.cluster.on_worker import CORE_VARIABLE, PREFIX
from testbed.machine import scratch
from testbed.machine.console import words

if TYPE_CHECKING:
    from distributed.core import Server

#: How long a worker looks for its scheduler before it ends.
ALONE_S = 300.0
_SPACE = "groundtruth-dask-"
BEGIN_AGAIN = "begin it again: the scheduler first, then workers"
#: Pages of dask's own: none, and where they would be, nobody else can ask for them.
_NO_PAGES: dict[str, list[str]] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
_UNSEEN = "127.0.0.1:0"


def scheduler(listen: Address) -> None:
    """Run a scheduler at an address until a signal ends it.

    Raises:
        RunError: it cannot listen there.
        UnsupportedError: its keys are missing.
    """
    from distributed import Scheduler  # when needed: it takes a second to load

    with _space() as space:
        given = {
            "host": listen.host.strip("[]"), "port": listen.port, "protocol": listen.scheme,
            "security": address.security(listen), "local_directory": str(space),
            "dashboard": False, "dashboard_address": _UNSEEN,
        }  # fmt: skip
        _run(
            [lambda: Scheduler(**given)], f"scheduler: {listen}", "it ended by itself",
            "end what has the port, or listen elsewhere: groundtruth scheduler tls://HOST:PORT",
        )  # fmt: skip


def worker(of: Address, cores: Sequence[int]) -> None:
    """Run a worker on each of these cores until a signal ends them, or their scheduler is no more.

    Raises:
        RunError: there is no such scheduler, or it went away.
        UnsupportedError: its keys are missing.
    """
    from distributed import Nanny  # when needed, as above

    scratch.sweep(Path(tempfile.gettempdir()), PREFIX)
    with _space() as space:
        given: dict[str, Any] = {
            "nthreads": 1, "memory_limit": 0, "security": address.security(of),
            "local_directory": str(space), "death_timeout": ALONE_S, "protocol": of.scheme,
            "dashboard": False, "dashboard_address": _UNSEEN, "silence_logs": logging.CRITICAL,
            # Of a worker as well, which else listens on all of this machine's addresses.
            "host": of.host.strip("[]") if of.is_of_this_machine else None,
        }  # fmt: skip

        def begin(core: int) -> Server:
            name = f"{socket.gethostname()}-{os.getpid()}-{core}"
            return Nanny(str(of), name=name, env={CORE_VARIABLE: str(core)}, **given)

        makers = [lambda core=core: begin(core) for core in cores]
        _run(
            makers, f"workers: {len(cores)}, of {of}", "the scheduler went away",
            "is its scheduler there, with the same keys? groundtruth cluster-workers tells",
        )  # fmt: skip


def _space() -> contextlib.AbstractContextManager[Path]:
    """Return a folder for what dask leaves, which goes with the block."""
    return scratch.scratch(Path(tempfile.gettempdir()), _SPACE)


def _run(makers: Sequence[Callable[[], Server]], what: str, untold: str, hint: str) -> None:
    import dask  # when needed, as above

    # What it would say of a lost scheduler, with all of its frames, is said here in a line.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with dask.config.set(_NO_PAGES):
        asyncio.run(_until_told(makers, what, untold, hint))


async def _until_told(
    makers: Sequence[Callable[[], Server]], what: str, untold: str, hint: str
) -> None:
    """Run servers, each made in this loop, until a signal comes or one of them ends: ``untold``.

    Where one cannot begin, ``hint`` says what to look at.
    """
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    async with contextlib.AsyncExitStack() as running:
        try:
            servers = [await running.enter_async_context(make()) for make in makers]
        except (OSError, TimeoutError, RuntimeError) as error:
            why = error.__cause__ or error
            raise RunError("cannot begin", where=what, got=str(why)[:300], hint=hint) from error
        words().print(what, soft_wrap=True)
        ends = [asyncio.ensure_future(server.finished()) for server in servers]
        ends.append(asyncio.ensure_future(told.wait()))
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
    if not told.is_set():
        raise RunError(untold, where=what, hint=BEGIN_AGAIN)
