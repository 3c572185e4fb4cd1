"""Whether anybody still waits for the task of dask that runs in this thread of a worker."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

#: How often it is looked.
LOOK_S = 0.5


@contextlib.contextmanager
def wanted() -> Iterator[threading.Event]:
    """Give an event that is set once nobody waits for the task that runs in this thread."""
    from distributed.worker import get_worker, thread_state  # when needed: it takes a second

    cancelled, ended = threading.Event(), threading.Event()
    worker, key = get_worker(), thread_state.key

    def look() -> None:
        while not ended.wait(LOOK_S):
            task = worker.state.tasks.get(key)
            if task is None or task.state in ("cancelled", "resumed"):
                cancelled.set()

    watching = threading.Thread(target=look, daemon=True)
    watching.start()
    try:
        yield cancelled
    finally:
        ended.set()
        watching.join()
