"""The machines of the remote lab, from an Ansible inventory: groups, addresses, links.

An inventory has the groups ``sources``, ``routers`` (two, in the order of the data) and ``sinks``;
each machine has ``links``: for each neighbour, by its name in the inventory, the interface that
leads there. How a machine is reached is what Ansible's own variables say.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mininet_topos import dumbbell
from model.errors import RunError, UnsupportedError
from model.links import Network
from testbed.machine.process import output_of

#: Names the file.
VARIABLE = "GROUNDTRUTH_INVENTORY"
DEFAULT = Path("ansible/testbed.yml")
TIMEOUT_S = 60.0
GROUPS = ("sources", "routers", "sinks")
#: What the kernel takes for the name of an interface.
INTERFACE = re.compile(r"[^\s/:]{1,15}")
#: A file that Ansible cannot read is no inventory without machines.
STRICT = "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true"
NO_ANSIBLE = "make setup-dev installs it"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One machine: how it is reached, and which interface leads to which neighbour."""

    name: str
    address: str
    port: int | None
    user: str
    key: str
    arguments: tuple[str, ...]
    python: str
    links: Mapping[str, str]

    def ssh(self, command: str) -> list[str]:
        """Return the command line that runs a command of a shell there as root."""
        argv = [
            "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15",
            "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", *self.arguments,
        ]  # fmt: skip
        argv += ["-p", str(self.port)] if self.port else []
        argv += ["-i", self.key] if self.key else []
        argv += ["-l", self.user] if self.user else []
        # By which address the machine was reached must be known to root as well.
        sudo = f'sudo -n -- env SSH_CONNECTION="$SSH_CONNECTION" sh -c {shlex.quote(command)}'
        as_root = f'[ "$(id -u)" = 0 ] || exec {sudo}; {command}'
        return [*argv, "--", self.address, as_root]


@dataclass(frozen=True, kw_only=True)
class Testbed:
    """All machines by their group, in the order of the inventory."""

    path: Path
    sources: tuple[Machine, ...]
    routers: tuple[Machine, ...]
    sinks: tuple[Machine, ...]

    def machines(self) -> tuple[Machine, ...]:
        """Return all of them."""
        return (*self.sources, *self.routers, *self.sinks)

    def ends(self) -> tuple[Machine, ...]:
        """Return those with senders and receivers."""
        return (*self.sources, *self.sinks)

    def placed(self, network: Network) -> dict[str, Machine]:
        """Return the machine of each node of a network.

        Raises:
            UnsupportedError: there are too few of a group.
        """
        laid_out = dumbbell.lay_out(network, 0)
        found: dict[str, Machine] = {}
        for group, nodes, machines in (
            ("sources", laid_out.sources, self.sources),
            ("routers", laid_out.routers, self.routers),
            ("sinks", laid_out.destinations, self.sinks),
        ):
            if len(machines) < len(nodes):
                raise UnsupportedError(
                    "too few machines for this study", where=f"{self.path}, group {group}",
                    wanted=str(len(nodes)), got=str(len(machines)),
                    hint="add machines, or choose a study or points with fewer hosts",
                )  # fmt: skip
            found |= zip(nodes, machines, strict=False)
        return found

    def lent(self, network: Network) -> dict[str, list[tuple[str, str, str]]]:
        """Return by machine what it lends: ``(interface, node, device)``.

        Raises:
            UnsupportedError: a machine names no interface for a neighbour.
        """
        placed = self.placed(network)
        found: dict[str, list[tuple[str, str, str]]] = {}
        for pair in dumbbell.lay_out(network, 0).links:
            for near, far in (pair, pair[::-1]):
                machine, to = placed[near.node], placed[far.node].name
                if to not in machine.links:
                    raise UnsupportedError(
                        "no interface leads to a neighbour",
                        where=f"{self.path}, {machine.name}, links", wanted=f"{to}: INTERFACE",
                        got=json.dumps(dict(machine.links)),
                    )  # fmt: skip
                link = (machine.links[to], near.node, near.device)
                found.setdefault(machine.name, []).append(link)
        return found


def path() -> Path:
    """Return where the inventory is."""
    return Path(os.environ.get(VARIABLE) or DEFAULT)


def program(name: str) -> str:
    """Return the path of one of Ansible's programs, this environment's first.

    Raises:
        UnsupportedError: it is not installed.
    """
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        raise UnsupportedError(
            "an inventory needs Ansible", wanted=name, got="not there", hint=NO_ANSIBLE
        )
    return found


