"""One core for a kernel that is a process and for its programs, which take turns.

On one core a turn costs a context switch; on two it costs waking an idle core, which takes six
times as long. Campaigns bind labs so (:mod:`testbed.machine.workers`). Tests that run side by side
have a core each.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def own_core() -> Iterator[None]:
    """Bind this thread to a core, and whatever it starts meanwhile for good."""
    allowed = sorted(os.sched_getaffinity(0))
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    os.sched_setaffinity(0, {allowed[number % len(allowed)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
