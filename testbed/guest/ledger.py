"""The parameter ledger: each published host parameter, the settings it became, what was read back.

Pure: it turns a host profile into settings for each node, and read values into ledger rows. The
lab's agent applies and reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from model.cell import OF_HOSTS, Flow, HostProfile, Knob, KnobKind, LedgerEntry, Side

#: Probe options whose value the kernel doubles (socket(7): room for bookkeeping).
DOUBLED = {"rcvbuf_bytes": "rcvbuf_kernel_bytes", "sndbuf_bytes": "sndbuf_kernel_bytes"}
SOCKET_PROTOCOL = {"tcp_socket": "tcp", "sctp_socket": "sctp"}
CONGESTION_CONTROL = "congestion_control"
#: Congestion controls that set the slow-start threshold aside when they begin (tcp_bbr.c).
WITHOUT_SSTHRESH = frozenset({"bbr"})
OWN_PARAMETER = "Congestion control of single flows"
OWN_PATHS = "Paths of single flows"
TRUE_WORDS = {"true": "1", "false": "0"}


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Which nodes send data and which receive it."""

    senders: tuple[str, ...]
    receivers: tuple[str, ...]

    def on(self, side: Side) -> tuple[str, ...]:
        """Return the nodes of a side."""
        if side == "sender":
            return self.senders
        if side == "receiver":
            return self.receivers
        return (*self.senders, *self.receivers)


def knobs(profile: HostProfile, kind: str) -> Iterable[Knob]:
    """Return all knobs of one kind in the profile's order."""
    return (knob for entry in profile.entries for knob in entry.knobs if knob.kind == kind)


def sysctls(profile: HostProfile, roles: Roles) -> list[tuple[str, str, str]]:
    """Return the sysctls to set as (node, name, value)."""
    return [
        (node, knob.name, knob.value)
        for knob in knobs(profile, "sysctl")
        for node in roles.on(knob.side)
    ]


def route_options(profile: HostProfile, roles: Roles) -> dict[str, dict[str, str]]:
    """Return each node's route options."""
    options: dict[str, dict[str, str]] = {node: {} for node in roles.on("both")}
    for knob in knobs(profile, "route"):
        for node in roles.on(knob.side):
            options[node][knob.name] = knob.value
    return options


def socket_options(profile: HostProfile, protocol: str, side: Side) -> dict[str, str]:
    """Return the probe options of one protocol's sockets on one side."""
    return {
        knob.name: knob.value
        for knob in knobs(profile, f"{protocol}_socket")
        if knob.side in ("both", side)
    }


def own_options(flow: Flow) -> dict[str, str]:
    """Return the options of a flow's sender that the study asks of this flow, not of its hosts."""
    options = flow.paths.options()
    if flow.congestion_control != OF_HOSTS:
        options[CONGESTION_CONTROL] = flow.congestion_control
    return options


def own_entries(flows: Sequence[Flow]) -> list[LedgerEntry]:
    """Return what the study asks of single flows as entries; none if it asks nothing."""
    asked = {"tcp_socket": OWN_PARAMETER, "sctp_socket": OWN_PATHS}
    found = []
    for kind, parameter in asked.items():
        protocol = SOCKET_PROTOCOL[kind]
        wanted = dict.fromkeys(
            (name, value)
            for flow in flows
            if flow.protocol == protocol
            for name, value in own_options(flow).items()
        )
        if wanted:
            found.append(
                LedgerEntry(
                    parameter=parameter,
                    published="by flow, see the study",
                    fidelity="exact",
                    note="",
                    knobs=tuple(
                        Knob(kind=cast("KnobKind", kind), name=name, value=value, side="sender")
                        for name, value in wanted
                    ),
                )
            )
    return found


def agrees(wanted: str, got: str) -> bool:
    """Compare a wanted and a read value as the kernel writes them."""
    return _plain(wanted) == _plain(got)


def _plain(value: str) -> str:
    folded = " ".join(value.split()).removeprefix("lock ").lower()
    folded = TRUE_WORDS.get(folded, folded)
    if folded.endswith("ms") and folded[:-2].isdigit():
        return folded[:-2]
    return folded


def socket_value(knob: Knob, effective: Mapping[str, Any]) -> str | None:
    """Return a socket option's value from a probe's ``effective`` line, undoing the doubling."""
    if knob.name in DOUBLED:
        doubled = effective.get(DOUBLED[knob.name])
        return None if doubled is None else str(int(doubled) // 2)
    if knob.name == "hb_disable":
        return "1" if effective.get("hb_interval_ms") is None else "0"
    value = effective.get(knob.name)
    return None if value is None else str(value)


Reader = Callable[[Knob], dict[str, str]]


def row(entry: LedgerEntry, read: Reader) -> dict[str, Any]:
    """Return one ledger row; a knob of which nothing can be read has ``agrees: null``."""
    shown = []
    for knob in entry.knobs:
        got = read(knob)
        shown.append(
            {
                "kind": knob.kind,
                "name": knob.name,
                "value": knob.value,
                "side": knob.side,
                "read_back": got,
                "agrees": all(agrees(knob.value, value) for value in got.values()) if got else None,
            }
        )
    return {
        "parameter": entry.parameter,
        "published": entry.published,
        "fidelity": entry.fidelity,
        "note": entry.note,
        "knobs": shown,
    }


def rows(profile: HostProfile, read: Reader) -> list[dict[str, Any]]:
    """Return the whole ledger of a profile."""
    return [row(entry, read) for entry in profile.entries]


def disagreements(ledger: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Return the settings that did not take: (where, wanted, got)."""
    found = []
    for entry in ledger:
        for knob in entry["knobs"]:
            if knob["agrees"] is False:
                name = f"{knob['kind']} {knob['name']}"
                found += [
                    (f"{node}: {name}", knob["value"], value)
                    for node, value in knob["read_back"].items()
                    if not agrees(knob["value"], value)
                ]
    return found