def read(place: Path) -> Testbed:
    """Return the machines of an inventory.

    Raises:
        UnsupportedError: Ansible is missing, or cannot read it; or it lacks what the lab needs.
    """
    if not place.exists():
        raise UnsupportedError(
            "the remote lab needs an inventory of its machines", where=str(place),
            wanted="groups sources, routers and sinks", got="no such file",
            hint=f"make experiment LAB=remote INVENTORY=FILE, or {VARIABLE}=FILE; "
            "docs/labs.md has one",
        )  # fmt: skip
    return of_listing(listing(place), place)


def listing(place: Path) -> dict[str, Any]:
    """Return an inventory as ``ansible-inventory --list`` says it.

    Raises:
        UnsupportedError: Ansible is missing, or cannot read it.
    """
    try:
        listed = output_of(
            ["env", STRICT, program("ansible-inventory"), "-i", str(place), "--list"], TIMEOUT_S
        )
        found: dict[str, Any] = json.loads(listed)
    except (RunError, ValueError) as error:
        raise UnsupportedError(
            "Ansible cannot read the inventory", where=str(place), got=str(error)
        ) from error
    return found


def address_of(name: str, found: Mapping[str, Any]) -> str:
    """Return where a machine of an inventory is, as Ansible's own variables say."""
    return str(found.get("ansible_host") or found.get("ansible_ssh_host") or name)


def of_listing(listed: Mapping[str, Any], place: Path) -> Testbed:
    """Return the machines of what ``ansible-inventory --list`` says."""
    variables = listed.get("_meta", {}).get("hostvars", {})
    groups = {}
    for group in GROUPS:
        names = listed.get(group, {}).get("hosts", [])
        least, most = (2, 2) if group == "routers" else (1, len(names))
        if not least <= len(names) <= max(least, most):
            many = "few" if len(names) < least else "many"
            raise UnsupportedError(
                f"the inventory has too {many} machines", where=f"{place}, group {group}",
                wanted=str(least) if group == "routers" else f"at least {least}",
                got=str(len(names)),
            )  # fmt: skip
        groups[group] = tuple(_machine(name, variables.get(name, {}), place) for name in names)
    machines = [machine for one in groups.values() for machine in one]
    if twice := _twice(machine.name for machine in machines):
        raise UnsupportedError("a machine is in two groups", where=str(place), got=twice)
    if twice := _twice(f"{one.address} port {one.port or 22}" for one in machines):
        raise UnsupportedError(
            "two machines have one address", where=str(place), got=twice,
            hint="each node of the network is a machine of its own",
        )  # fmt: skip
    names = {*variables, *(machine.name for machine in machines)}
    for machine in machines:
        if unknown := sorted(set(machine.links) - names):
            raise UnsupportedError(
                "a link leads to no machine of the inventory",
                where=f"{place}, {machine.name}, links", wanted=" ".join(sorted(names)),
                got=" ".join(unknown),
            )  # fmt: skip
    return Testbed(path=place, **groups)


def _twice(words: Iterable[str]) -> str:
    return " ".join(word for word, times in Counter(words).items() if times > 1)


def _machine(name: str, found: Mapping[str, Any], place: Path) -> Machine:
    links = found.get("links")
    if not isinstance(links, dict) or not all(isinstance(v, str) for v in links.values()):
        raise UnsupportedError(
            "a machine says not where its links lead", where=f"{place}, {name}, links",
            wanted="a table of NEIGHBOUR: INTERFACE", got=repr(links),
        )  # fmt: skip
    if odd := [name for name in links.values() if not INTERFACE.fullmatch(name)]:
        raise UnsupportedError(
            "no name of an interface", where=f"{place}, {name}, links",
            wanted="at most 15 characters, none of them a space, a slash or a colon", got=odd[0],
        )  # fmt: skip
    if len(set(links.values())) < len(links):
        raise UnsupportedError(
            "an interface leads to two neighbours", where=f"{place}, {name}, links",
            wanted="an interface for each, a VLAN for example", got=json.dumps(links),
        )  # fmt: skip
    arguments = " ".join(
        str(found.get(f"ansible_ssh_{which}_args", "")) for which in ("common", "extra")
    )
    port = found.get("ansible_port") or found.get("ansible_ssh_port")
    if port and not str(port).isdecimal():
        raise UnsupportedError(
            "no port", where=f"{place}, {name}, ansible_port", wanted="a number", got=str(port)
        )
    return Machine(
        name=name,
        address=address_of(name, found),
        port=int(port) if port else None,
        user=str(found.get("ansible_user") or found.get("ansible_ssh_user") or ""),
        key=str(found.get("ansible_ssh_private_key_file") or ""),
        arguments=tuple(shlex.split(arguments)),
        python=_python(str(found.get("ansible_python_interpreter", ""))),
        links=links,
    )


def _python(interpreter: str) -> str:
    """Return the interpreter; Ansible's words for finding one are the usual place."""
    return interpreter if interpreter.startswith("/") else "/usr/bin/python3"
