"""The remote lab: a cell's nodes are machines, each with an agent; together they run the cell.

Here they are brought together: each agent waits at the same moments for the others, time zero is
one moment on all their clocks, which are asked for their time as long as the cell runs, and what
all left is put together. Each machine is changed for one cell and undone after it.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from model import run_folder
from model.cell import Cell, to_dict
from model.check import Check
from model.errors import RunError, UnsupportedError
from model.tolerances import Tolerances
from model.units import NS_PER_S
from testbed.labs.booted import booting, image
from testbed.labs.booted.booting import AGENT
from testbed.labs.contract.lab import Properties, Ran
from testbed.labs.host import machine_facts
from testbed.labs.remote import assemble, playbooks, running_cell
from testbed.labs.remote.assemble import Left, Parts
from testbed.labs.remote.clocks import Shift
from testbed.labs.remote.connections import connected
from testbed.labs.remote.inventory import Machine, Testbed
from testbed.labs.remote.running_cell import RunningCell
from testbed.machine import trees

PROPERTIES = Properties(
    name="remote",
    kernels="those of the machines of an inventory, by ssh",
    clock="real",
    tick_hz=0,
    repeatable=False,
    traces=False,
    at_once=1,
    tolerances=Tolerances(
        delay_s=2e-3,
        event_s=2e-3,
        rate_frac=0.02,
        start_s=10e-3,
        start_per_flow_s=1e-3,
        late_frac=0.05,
    ),
)
#: Agents begin to wait for time zero within it.
HEAD_START_S = "3"


@dataclass(frozen=True, kw_only=True)
class RemoteLab:
    """The image and the code as deployed on the machines of a testbed, and what these are."""

    image: Path
    code: Path
    testbed: Testbed
    digest: str
    facts: Mapping[str, Mapping[str, Any]]
    properties: Properties = PROPERTIES

    def describe(self, kernel_version: str) -> dict[str, str]:
        """Return what the identity of a cell must hold of its lab: image, code and machines."""
        ends = [self.facts[machine.name]["machine"] for machine in self.testbed.ends()]
        package = str(ends[0]["kernel_package"])  # of all ends, when the lab was made ready
        if not machine_facts.is_asked(kernel_version, package):
            raise UnsupportedError(
                "the machines run another kernel", wanted=kernel_version, got=package
            )
        return {
            "name": self.properties.name,
            "clock": self.properties.clock,
            "tick_hz": str(ends[0]["tick_hz"]),
            "head_start_s": HEAD_START_S,
            "kernel": str(ends[0]["kernel"]),
            "kernel_package": package,
            "machine": "; ".join(
                f"{name}: {told['machine']['machine']}, {told['machine']['kernel_package']}"
                for name, told in sorted(self.facts.items())
            ),
            **booting.built_first(self.image, self.code),
        }

    def packages(self) -> dict[str, str]:
        """Return the version of each package in the image, by name."""
        return image.installed(self.image)

    def kernel_config(self, _kernel_version: str) -> str:
        """Return nothing: the machines' kernels are not ours to look into."""
        return ""

    def parts(self) -> tuple[Path, ...]:
        """Return the folders in the cache it is made of."""
        return (self.image.parent, self.code)

    def check_whole(self, *, thorough: bool) -> None:
        """Raise :class:`UnsupportedError` naming files that are not as they were built."""
        booting.check_parts(self.parts(), thorough=thorough)

    @contextlib.contextmanager
    def prepared(self) -> Iterator[None]:
        """Machines are changed for a cell, and undone after it: nothing is to be done here."""
        yield

    def run(self, cell: Cell, folder: Path, cancelled: threading.Event) -> Ran:
        """Run a prepared folder to its end; say how long it took, and how punctual machines were.

        Raises:
            RunError: a machine was lost, or an agent failed: the message names it.
        """
        began_s = time.monotonic()
        placed = self.testbed.placed(cell.wired)
        machines = sorted(placed.values(), key=lambda machine: machine is not placed["r1"])
        places = folder.parent / running_cell.MACHINES
        places.mkdir()
        try:
            checks = self._run(cell, folder, machines, cancelled)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise RunError("a machine says what no session says", got=repr(error)) from error
        finally:
            trees.remove(places)
        return Ran(wall_s=time.monotonic() - began_s, checks=checks)

    def _run(
        self, cell: Cell, folder: Path, machines: Sequence[Machine], cancelled: threading.Event
    ) -> tuple[Check, ...]:
        began_s = time.monotonic()
        placed, lent = self.testbed.placed(cell.wired), self.testbed.lent(cell.wired)
        places = folder.parent / running_cell.MACHINES
        base = f"{playbooks.DEPLOYED}/{self.digest}"
        with (folder.parent / run_folder.CONSOLE).open("w") as console:
            with connected(machines, base, places, cancelled) as connections:
                run = RunningCell(
                    cell=cell, connections=connections, console=console,
                    deadline_s=began_s + cell.limits.wall_s,
                )  # fmt: skip
                for machine in machines:
                    connections.by_name[machine.name].ask(
                        "run", cell=to_dict(cell), machine=machine.name, lend=lent[machine.name],
                        environment=booting.ENVIRONMENT, program=AGENT,
                    )  # fmt: skip
                ended = run.to_end()
                for name, told in ended.items():
                    run.fetch(name, told["files"], places / name)
                known = run.clocks()
            reference = known[machines[0].name]
            left = {
                machine.name: Left(
                    machine=machine.name,
                    folder=places / machine.name,
                    shift=Shift(of=known[machine.name], to=reference),
                )
                for machine in machines
            }
            by_node = {node: left[machine.name] for node, machine in placed.items()}
            parts = Parts(
                cell=cell, left=tuple(left.values()), by_node=by_node, into=folder,
                enough_ns=self.properties.tolerances.delay_s * NS_PER_S,
            )  # fmt: skip
            assemble.assemble(parts)
            self._write_environment(parts, machines)
            _write_clocks(parts)
        return tuple(
            Check(**{**check, "where": name}) for name in ended for check in ended[name]["checks"]
        )

    def _write_environment(self, parts: Parts, machines: Sequence[Machine]) -> None:
        """Write what all machines say of themselves: that of the first source, and each one's."""
        told = {
            one.machine: json.loads((one.folder / run_folder.ENV).read_text()) for one in parts.left
        }
        for name, its in told.items():
            _check_restarted(name, self.facts[name]["machine"], its)
        whole = dict(told[parts.by_node["src1"].machine])
        whole["sysctls"] = {k: v for one in told.values() for k, v in one["sysctls"].items()}
        whole["machines"] = {
            machine.name: {
                **self.facts[machine.name]["machine"],
                "kernel_release": told[machine.name]["kernel_release"],
                "interfaces": self.facts[machine.name]["interfaces"],
                "links": dict(machine.links),
            }
            for machine in machines
        }
        parts.write_json(run_folder.ENV, whole)


