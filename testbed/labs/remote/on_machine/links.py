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
import re
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
from testbed.machine.process import output_of

JOURNAL = "testbed-links.json"
#: In the environment of a process that holds a node's namespace: the node.
HOLDER = "GROUNDTRUTH_NODE"
CLASS = Path("/sys/class/net")
CONF = Path("/proc/sys/net")
#: What the kernel tells of an interface and nobody sets.
PER_INTERFACE = ("ipv4/conf", "ipv4/neigh", "ipv6/conf", "ipv6/neigh")
NOT_SET = frozenset({"stable_secret", "base_reachable_time", "retrans_time", "mtu"})
VERSIONS = ("-4", "-6")
NEIGHBOURS = ("ip", "neighbor", "show", "nud", "permanent")
#: What a route is called just now, which changes by itself.
PASSING = re.compile(r" (linkdown|dead|onlink|pref \w+|expires -?\d+sec|nhid \d+)\b")
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
        "neighbours": sorted(_run([*NEIGHBOURS, "dev", interface]).splitlines()),
        "routes": sorted(
            f"{version} {' '.join(route.split())}"
            for version in VERSIONS
            for line in _run(["ip", version, "route", "show", "table", "all", "dev", interface])
            .splitlines()
            if (route := _set_route(line))
        ),
        "offloads": offloads.read(_Here(), interface),
        "settings": settings,
    }  # fmt: skip


def _set_route(line: str) -> str:
    """Return a route that somebody set, without what it is just now; empty for the kernel's own."""
    if " proto kernel" in line or line.startswith(OWN_ROUTES):
        return ""
    return PASSING.sub("", line)


def _address(entry: Mapping[str, Any]) -> list[str]:
    """Return the words for ``ip address add`` that give an address again."""
    words = [f"{entry['local']}/{entry['prefixlen']}"]
    if "address" in entry:
        words = [entry["local"], "peer", f"{entry['address']}/{entry['prefixlen']}"]
    for name in ("broadcast", "label", "scope"):
        if entry.get(name):
            words += [name, str(entry[name])]
    return words + [flag for flag in ("noprefixroute", "nodad", "home") if entry.get(flag)]


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
    if not (CLASS / interface).exists():
        there = " ".join(sorted(path.name for path in CLASS.iterdir()))
        raise UnsupportedError(
            "no such interface", where=interface, wanted="one of this machine", got=there,
            hint="the machine's links in the inventory",
        )  # fmt: skip
    for why, hint in (*_needed_for(interface, reached_at), *_not_given_back(interface)):
        raise UnsupportedError(
            "this interface is not for experiments", where=interface, got=why, hint=hint
        )


def _needed_for(interface: str, reached_at: str) -> Iterator[tuple[str, str]]:
    """Yield what an interface is needed for, and what to do."""
    (shown,) = _json(["ip", "-j", "address", "show", "dev", interface])
    if "LOOPBACK" in shown["flags"]:
        yield "it is the loopback", "name one that leads to the neighbour"
    if not reached_at:
        yield "nobody knows by which address the machine is reached", "ssh tells it"
    if reached_at in {entry["local"] for entry in shown.get("addr_info", ())}:
        yield (
            f"the machine is reached by it ({reached_at})", "the management network is never shaped"
        )  # fmt: skip
    for version in VERSIONS:
        if _run(["ip", version, "route", "show", "default", "dev", interface]).strip():
            yield "the machine's default route uses it", "name one of the experiment's"
    if "master" in shown:
        yield f"it is part of {shown['master']}", "take it out of that first"
    above = [path.name.partition("_")[2] for path in (CLASS / interface).glob("upper_*")]
    if above:
        yield f"{', '.join(above)} rest on it", "name another, or one of these"


def _not_given_back(interface: str) -> Iterator[tuple[str, str]]:
    """Yield what of an interface could not be given back, and what to do."""
    (shown,) = _json(["ip", "-j", "-d", "address", "show", "dev", interface])
    if "xdp" in shown:
        yield "it has an XDP program of somebody's", "remove that first"
    for qdisc in _json(["tc", "-j", "qdisc", "show", "dev", interface]):
        if qdisc.get("handle", "0:") != "0:":
            yield f"it has a qdisc of somebody's: {qdisc['kind']}", "remove that first"
    if any(entry.get("dynamic") for entry in shown.get("addr_info", ())):
        yield (
            "it has an address by DHCP or a router's advertisement, which somebody keeps",
            "give it a static address, or none",
        )


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
                if place.stat().st_uid != 0:  # anybody may call himself so
                    continue
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
    left = []
    for one in lent:
        try:
            if _give_one_back(one, held.get(one.node)):
                say(f"interface {one.interface}: given back")
            else:
                wrong.append(f"{one.interface} is gone: it was no hardware, and its holder ended")
        except (RunError, OSError, ValueError) as error:
            left.append(one)
            wrong.append(f"{one.interface}: {error}")
    if left:
        plain_files.write_text(journal, json.dumps([asdict(one) for one in left]) + "\n")
    else:
        for pid in held.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        journal.unlink(missing_ok=True)
    if wrong:
        raise RunError(
            "an interface is not as it was", where=str(journal), got="; ".join(wrong),
            hint="groundtruth clean --lab remote tries again" if left else "make it again",
        )  # fmt: skip


def _give_one_back(one: Lent, pid: int | None) -> bool:
    """Give an interface back as it was; return whether there is such a one any more."""
    was, interface = one.was, one.interface
    if pid is not None and one.device in _names(["nsenter", f"--net=/proc/{pid}/ns/net"]):
        for words in (["down"], ["netns", str(os.getpid()), "name", interface]):
            _inside(pid, ["ip", "link", "set", "dev", one.device, *words])
    elif _text(CLASS / interface / "address") != was["mac"]:
        # Its namespace was ended: the kernel brings hardware back under the name it had there.
        if _text(CLASS / one.device / "address") != was["mac"]:
            return False
        _run(["ip", "link", "set", "dev", one.device, "down"])
        _run(["ip", "link", "set", "dev", one.device, "name", interface])
    _run(["ip", "link", "set", "dev", interface, "mtu", str(was["mtu"])])
    offloads.restore(interface, was["offloads"])
    if was["up"]:
        _run(["ip", "link", "set", "dev", interface, "up"])
    _set(was["settings"])
    for words in was["addresses"]:
        _run(["ip", "address", "replace", *words, "dev", interface])
    # A way to a gateway comes before what leads over it.
    for line in sorted(was["routes"], key=lambda line: " via " in line):
        version, *words = line.split()
        _run(["ip", version, "route", "replace", *words, "dev", interface])
    for line in was["neighbours"]:
        words = [word for word in line.split() if word != "PERMANENT"]
        _run(["ip", "neighbor", "replace", *words, "dev", interface, "nud", "permanent"])
    now = state(interface)
    other = [name for name in was if now[name] != was[name]]
    if other:
        told = ", ".join(f"{name}: was {was[name]}, is {now[name]}" for name in other)
        raise RunError("not as it was", got=told[:600])
    return True


def _names(within: list[str]) -> set[str]:
    """Return the names of interfaces; ``within`` is a command's beginning."""
    return {link["ifname"] for link in json.loads(_run([*within, "ip", "-j", "link", "show"]))}


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
    return output_of(argv, TIMEOUT_S)


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
