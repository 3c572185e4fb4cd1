"""The remote lab as every lab is known: what it promises, what it takes, how it is made ready."""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from model.cell import Cell, Limits
from model.errors import GroundtruthError, UnsupportedError
from testbed.labs.booted import booting, image, lab_code
from testbed.labs.contract import paths_and_events
from testbed.labs.contract.lab import Check, Finding, Lab, Properties, accept_any
from testbed.labs.host import machine_facts
from testbed.labs.host.kind import HostKind
from testbed.labs.remote import bundle, inventory, playbooks, remote_lab
from testbed.labs.remote.connections import connected, last_words
from testbed.labs.remote.inventory import Testbed
from testbed.labs.remote.remote_lab import RemoteLab
from testbed.machine import contents
from testbed.machine.process import BuildReport

FACTS_WITHIN_S = 60.0
#: Prints a machine's kernel, and then a line for each thing that it lacks.
LOOK = """
uname -r
for one in {there}; do [ -e "/sys/class/net/$one" ] || echo "no interface $one"; done
[ ! -e /proc/modules ] || for one in sctp sch_netem; do
	grep -qs "^$one " /proc/modules || modprobe --dry-run --quiet "$one" || echo "no module $one"
done
"""
PREPARE, UNDO = "testbed.yml", "testbed_undo.yml"


@dataclass(frozen=True)
class RemoteKind(HostKind):
    """See :class:`testbed.labs.contract.lab.LabKind`; in real time as the host lab's."""

    properties: Properties = remote_lab.PROPERTIES

    def limits(self, cell: Cell) -> Limits:
        """Return after which times a cell is given up.

        Raises:
            UnsupportedError: there are too few machines for it, or links between them, or it draws
                losses, which some machine's kernel cannot from a seed, has several paths, or
                something happens to its links.
        """
        paths_and_events.check_paths(cell, self.properties.name)
        paths_and_events.check_queues(cell, self.properties.name)
        _testbed(inventory.path()).lent(cell.wired)
        return super().limits(cell)

    def least_release(self) -> str:
        """Return the release of the oldest kernel that a machine runs."""
        releases = _releases(inventory.path())
        return min(releases, key=lambda release: [int(n) for n in re.findall(r"\d+", release)[:2]])

    def check_kernel(self, version: str) -> str:
        """Return a version of the machines' kernel; raise :class:`UnsupportedError` for others."""
        release = _releases(inventory.path())[0]
        if not machine_facts.is_asked(version, release):
            raise UnsupportedError(
                "the remote lab has its machines' kernel and no other", where="KERNEL",
                wanted=version, got=release,
                hint=f"leave KERNEL out, boot that kernel there, or LAB=stock KERNEL={version}",
            )  # fmt: skip
        return version

    def kernel_instead(self, asked: str) -> str:
        """Return the version of the machines with senders and receivers: it stands for all."""
        self.refuse_folder(asked)
        if asked:
            return self.check_kernel(asked)
        return machine_facts.kernel_version(_releases(inventory.path())[0])

    def built_first(self, _kernel_versions: Sequence[str]) -> str:
        """Return what is built before the first cell, and how long that takes; "" for nothing."""
        first = [] if image.built() else ["first built, once, about 3 min: lab image"]
        return "; ".join([*first, "machines are prepared by Ansible, the first time in minutes"])

    def doctor(self, kernel_versions: Sequence[str]) -> list[Finding]:
        """Look at the inventory and its machines; change nothing."""
        from testbed.labs.booted import doctor  # when needed: no other command looks

        found = doctor.examine(
            [], kernels_bytes=0, processor_hint="the lab's image is made of packages for x86_64"
        )
        try:
            testbed = inventory.read(inventory.path())
        except GroundtruthError as error:
            return [
                Finding(name="inventory", state=str(error), well=False, needed=True), *found,
            ]  # fmt: skip
        reached = []
        for machine in testbed.machines():
            try:
                state, well = _looked_at(machine)
            except UnsupportedError as error:
                state, well = str(error), False
            reached.append(
                Finding(name=f"machine {machine.name}", state=state, well=well, needed=True)
            )
        return [*reached, *found]

    def ready(
        self, kernel_versions: Sequence[str], report: BuildReport, check: Check = accept_any
    ) -> Lab:
        """Return the lab, its image built and its machines prepared, if needed."""
        testbed = _testbed(inventory.path())
        root = image.ensure(report)
        code = lab_code.ensure(root, contents.digest(root.parent))
        check(booting.built_first(root, code), image.installed(root))
        archive = bundle.ensure(root, code)
        digest = bundle.digest(archive)
        machines = testbed.machines()
        whole = f"[ ! -e {playbooks.DEPLOYED}/{digest}/complete ] || echo whole"
        if not all(_ask_each(machines, whole)):
            playbooks.play(
                PREPARE,
                testbed.path,
                {"testbed_machine_archive": str(archive), "testbed_machine_digest": digest},
            )
        interfaces = {m.name: sorted(set(m.links.values())) for m in machines}
        with (
            tempfile.TemporaryDirectory() as folder,
            connected(
                machines, f"{playbooks.DEPLOYED}/{digest}", Path(folder), threading.Event()
            ) as connections,
        ):
            for name, connection in connections.by_name.items():
                connection.ask("facts", names=interfaces[name])
            facts = connections.gather("facts", FACTS_WITHIN_S)
        for what in ("kernel_package", "tick_hz"):
            told = {m.name: str(facts[m.name]["machine"][what]) for m in testbed.ends()}
            if len(set(told.values())) > 1:
                raise UnsupportedError(
                    f"machines with senders and receivers differ in {what}",
                    where=str(testbed.path), wanted="the same on all sources and sinks",
                    got=", ".join(f"{name}: {value}" for name, value in told.items()),
                )  # fmt: skip
        return RemoteLab(image=root, code=code, testbed=testbed, digest=digest, facts=facts)

    def clean(self, say: Callable[[str], None]) -> None:
        """Undo what killed runs left on the machines, and remove what was deployed."""
        testbed = inventory.read(inventory.path())
        playbooks.play(UNDO, testbed.path, {})
        say(f"{len(testbed.machines())} machines are as they were")


