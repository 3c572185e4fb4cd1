"""What an interface of a machine is like, and whether it may be taken for experiments."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from model.errors import UnsupportedError
from testbed.labs.remote.on_machine import features
from testbed.machine.process import output_of

CLASS = Path("/sys/class/net")
CONF = Path("/proc/sys/net")
#: What the kernel tells of an interface and nobody sets.
PER_INTERFACE = ("ipv4/conf", "ipv4/neigh", "ipv6/conf", "ipv6/neigh")
NOT_SET = frozenset({"stable_secret", "base_reachable_time", "retrans_time", "mtu"})
VERSIONS = ("-4", "-6")
NEIGHBOURS = ("ip", "neighbor", "show", "nud", "permanent")
#: What a route is called just now, which changes by itself.
PASSING = re.compile(r" (linkdown|dead|pref \w+|expires -?\d+sec|nhid \d+)\b")
#: Kinds of routes that come with an address.
OWN_ROUTES = ("local ", "broadcast ", "multicast ", "anycast ")
TIMEOUT_S = 20.0


def state(interface: str) -> dict[str, Any]:
    """Return all of an interface that a stay elsewhere would change."""
    (shown,) = json_of(["ip", "-j", "address", "show", "dev", interface])
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
        "neighbours": sorted(run([*NEIGHBOURS, "dev", interface]).splitlines()),
        "routes": sorted(
            f"{version} {' '.join(route.split())}"
            for version in VERSIONS
            for line in run(["ip", version, "route", "show", "table", "all", "dev", interface])
            .splitlines()
            if (route := _set_route(line))
        ),
        "offloads": _wanted(interface, features.ANY),
        "below": {lower: _wanted(lower, features.MERGING) for lower in below(interface)},
        "settings": settings,
    }  # fmt: skip


def below(interface: str) -> list[str]:
    """Return all interfaces here that this one rests on, as a VLAN does on a network card's.

    What comes is merged there already, whatever the features of those above.
    """
    found = []
    for path in sorted((CLASS / interface).glob("lower_*")):
        name = path.name.partition("_")[2]
        if (CLASS / name).exists():
            found += [name, *below(name)]
    return found


def _wanted(interface: str, names: re.Pattern[str]) -> dict[str, bool]:
    """Return which features somebody wants, of those of such names that can be changed."""
    return {
        name: one.wanted
        for name, one in features.read(interface).items()
        if one.changeable and names.fullmatch(name)
    }


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
    """Return what an interface is: its driver, speed, and offloads; empty strings for unknown.

    Offloads are those that are on, bit by bit as ``ethtool -k`` prints them.
    """
    driver = CLASS / interface / "device" / "driver"
    return {
        "driver": driver.resolve().name if driver.exists() else "none: no hardware",
        "speed_mbps": text(CLASS / interface / "speed"),
        "mac": text(CLASS / interface / "address"),
        "mtu": text(CLASS / interface / "mtu"),
        "offloads": features.told(features.read(interface)),
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
    (shown,) = json_of(["ip", "-j", "address", "show", "dev", interface])
    if "LOOPBACK" in shown["flags"]:
        yield "it is the loopback", "name one that leads to the neighbour"
    if not reached_at:
        yield "nobody knows by which address the machine is reached", "ssh tells it"
    if reached_at in {entry["local"] for entry in shown.get("addr_info", ())}:
        yield (
            f"the machine is reached by it ({reached_at})", "the management network is never shaped"
        )  # fmt: skip
    for version in VERSIONS:
        if run(["ip", version, "route", "show", "default", "dev", interface]).strip():
            yield "the machine's default route uses it", "name one of the experiment's"
    if "master" in shown:
        yield f"it is part of {shown['master']}", "take it out of that first"
    above = [path.name.partition("_")[2] for path in (CLASS / interface).glob("upper_*")]
    if above:
        yield f"{', '.join(above)} rest on it", "name another, or one of these"


def _not_given_back(interface: str) -> Iterator[tuple[str, str]]:
    """Yield what of an interface could not be given back, and what to do."""
    (shown,) = json_of(["ip", "-j", "-d", "address", "show", "dev", interface])
    if "xdp" in shown:
        yield "it has an XDP program of somebody's", "remove that first"
    for qdisc in json_of(["tc", "-j", "qdisc", "show", "dev", interface]):
        if qdisc.get("handle", "0:") != "0:":
            yield f"it has a qdisc of somebody's: {qdisc['kind']}", "remove that first"
    if any(entry.get("dynamic") for entry in shown.get("addr_info", ())):
        yield (
            "it has an address by DHCP or a router's advertisement, which somebody keeps",
            "give it a static address, or none",
        )
    for version in VERSIONS:
        for route in json_of(["ip", "-j", version, "route", "show", "table", "all"]):
            hops = route.get("nexthops", ())
            shared = interface in {hop.get("dev") for hop in hops}
            if shared or ("nhid" in route and route.get("dev") == interface):
                yield (
                    f"the route to {route['dst']} has several hops, or one by number",
                    "remove that first: it would not come back",
                )


def json_of(argv: list[str]) -> Any:
    """Return what a command prints as JSON; nothing is an empty list."""
    return json.loads(run(argv) or "[]")


def run(argv: list[str]) -> str:
    """Run a command; return its output, or raise :class:`RunError`."""
    return output_of(argv, TIMEOUT_S)


def text(path: Path) -> str:
    """Return a small file of the kernel's; nothing where it is not there."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
