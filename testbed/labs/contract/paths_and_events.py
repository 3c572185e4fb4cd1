"""Labs without several paths, radios, managed queues, fast links or events: how each says so.

Pure.
"""

from __future__ import annotations

from model import units
from model.cell import Cell
from model.errors import UnsupportedError
from testbed.guest import calibration
from testbed.study.kernel_names import USUAL_CLOCK_BPS

HINT = "LAB=virtual runs it"


def check_events(cell: Cell, lab: str) -> None:
    """Raise :class:`UnsupportedError` if anything happens to links: not in this lab.

    In real time an event is as late as the machine is, and nothing says yet how late it may be.
    """
    if cell.events:
        what = f"nothing happens to links in the {lab} lab"
        raise _refused(cell, what, f"event {cell.events[0].id}", HINT)


def check_queues(cell: Cell, lab: str) -> None:
    """Raise :class:`UnsupportedError` if a buffer manages its queue: not in this lab.

    Its kernel may not have the discipline, and in real time a token bucket is as late as the
    machine is.
    """
    if cell.ad_hoc is None and (managed := sorted(cell.wired.disciplines() - {"fifo"})):
        what = f"buffers of the {lab} lab do not manage their queues"
        raise _refused(cell, what, f"queue_discipline {managed[0]}", HINT)


def check_rates(cell: Cell, lab: str) -> None:
    """Raise :class:`UnsupportedError` for a link that is ever faster than 1 Gbit/s: not here."""
    if cell.ad_hoc:
        return
    rates_bps = [way.rate_bps for way in calibration.everywhere(cell.wired)]
    rates_bps += [event.rate_bps for event in cell.events if event.rate_bps is not None]
    if max(rates_bps) > USUAL_CLOCK_BPS:
        raise _refused(
            cell, f"links of the {lab} lab carry at most {units.format_rate(USUAL_CLOCK_BPS)}",
            units.format_rate(max(rates_bps)), HINT,
        )  # fmt: skip


def check_paths(cell: Cell, lab: str) -> None:
    """Raise :class:`UnsupportedError` if there is more than one path, or none of links."""
    check_links(cell, lab)
    if cell.wired.further_paths:
        raise _refused(
            cell, f"the {lab} lab has one path between two hosts",
            f"topology {cell.wired.topology}", HINT,
        )  # fmt: skip


def check_links(cell: Cell, lab: str) -> None:
    """Raise :class:`UnsupportedError` for a network of radios: not in this lab."""
    if cell.ad_hoc:
        raise _refused(
            cell, f"the {lab} lab has no radios", f"topology {cell.network.topology}", HINT
        )


def _refused(cell: Cell, what: str, got: str, hint: str) -> UnsupportedError:
    point = ", ".join(f"{name}={value}" for name, value in cell.point.items())
    where = f"{cell.study}{f' at {point}' if point else ''}"
    return UnsupportedError(what, where=where, got=got, hint=hint)
