"""Lend a machine's interfaces to a namespace for a while, and give them back as they were.

A namespace is held by a process that does nothing and outlives whoever started it, so that an
interface that is no hardware (a VLAN, one end of a veth) is not lost with a killed session. What an
interface was like is in a journal before it is touched. Nothing is taken that somebody needs: the
interface by which this machine is reached, one with a default route, one of a bridge or with a
qdisc of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mininet_topos import offloads
from model import plain_files
from model.errors import RunError, UnsupportedError

JOURNAL = "testbed-links.json"
#: In the environment of a process that holds a node's namespace: the node.
HOLDER = "GROUNDTRUTH_NODE"
#: What an interface has that nobody chose.
USUAL_QDISCS = frozenset({"noqueue", "mq", "fq_codel", "pfifo_fast", "fq", "pfifo"})
CLASS = Path("/sys/class/net")
CONF = Path("/proc/sys/net")
#: What the kernel tells of an interface and nobody sets.
PER_INTERFACE = ("ipv4/conf", "ipv4/neigh", "ipv6/conf", "ipv6/neigh")
NOT_SET = frozenset({"stable_secret", "base_reachable_time", "retrans_time", "mtu"})
#: Kinds of routes that come with an address.
OWN_ROUTES = ("local ", "broadcast ", "multicast ", "anycast ")
TIMEOUT_S, HELD_WITHIN_S = 20.0, 5.0
MTU = 1500


@dataclass(frozen=True)
class _Here:
    """This machine's own network."""

    name: str = "the machine"

    def entered(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


@dataclass(frozen=True, kw_only=True)
class Lent:
    """An interface, the node it is lent to, the name it has there, and what it was like."""

    interface: str
    node: str
    device: str
    was: dict[str, Any]


def state(interface: str) -> dict[str, Any]:
    """Return all of an interface that a stay elsewhere would change."""
    (shown,) = _json(["ip", "-j", "address", "show", "dev", interface])
    settings = {}
    for branch in PER_INTERFACE:
        folder = CONF / branch / interface
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.name not in NOT_SET:
                with contextlib.suppress(OSError):
                    settings[str(path.relative_to(CONF))] = path.read_text().strip()
    return {
        "up": "UP" in shown["flags"],
        "mtu": shown["mtu"],
        "mac": shown.get("address", ""),
        "addresses": [
            _address(entry)
            for entry in shown.get("addr_info", ())
            if entry.get("scope") != "link" or entry["family"] == "inet"
        ],
        "offloads": offloads.read(_Here(), interface),
        "settings": settings,
        "routes": sorted(
            line.strip()
            for version in ("-4", "-6")
            for line in _run(["ip", version, "route", "show", "table", "all", "dev", interface])
            .splitlines()
        ),
        "qdiscs": sorted(
            f"{q['kind']} {q.get('parent', 'root')}"
            for q in _json(["tc", "-j", "qdisc", "show", "dev", interface])
        ),
    }  # fmt: skip


def _address(entry: Mapping[str, Any]) -> list[str]:
    """Return the words for ``ip address add`` that give an address again."""
    words = [f"{entry['local']}/{entry['prefixlen']}"]
    for name, option in (("broadcast", "broadcast"), ("label", "label"), ("scope", "scope")):
        if entry.get(name):
            words += [option, str(entry[name])]
    return words


def facts(interface: str) -> dict[str, Any]:
    """Return what an interface is: its driver, speed, and offloads; empty strings for unknown."""
    driver = CLASS / interface / "device" / "driver"
    return {
        "driver": driver.resolve().name if driver.exists() else "none: no hardware",
        "speed_mbps": _text(CLASS / interface / "speed"),
        "mac": _text(CLASS / interface / "address"),
        "mtu": _text(CLASS / interface / "mtu"),
        "offloads": [name for name, on in offloads.read(_Here(), interface).items() if on],
    }


def check(interface: str, reached_at: str) -> None:
    """Raise :class:`UnsupportedError` for an interface that may not be taken.

    ``reached_at`` is the address by which this machine is reached.
    """

    def refuse(why: str, hint: str) -> UnsupportedError:
        return UnsupportedError(
            "this interface is not for experiments", where=interface, got=why, hint=hint
        )

    if not (CLASS / interface).exists():
        there = " ".join(sorted(path.name for path in CLASS.iterdir()))
        raise UnsupportedError(
            "no such interface", where=interface, wanted="one of this machine", got=there,
            hint="the machine's links in the inventory",
        )  # fmt: skip
    (shown,) = _json(["ip", "-j", "address", "show", "dev", interface])
    own = {entry["local"] for entry in shown.get("addr_info", ())}
    if "LOOPBACK" in shown["flags"]:
        raise refuse("it is the loopback", "name one that leads to the neighbour")
    if reached_at in own:
        raise refuse(
            f"the machine is reached by it ({reached_at})", "the management network is never shaped"
        )
    for version in ("-4", "-6"):
        if _run(["ip", version, "route", "show", "default", "dev", interface]).strip():
            raise refuse("the machine's default route uses it", "name one of the experiment's")
    if "master" in shown:
        raise refuse(f"it is part of {shown['master']}", "take it out of that first")
    kinds = {q["kind"] for q in _json(["tc", "-j", "qdisc", "show", "dev", interface])}
    if kinds - USUAL_QDISCS:
        own_kinds = " ".join(sorted(kinds - USUAL_QDISCS))
        raise refuse(f"it has a qdisc of somebody's: {own_kinds}", "remove that first")


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
        check(interface, reached_at)
    lent = [
        Lent(interface=interface, node=node, device=device, was=state(interface))
        for interface, node, device in wanted
    ]
    text = json.dumps([asdict(one) for one in lent]) + "\n"
    plain_files.write_text(folder / JOURNAL, text)
    held: dict[str, tuple[int, dict[str, str]]] = {}
    for node in dict.fromkeys(one.node for one in lent):
        held[node] = _hold(node), {}
    for one in lent:
        pid, macs = held[one.node]
        _run(["ip", "link", "set", "dev", one.interface, "down"])
        target = ["netns", str(pid), "name", one.device]
        _run(["ip", "link", "set", "dev", one.interface, *target])
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
                for word in (place / "environ").read_bytes().split(b"\0"):
                    if word.startswith(mark) and int(place.name) != os.getpid():
                        yield int(place.name), word.removeprefix(mark).decode()


def give_back(folder: Path, say: Callable[[str], None]) -> None:
    """Give back all that was lent, as it was; end the namespaces.

    Raises:
        RunError: an interface is gone, or is not as it was; the journal then stays.
    """
    wrong = []
    held = {node: pid for pid, node in holders()}
    journal = folder / JOURNAL
    lent = (
        [Lent(**one) for one in json.loads(plain_files.read_text(journal))]
        if journal.exists()
        else []
    )
    for one in lent:
        try:
            _give_one_back(one, held.get(one.node))
            say(f"interface {one.interface}: given back")
        except (RunError, OSError, ValueError) as error:
            wrong.append(f"{one.interface}: {error}")
    if wrong:
        raise RunError(
            "an interface is not as it was", where=str(journal), got="; ".join(wrong),
            hint="groundtruth clean --lab remote tries again",
        )  # fmt: skip
    for pid in held.values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    journal.unlink(missing_ok=True)


def _give_one_back(one: Lent, pid: int | None) -> None:
    if not (CLASS / one.interface).exists():
        if pid is None:
            raise RunError("it is gone", hint="it was no hardware, and its namespace was ended")
        for words in (["down"], ["netns", str(os.getpid()), "name", one.interface]):
            _inside(pid, ["ip", "link", "set", "dev", one.device, *words])
    was, interface = one.was, one.interface
    _run(["ip", "link", "set", "dev", interface, "mtu", str(was["mtu"])])
    offloads.restore(interface, was["offloads"])
    if was["up"]:
        _run(["ip", "link", "set", "dev", interface, "up"])
    _set(was["settings"])
    for words in was["addresses"]:
        _run(["ip", "address", "replace", *words, "dev", interface])
    for line in was["routes"]:
        if "proto kernel" not in line and not line.startswith(OWN_ROUTES):
            _run(["ip", "route", "replace", *line.split(), "dev", interface])
    now = state(interface)
    other = [name for name in was if name != "qdiscs" and now[name] != was[name]]
    if other:
        told = ", ".join(f"{name}: was {was[name]}, is {now[name]}" for name in other)
        raise RunError("not as it was", got=told[:600])


def _set(settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        path = CONF / name
        with contextlib.suppress(OSError):
            if path.read_text().strip() != value:
                path.write_text(f"{value}\n")


def _inside(pid: int, argv: list[str]) -> str:
    return _run(["nsenter", f"--net=/proc/{pid}/ns/net", *argv])


def _json(argv: list[str]) -> Any:
    return json.loads(_run(argv) or "[]")


def _run(argv: list[str]) -> str:
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RunError(f"{' '.join(argv)} failed", got=done.stderr.strip() or "no output")
    return done.stdout


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