@functools.cache
def _testbed(place: Path) -> Testbed:
    """Return the machines of an inventory, which is read once."""
    return inventory.read(place)


@functools.cache
def _releases(place: Path) -> list[str]:
    """Return the release of each machine's kernel, the first source's first; all must answer."""
    return _ask_each(_testbed(place).machines(), "uname -r")


def _looked_at(machine: inventory.Machine) -> tuple[str, bool]:
    """Return a machine's kernel, or what it lacks."""
    there = " ".join(shlex.quote(name) for name in sorted(set(machine.links.values())))
    said = _ask(machine, LOOK.format(there=there)).splitlines()
    return f"{said[0]}: {', '.join(said[1:])}" if said[1:] else said[0], not said[1:]


def _ask_each(machines: Sequence[inventory.Machine], command: str) -> list[str]:
    with ThreadPoolExecutor(len(machines)) as pool:
        return list(pool.map(lambda machine: _ask(machine, command), machines))


def _ask(machine: inventory.Machine, command: str) -> str:
    try:
        done = subprocess.run(
            machine.ssh(command), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=FACTS_WITHIN_S, check=False,
        )  # fmt: skip
        failed, stderr = done.returncode != 0, done.stderr
    except subprocess.TimeoutExpired:
        failed, stderr = True, "timed out"
    if failed:
        said, hint = last_words(stderr)
        raise UnsupportedError(
            f"cannot reach the machine {machine.name}", where=machine.address, got=said, hint=hint
        )
    return done.stdout.strip()


REMOTE = RemoteKind()
