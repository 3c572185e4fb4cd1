"""Workers of dask that have no lab: each sleeps as long as a cell took, and sends what one left.

    .venv/bin/python -m benchmarks.simulated_workers tcp://127.0.0.1:8786 100 FOLDER

All are in this one process. ``FOLDER`` has of each cell how long it takes and the archive of what
it leaves, by its id. ``benchmarks/cluster_saturation.py`` begins this.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import tempfile
import time
from pathlib import Path

import dask
from distributed import Worker
from distributed.worker import get_worker

from testbed.cluster import on_worker
from testbed.cluster.parcel import Parcel, Returned

#: Files of a cell in the folder, by its id.
LENGTH, PACKED = "length", "packed"


async def run(scheduler: str, count: int, place: Path) -> None:
    """Run so many workers until a signal comes."""

    def work(given: Parcel) -> Returned:
        time.sleep(float((place / f"{given.id}.{LENGTH}").read_text()))
        packed = (place / f"{given.id}.{PACKED}").read_bytes()
        return Returned(worker="simulated", address=get_worker().address, packed=packed)

    on_worker.work = work  # what tasks name is looked up here
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    with tempfile.TemporaryDirectory(prefix="simulated-") as space:
        workers = [
            Worker(
                scheduler, nthreads=1, name=f"simulated-{number}", memory_limit=0,
                local_directory=space, dashboard=False, host="127.0.0.1",
            )
            for number in range(count)
        ]  # fmt: skip
        await asyncio.gather(*workers)
        sys.stdout.write(f"{count} workers\n")
        sys.stdout.flush()
        await told.wait()
        await asyncio.gather(*(one.close(nanny=False) for one in workers))


if __name__ == "__main__":
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with dask.config.set({"distributed.worker.http.routes": []}):
        asyncio.run(run(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
