"""Lend a machine's interfaces to a namespace for a while, and give them back as they were.

A namespace is held by a process that does nothing and outlives whoever started it, so that an
interface that is no hardware (a VLAN, one end of a veth) is not lost with a killed session. What an
interface was like is in a journal before it is touched. Nothing is taken that somebody needs, or
that could not be given back: the interface by which this machine is reached, one with a default
route, one that others are part of or rest on, one with a qdisc or with addresses by DHCP.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from model import plain_files
from model.errors import RunError
from testbed.labs.remote.on_machine import features, interfaces

JOURNAL = "testbed-links.json"
#: In the environment of a process that holds a node's namespace: the node.
HOLDER = "GROUNDTRUTH_NODE"
HELD_WITHIN_S = 5.0
MTU = 1500


@dataclass(frozen=True, kw_only=True)
class Lent:
    """An interface, the node it is lent to, the name it has there, and what it was like."""

    interface: str
    node: str
    device: str
    was: dict[str, Any]


def lend(
    wanted: Iterable[tuple[str, str, str]], folder: Path, reached_at: str
) -> dict[str, tuple[int, dict[str, str]]]:
    """Lend interfaces, each ``(interface, node, device)``; return by node its holder and MACs.

    Raises:
        UnsupportedError: one may not be taken; none was.
        RunError: a command failed; :func:`give_back` undoes what was done.
    """
    wanted = list(wanted)
    for interface, _, _ in wanted:
        interfaces.check(interface, reached_at)
    lent = [
        Lent(interface=interface, node=node, device=device, was=interfaces.state(interface))
        for interface, node, device in wanted
    ]
    text = json.dumps([asdict(one) for one in lent]) + "\n"
    plain_files.write_text(folder / JOURNAL, text)
    held: dict[str, tuple[int, dict[str, str]]] = {}
    for node in dict.fromkeys(one.node for one in lent):
        held[node] = _hold(node), {}
    for one in lent:
        # The agent switches off what any interface has. This hardware has, or what it rests on.
        features.want(one.interface, dict.fromkeys(("rx-gro-hw", "rx-lro"), False))
        for lower, merging in one.was["below"].items():
            features.want(lower, dict.fromkeys(merging, False))
        pid, macs = held[one.node]
        interfaces.run(["ip", "link", "set", "dev", one.interface, "down"])
        target = ["netns", str(pid), "name", one.device]
        interfaces.run(["ip", "link", "set", "dev", one.interface, *target])
        if one.was["mtu"] != MTU:
            _inside(pid, ["ip", "link", "set", "dev", one.device, "mtu", str(MTU)])
        macs[one.device] = one.was["mac"]
    return held


def _hold(node: str) -> int:
    """Return the process that holds a new namespace."""
    holder = subprocess.Popen(
        ["unshare", "--net", "sleep", "infinity"], start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={"PATH": os.defpath, HOLDER: node},
    )  # fmt: skip
    own = Path("/proc/self/ns/net").stat().st_ino
    until_s = time.monotonic() + HELD_WITHIN_S
    while holder.poll() is None and time.monotonic() < until_s:
        if Path(f"/proc/{holder.pid}/ns/net").stat().st_ino != own:
            # A network of its own says nothing unasked: no loss model may see such packets.
            for each in ("all", "default"):
                switch = f"/proc/sys/net/ipv6/conf/{each}/disable_ipv6"
                _inside(holder.pid, ["sh", "-c", f"[ ! -e {switch} ] || echo 1 >{switch}"])
            return holder.pid
        time.sleep(0.01)
    raise RunError("cannot make a network namespace", where=node, got=f"{holder.poll()}")


def holders() -> Iterator[tuple[int, str]]:
    """Yield the processes that hold namespaces, and whose."""
    mark = f"{HOLDER}=".encode()
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with contextlib.suppress(OSError):
                if place.stat().st_uid != 0:  # anybody may call himself so
                    continue
                for word in _environment(place).split(b"\0"):
                    if word.startswith(mark) and int(place.name) != os.getpid():
                        yield int(place.name), word.removeprefix(mark).decode()


def _environment(process: Path) -> bytes:
    """Return the environment of a process, given its folder in /proc.

    One that is becoming another program has none yet, and is waited for: no holder is missed.
    """
    until_s = time.monotonic() + HELD_WITHIN_S
    while not (text := (process / "environ").read_bytes()):
        (process / "exe").readlink()  # raises for what has no program: a kernel's own, an ended one
        stat = (process / "stat").read_text().rpartition(")")[2].split()
        start, end = stat[-3:-1]
        if start == end != "0" or time.monotonic() > until_s:
            break
        time.sleep(0.001)
    return text


def give_back(folder: Path, say: Callable[[str], None]) -> None:
    """Give back all that was lent, as it was; end the namespaces.

    Raises:
        RunError: an interface is gone, or is not as it was; the journal then stays.
    """
    wrong = []
    held = {node: pid for pid, node in holders()}
    journal = folder / JOURNAL
    lent = _read(journal) if journal.exists() else []
    left = []
    for one in lent:
        try:
            if _give_one_back(one, held.get(one.node)):
                say(f"interface {one.interface}: given back")
            else:
                wrong.append(f"{one.interface} is gone: it was no hardware, and its holder ended")
        except (RunError, OSError, ValueError, LookupError) as error:
            left.append(one)
            wrong.append(f"{one.interface}: {error}")
    if left:
        plain_files.write_text(journal, json.dumps([asdict(one) for one in left]) + "\n")
    else:
        for pid in held.values():
            with contextlib.suppress(ProcessLookupError):
                _end(pid)
        journal.unlink(missing_ok=True)
    if wrong:
        raise RunError(
            "an interface is not as it was", where=str(journal), got="; ".join(wrong),
            hint="groundtruth clean --lab remote tries again" if left else "make it again",
        )  # fmt: skip


def _read(journal: Path) -> list[Lent]:
    """Return what was lent.

    Raises:
        RunError: that cannot be read, as of another version of this program; all is left as it is.
    """
    try:
        return [Lent(**one) for one in json.loads(plain_files.read_text(journal))]
    except (ValueError, TypeError) as error:
        raise RunError(
            "cannot read what was lent", where=str(journal), got=str(error),
            hint="a restart of the machine gives it back",
        ) from error  # fmt: skip


def _give_one_back(one: Lent, pid: int | None) -> bool:
    """Give an interface back as it was; return whether there is such a one any more."""
    was, interface = one.was, one.interface
    _merge_again(was["below"])
    if pid is not None and one.device in _names(["nsenter", f"--net=/proc/{pid}/ns/net"]):
        for words in (["down"], ["netns", str(os.getpid()), "name", interface]):
            _inside(pid, ["ip", "link", "set", "dev", one.device, *words])
    elif interfaces.text(interfaces.CLASS / interface / "address") != was["mac"]:
        # Its namespace was ended: the kernel brings hardware back under the name it had there.
        if interfaces.text(interfaces.CLASS / one.device / "address") != was["mac"]:
            return False
        interfaces.run(["ip", "link", "set", "dev", one.device, "down"])
        interfaces.run(["ip", "link", "set", "dev", one.device, "name", interface])
    interfaces.run(["ip", "link", "set", "dev", interface, "mtu", str(was["mtu"])])
    features.want(interface, was["offloads"])
    if was["up"]:
        interfaces.run(["ip", "link", "set", "dev", interface, "up"])
    _set(was["settings"])
    for words in was["addresses"]:
        interfaces.run(["ip", "address", "replace", *words, "dev", interface])
    # A way to a gateway comes before what leads over it.
    for line in sorted(was["routes"], key=lambda line: " via " in line):
        version, *words = line.split()
        interfaces.run(["ip", version, "route", "replace", *words, "dev", interface])
    for line in was["neighbours"]:
        words = [word for word in line.split() if word != "PERMANENT"]
        interfaces.run(["ip", "neighbor", "replace", *words, "dev", interface, "nud", "permanent"])
    now = interfaces.state(interface)
    other = [name for name in was if now[name] != was[name]]
    if other:
        told = ", ".join(f"{name}: was {was[name]}, is {now[name]}" for name in other)
        raise RunError("not as it was", got=told[:600])
    return True


def _end(pid: int) -> None:
    """Kill a process, and wait until it has ended."""
    handle = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        select.select([handle], [], [], HELD_WITHIN_S)
    finally:
        os.close(handle)


def _merge_again(below: Mapping[str, Mapping[str, bool]]) -> None:
    for lower, merging in below.items():
        if (interfaces.CLASS / lower).exists():
            features.want(lower, merging)


def _names(within: list[str]) -> set[str]:
    """Return the names of interfaces; ``within`` is a command's beginning."""
    return {
        link["ifname"] for link in json.loads(interfaces.run([*within, "ip", "-j", "link", "show"]))
    }


def _set(settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        path = interfaces.CONF / name
        with contextlib.suppress(OSError):
            if path.read_text().strip() != value:
                path.write_text(f"{value}\n")


def _inside(pid: int, argv: list[str]) -> str:
    return interfaces.run(["nsenter", f"--net=/proc/{pid}/ns/net", *argv])
