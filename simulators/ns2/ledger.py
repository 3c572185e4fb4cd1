"""The published host parameters as ns-2's agents have them: the ledger of a cell it ran. Pure.

Invariants: every parameter of the host profile has a row; one that is not known here refuses the
cell, by its name. What was set is compared with what the agents themselves said that they have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from model.cell import Cell, Fidelity
from model.errors import ParseError, UnsupportedError
from simulators.ns2.profiles import ERA2001, SCTP, SINK, TCP, Profile

KIND = "ns-2"
_LINE = re.compile(r"(\d{1,6}) (sender|receiver) (Agent/\w+) (\w+) ([-+.\w]{1,40})", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """How ns-2 has a parameter: by variables of classes, or as a note says.

    ``later`` is how well where the profile is not that of the studies' time.
    """

    fidelity: Fidelity
    later: Fidelity
    note: str = ""
    variables: tuple[tuple[str, str], ...] = ()


def _as_is(note: str) -> Entry:
    return Entry(fidelity="exact", later="exact", note=note)


def _set(*variables: tuple[str, str], later: Fidelity = "exact", note: str = "") -> Entry:
    return Entry(fidelity="exact", later=later, variables=variables, note=note)


def _cannot(note: str) -> Entry:
    return Entry(fidelity="cannot_be_set", later="cannot_be_set", note=note)


#: By the parameter's name in the host profile.
ENTRIES: dict[str, Entry] = {
    "TCP selective acknowledgements": _as_is("Agent/TCP/Sack1 and Agent/TCPSink/Sack1."),
    "SACK blocks of TCP": _set((SINK, "maxSackBlocks_")),
    "Gap acknowledgement blocks of SCTP": _as_is("As many as there are."),
    "TCP congestion control": _set(
        (TCP, "precisionReduce_"), later="approximated",
        note="Reno's; with precisionReduce_ 0 the halved window is a whole number of segments.",
    ),
    "No delayed acknowledgements": _set(
        (SCTP, "useDelayedSacks_"), note="Agent/TCPSink/Sack1 acknowledges every packet.",
    ),
    "Receive window": _as_is("window_ of TCP, in segments, and initialRwnd_ of SCTP."),
    "Initial slow-start threshold": _as_is("TCP's is its window_, initialSsthresh_ SCTP's."),
    "No memory of earlier connections": _as_is("Each agent is new."),
    "Payload per packet": _set(
        (TCP, "useHeaders_"), (SCTP, "mtu_"), note="packetSize_ of TCP, dataChunkSize_ of SCTP.",
    ),
    "Initial window of TCP": _set((TCP, "windowInit_")),
    "Initial window of SCTP": _cannot(
        "ns-2.35's agent begins with 4380 bytes, three packets, whatever initialCwnd_ is."
    ),
    "SCTP's window in congestion avoidance grows by a packet": Entry(
        fidelity="approximated", later="approximated",
        note="By a packet's chunk, whose 16 bytes of header count in the agent's windows.",
    ),
    "SCTP's window grows only when the cumulative acknowledgement advances": _as_is("It does so."),
    "Least retransmission timeout of TCP": _set((TCP, "minrto_"), (TCP, "tcpTick_"),
                                                later="approximated"),
    "Initial retransmission timeout of TCP": _set((TCP, "rtxcur_init_"), (TCP, "rfc2988_"),
                                                  later="approximated"),
    "Longest retransmission timeout of TCP": _set((TCP, "maxrto_"), later="approximated"),
    "Retransmission timeouts of SCTP": _as_is("3 s at first, 1 to 60 s: the agent's defaults."),
    "No potentially failed paths in SCTP": _as_is("There are none."),
    "No burst limit in SCTP": _set((SCTP, "useMaxBurst_"), later="approximated"),
    "TCP fast retransmit": _as_is("numdupacks_ 3, the default at all times."),
    "No new data on TCP's first two duplicate acknowledgements": _set(
        (TCP, "singledup_"), later="approximated"
    ),
    "SCTP fast retransmit": _set((SCTP, "fastRtxTrigger_"), later="approximated"),
    "Slow-start threshold after a loss, SCTP": _cannot(
        "What ns-2.35's agent does: max(cwnd / 2, 4 MTU) since 2009, 2 MTU before."
    ),
    "No fast recovery in SCTP": _cannot("ns-2.35's agent does not halve again until recovered."),
    "No undoing of window reductions": _as_is("The agents never undo."),
    "A source that is never short of data": _as_is("Application/FTP."),
}  # fmt: skip


def read_back(text: str, where: str) -> dict[tuple[int, str, str, str], str]:
    """Return what agents said of their variables, by flow, side, class and name."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ParseError("not what an agent's variable is told as", where=f"{where}:{number}",
                             got=ascii(line[:80]))  # fmt: skip
        found[int(match[1]), match[2], match[3], match[4]] = match[5]
    return found


def check_known(cell: Cell) -> None:
    """Raise :class:`UnsupportedError` for a host parameter of which nothing is known here."""
    for entry in cell.hosts.entries:
        if entry.parameter not in ENTRIES:
            raise UnsupportedError(
                "ns-2's agents do not know this parameter", where=f"hosts {cell.hosts.id}",
                wanted=" or ".join(sorted(ENTRIES)[:3]) + " or ...", got=entry.parameter,
            )  # fmt: skip


def rows(
    cell: Cell, profile: Profile, found: Mapping[tuple[int, str, str, str], str]
) -> list[dict[str, Any]]:
    """Return the ledger of a cell."""
    check_known(cell)
    values = {(one.of, one.name): one for one in profile.parameters}
    made = []
    for published in cell.hosts.entries:
        entry = ENTRIES[published.parameter]
        of_time = profile.id == ERA2001.id
        shown = [values[one] for one in entry.variables]
        whys = [f"{one.name} {one.value:g}: {one.why}." for one in shown]
        made.append(
            {
                "parameter": published.parameter,
                "published": published.published,
                "fidelity": entry.fidelity if of_time else entry.later,
                "note": " ".join([*([entry.note] if entry.note else []), *whys]),
                "knobs": [_knob(cell, one.of, one.name, one.value, found) for one in shown],
            }
        )
    return made


def _knob(
    cell: Cell, of: str, name: str, value: float,
    found: Mapping[tuple[int, str, str, str], str],
) -> dict[str, Any]:  # fmt: skip
    """Return a variable, and of each agent of its class what it said."""
    got = {
        f"{cell.flows[flow - 1].id} {side}": text
        for (flow, side, class_, variable), text in found.items()
        if (class_, variable) == (of, name) and 1 <= flow <= len(cell.flows)
    }
    return {
        "kind": KIND,
        "name": f"{of} {name}",
        "value": f"{value:g}",
        "side": "both",
        "read_back": {place: _short(text) for place, text in got.items()},
        "agrees": all(_short(text) == f"{value:g}" for text in got.values()) if got else None,
    }


def _short(text: str) -> str:
    """Return a number as it is shown; what is none as it is."""
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


def unread(
    cell: Cell, profile: Profile, found: Mapping[tuple[int, str, str, str], str]
) -> list[str]:
    """Return the variables that an agent ought to have told of and did not."""
    classes = {"tcp": ((TCP, "sender"), (SINK, "receiver")),
               "sctp": ((SCTP, "sender"), (SCTP, "receiver")), "udp": ()}  # fmt: skip
    return [
        f"{flow.id} {side}: {one.of} {one.name}"
        for number, flow in enumerate(cell.flows, 1)
        for of, side in classes[flow.protocol]
        for one in profile.parameters
        if one.of == of and (number, side, one.of, one.name) not in found
    ]