def _check_restarted(name: str, ready: Mapping[str, Any], told: Mapping[str, Any]) -> None:
    """Raise :class:`RunError` where a machine runs another kernel than when it was made ready."""
    package = f"{told['kernel_release']} {told['kernel_version']}"
    if package != ready["kernel_package"]:
        raise RunError(
            "a machine runs another kernel than when the run began", where=name,
            wanted=str(ready["kernel_package"]), got=package,
            hint="it was restarted; boot that kernel and resume, or begin another run",
        )  # fmt: skip


def _write_clocks(parts: Parts) -> None:
    """Write how well the machines' clocks are known, and whether that is enough for delays."""
    rows, enough_s = {}, parts.enough_ns / NS_PER_S
    for one in parts.left:
        at_ns = one.shift.to.at_ns
        rows[one.machine] = {
            "ahead_s": (one.shift.of.shows(at_ns) - one.shift.to.shows(at_ns)) / NS_PER_S,
            "drift_ppm": (one.shift.of.drift - one.shift.to.drift) * 1e6,
            "within_s": one.shift.within_ns / NS_PER_S,
            "exchanges": one.shift.of.exchanges,
        }
    # Of two machines that are not the reference: both their own.
    within_s = sum(sorted(one.shift.of.within_ns for one in parts.left)[-2:]) / NS_PER_S
    verify = json.loads((parts.into / run_folder.VERIFY).read_text())
    known = Check(
        check="clocks known", where="all machines",
        wanted=f"within {enough_s * 1e3:g} ms, for one-way delays",
        got=f"within {within_s * 1e3:.3f} ms"
        + ("" if within_s <= enough_s else ": one-way delays are refused"),
        agrees=True if within_s <= enough_s else None,
    )  # fmt: skip
    verify["checks"].append(asdict(known))
    parts.write_json(run_folder.VERIFY, verify)
    parts.write_json(
        run_folder.CLOCKS,
        {
            "schema": 1, "reference": parts.left[0].machine, "machines": rows,
            "within_s": within_s, "enough_s": enough_s, "one_way_delays": within_s <= enough_s,
        },
    )  # fmt: skip
