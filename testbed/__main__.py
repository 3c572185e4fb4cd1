"""The program ``groundtruth``: every error and every interrupt becomes words and an exit status.

Imports the command only once it can be interrupted decently, and has standard streams.
"""

from __future__ import annotations

import signal
import sys
import traceback
from types import FrameType

from model.errors import Interrupted
from testbed.machine import standard_streams

INTERRUPTED_STATUS = 3
BUG_STATUS = 3
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INTERRUPTED = "groundtruth: interrupted; finished cells are kept; go on with: "


def _interrupt(number: int, frame: FrameType | None) -> None:
    _take_no_more()
    raise Interrupted


def _take_no_more() -> None:
    """Once is enough: what follows is cleaning up, and that must not be interrupted."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def main() -> None:
    """Run the command and exit with its status."""
    standard_streams.make_usable()
    try:
        for number in SIGNALS:
            signal.signal(number, _interrupt)
        from testbed.command.cli import command_status

        status = command_status(sys.argv[1:])
    except (Interrupted, KeyboardInterrupt) as interrupt:
        standard_streams.say(f"{INTERRUPTED}{getattr(interrupt, 'how', Interrupted.how)}")
        status = INTERRUPTED_STATUS
    except BrokenPipeError:
        # Whoever read our output has gone; nobody is left to be told.
        standard_streams.discard(sys.stderr)
        status = standard_streams.UNWRITABLE_STATUS
    except Exception:  # noqa: BLE001  # a bug must not exit with 1, "results disagree"
        standard_streams.say(
            f"{traceback.format_exc()}groundtruth: this is a bug; the lines above say where"
        )
        status = BUG_STATUS
    # Python's end takes a while, and would give signals back to the kernel: the work is done.
    _take_no_more()
    sys.exit(standard_streams.flushed(status))


if __name__ == "__main__":
    main()
