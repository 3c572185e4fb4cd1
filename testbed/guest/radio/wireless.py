"""A cell's network of radios inside a lab: built, warmed up, ended with all that it counted.

Invariants: the medium is there before the first radio and after the last; nodes stand where they
are at time zero until then; each radio is routed for before they are warm.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collectors.recording import compressing
from mininet_topos.netns import Journal, Namespace, create
from mininet_topos.radio import audit, medium, radios
from model import run_folder
from model.ad_hoc import AdHoc
from model.cell import Cell
from model.check import Check
from model.errors import RunError
from model.units import NS_PER_S
from testbed.guest.radio.layout import RadioLayout, lay_out, medium_options, wanted_radios
from testbed.guest.routing.adapter import Router, heres
from testbed.guest.routing.registry import adapter_of

#: To start all that there is, at most, before nodes warm up.
SET_UP_S = 10
END_S = 100.0


@dataclass(frozen=True, kw_only=True)
class Wireless:
    """What runs besides the flows, and time zero of where nodes are."""

    network: AdHoc
    laid_out: RadioLayout
    folder: Path
    medium: medium.Medium
    #: What the medium writes of all that it carries, if it is captured.
    capture: Path | None
    routers: Sequence[Router]
    epoch_ns: int

    def end(self) -> list[Check]:
        """End what routes, then the medium, keep what they said; return whether it adds up.

        Raises:
            RunError: one of them did not end well.
        """
        for running in self.routers:
            running.terminate()
        for running in self.routers:
            running.finish(END_S)
        totals = self.medium.end()
        if self.capture:
            compressing.replaced(self.capture)
        place = self.folder / run_folder.MEDIUM
        place.write_text(json.dumps(totals, indent=1, sort_keys=True) + "\n")
        return checks(totals)

    def mark_at(
        self, once: Callable[[int, Callable[[int], None]], None], from_ns: int, to_ns: int
    ) -> None:
        """Have what routes take down what it counted when the run begins, and when it ends.

        ``once`` has something done at a time (CLOCK_MONOTONIC); of routers that do not ask for it
        nothing is.
        """
        marked = [router for router in self.routers if router.is_marked]
        if not marked:
            return

        def mark(t_ns: int) -> None:
            for router in marked:
                router.mark(t_ns)

        for t_ns in (from_ns, to_ns):
            once(t_ns, mark)


def build(
    cell: Cell, network: AdHoc, moved: bytes, routes: Mapping[str, Mapping[str, str]],
    folder: Path, journal: Journal,
) -> tuple[dict[str, Namespace], Wireless]:  # fmt: skip
    """Make nodes, medium, radios and what routes; return them, not yet warmed up.

    ``moved`` is the content of movement.csv, which says where the nodes are;
    ``routes`` are the options of each node's routes, by iproute2's names. Of a calibrating cell the
    medium lists all transmissions.
    """
    place = folder / "raw" / "radio"
    place.mkdir(parents=True)
    (folder / "raw" / "routing").mkdir()
    names = network.node_names()
    spaces = create(names, journal)
    wanted = wanted_radios(network)
    (folder / run_folder.RADIOS).write_text(medium.table(wanted, names))
    (folder / run_folder.MOVEMENT).write_bytes(moved)
    ahead_s = SET_UP_S + network.warm_up_s
    epoch_ns = (int(time.monotonic_ns() / NS_PER_S + ahead_s) + 1) * NS_PER_S
    files = {
        "radios-file": folder / run_folder.RADIOS, "movement-file": folder / run_folder.MOVEMENT,
    }  # fmt: skip
    capture = None
    if cell.collect.pcap:
        capture = folder / run_folder.MEDIUM_CAPTURE.removesuffix(run_folder.COMPRESSED)
        files["pcap"] = capture
    if cell.purpose == "calibrate":
        files["frames"] = folder / run_folder.FRAMES
    argv = medium.command(files, medium_options(network, cell.seed, epoch_ns))
    running = medium.start(argv, place / "medium.jsonl")
    radios.bring_up(wanted, spaces)
    adapter = adapter_of(network.routing)
    nodes = {here.node.name: here for here in heres(network, spaces, folder, routes)}
    for here in nodes.values():
        adapter.set_up(here)
    routers = [adapter.start(nodes[radio.node], radio) for radio in network.radios()]
    wireless = Wireless(
        network=network, laid_out=lay_out(network), folder=folder, medium=running,
        capture=capture, routers=routers, epoch_ns=epoch_ns,
    )  # fmt: skip
    return spaces, wireless


def wait_for_time_zero(wireless: Wireless, ahead_s: int) -> int:
    """Wait until so long before time zero, when nodes have warmed up; return time zero.

    Raises:
        RunError: it is later than that already.
    """
    left_ns = wireless.epoch_ns - ahead_s * NS_PER_S - time.monotonic_ns()
    if left_ns < 0:
        raise RunError(
            "nodes were not ready in time", wanted=f"{ahead_s} s before time zero",
            got=f"{-left_ns / NS_PER_S:.3f} s later",
        )  # fmt: skip
    time.sleep(left_ns / NS_PER_S)
    return wireless.epoch_ns


def checks(totals: Mapping[str, Any]) -> list[Check]:
    """Return the sums of the medium's counters that do not close, or that all do."""
    sums: Sequence[audit.Sum] = audit.audit(totals)
    wrong = [one for one in sums if not one.closes]
    made = [
        Check(check="sum of the medium's counters", where=one.what, wanted=str(one.wanted),
              got=str(one.got), agrees=False)
        for one in wrong
    ]  # fmt: skip
    return made or [
        Check(
            check="sums of the medium's counters", where="all radios", wanted=f"{len(sums)} close",
            got=f"{len(sums)} close", agrees=True,
        )
    ]  # fmt: skip
