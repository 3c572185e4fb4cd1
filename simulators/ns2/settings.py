"""A cell as settings for ``dumbbell.tcl``; what ns-2 cannot do as asked is refused by name.

Invariants: equal cells give equal settings; every random number is from the cell's seed, each
direction of a link with its own; no word has a space or a line's end in it. Nodes are numbered as
the Tcl makes them: both routers, the sources, the destinations.
"""

from __future__ import annotations

from collections.abc import Iterator

from model.cell import OF_HOSTS, Cell, Flow, KnobKind
from model.draws import seed_for
from model.errors import UnsupportedError
from model.links import Direction, Network
from model.network_path import HEADER_BYTES, MTU_BYTES
from simulators.ns2.profiles import Profile

#: The host profile that ns-2's agents stand for, and what of it they take.
HOSTS = "paper"
R1, R2 = 0, 1
FIRST_SOURCE = 2
LINKS = ("source_access", "bottleneck", "destination_access")
WAYS = ("forward", "reverse")
#: Seeds are from 1 to a signed 32-bit number of its Tcl.
MOST_SEED = (1 << 31) - 1
#: Packets that SCTP's agent sends before data: INIT, COOKIE-ECHO, a probe of the path. TCP: a SYN.
BEFORE_DATA_PKTS = {"tcp": 1, "sctp": 3, "udp": 0}
SCTP_CHUNK_HEADER_BYTES = 16


def text(cell: Cell, profile: Profile) -> str:
    """Return the settings of a cell.

    Raises:
        UnsupportedError: ns-2 cannot run it as it is; the setting is named.
    """
    check(cell)
    lines = [
        f"duration {_number(cell.duration_s)}",
        f"seed {_seed(cell, 'agents')}",
        f"sources {cell.network.sources}",
        f"destinations {cell.network.destinations}",
    ]
    for name in LINKS:
        link = getattr(cell.network, name)
        for way in WAYS:
            one: Direction = getattr(link, way)
            words = (
                one.rate_bps, _number(one.owd_s), one.queue_pkts, _number(one.loss.loss_frac),
                _seed(cell, f"{name} {way}"),
            )  # fmt: skip
            lines.append(f"link {name} {way} {' '.join(map(str, words))}")
    lines += [f"set {one.of} {one.name} {_number(one.value)}" for one in profile.parameters]
    lines += [_flow_line(cell, number, flow) for number, flow in enumerate(cell.flows, 1)]
    return "".join(f"{line}\n" for line in lines)


def _flow_line(cell: Cell, number: int, flow: Flow) -> str:
    packet_bytes = flow.message_bytes + HEADER_BYTES[flow.protocol]
    # A list counts all packets of the flow from 0.
    listed = [before_data(flow) + one - 1 for one in flow.drop_data_pkts]
    words = (
        number, flow.protocol, flow.source, flow.destination, _number(flow.start_s),
        _number(flow.stop_s), flow.message_bytes, packet_bytes, window(cell, flow), flow.rate_bps,
        *listed,
    )  # fmt: skip
    return f"flow {' '.join(map(str, words))}"


def before_data(flow: Flow) -> int:
    """Return how many packets a flow's agent sends before the first with data."""
    return BEFORE_DATA_PKTS[flow.protocol]


def window(cell: Cell, flow: Flow) -> int:
    """Return the receive window: TCP's in segments, SCTP's in bytes; UDP has none."""
    if flow.protocol == "udp":
        return 0
    kind: KnobKind = "tcp_socket" if flow.protocol == "tcp" else "sctp_socket"
    name = "window_clamp_bytes" if flow.protocol == "tcp" else "rcvbuf_bytes"
    found = cell.hosts.setting(kind, name, "receiver")
    if not found:
        raise _refused(cell, f"hosts without {name}", f"{kind} {name}, the receive window")
    return int(found) // flow.message_bytes if flow.protocol == "tcp" else int(found)


def nodes(cell: Cell) -> int:
    """Return how many nodes there are."""
    return FIRST_SOURCE + cell.network.sources + cell.network.destinations


def _seed(cell: Cell, what: str) -> int:
    return 1 + seed_for(cell.seed, f"ns-2 {what}") % (MOST_SEED - 1)


def _number(value: float) -> str:
    """Return a number as Tcl reads it, with all its digits."""
    return str(int(value)) if value == int(value) else repr(float(value))


def check(cell: Cell) -> None:
    """Raise :class:`UnsupportedError` naming the first setting that ns-2 cannot have."""
    for what, wanted in problems(cell):
        raise _refused(cell, what, wanted)


def _refused(cell: Cell, what: str, wanted: str) -> UnsupportedError:
    point = ", ".join(f"{name}={value}" for name, value in cell.point.items())
    return UnsupportedError(
        "ns-2 cannot run this", where=f"{cell.study}{f' at {point}' if point else ''}",
        wanted=wanted, got=what,
        hint="where only an alternative of an assumption asks for it: --no-sensitivity",
    )  # fmt: skip


def problems(cell: Cell) -> Iterator[tuple[str, str]]:
    """Yield what of a cell ns-2 cannot do, and what it can."""
    if cell.network.topology != "dumbbell":
        yield f"topology {cell.network.topology}", "a dumbbell"
    if cell.hosts.id != HOSTS:
        yield f"hosts {cell.hosts.id}", f"hosts {HOSTS}, which its agents stand for"
    if cell.collect.messages:
        yield "collect messages", "its agents have no messages"
    if cell.ad_hoc is None:
        yield from _link_problems(cell.wired)
    yield from _path_problems(cell)
    for flow in cell.flows:
        yield from _flow_problems(cell, flow)


def _link_problems(network: Network) -> Iterator[tuple[str, str]]:
    if network.far_accesses:
        yield "far sources", "sources that are all as near"
    for name in LINKS:
        for way in WAYS:
            one: Direction = getattr(getattr(network, name), way)
            if one.loss.model not in ("none", "random"):
                yield f"{name} {way} loss {one.loss.model}", "loss that is none or random"
            if one.discipline.is_active:
                yield f"{name} {way} queue_discipline {one.discipline.kind}", "a drop-tail buffer"
            if one.queue_pkts < 1:
                yield f"{name} {way} queue of {one.queue_pkts}", "room for a packet"


def _path_problems(cell: Cell) -> Iterator[tuple[str, str]]:
    for event in cell.events:
        yield f"event {event.id}", "links to which nothing happens"
    for flow in cell.flows:
        if flow.paths.options():
            yield f"flow {flow.id}: settings of SCTP's paths", "those of its agents"


def _flow_problems(cell: Cell, flow: Flow) -> Iterator[tuple[str, str]]:
    if flow.congestion_control != OF_HOSTS:
        yield f"flow {flow.id}: congestion control {flow.congestion_control}", "that of the hosts"
    if flow.generator != "probe":
        yield f"flow {flow.id}: generator {flow.generator}", "probe"
    if flow.protocol == "udp":
        if flow.drop_data_pkts:
            yield f"flow {flow.id}: listed packets of UDP", "lists of TCP and SCTP"
        return
    if flow.rate_bps:
        yield f"flow {flow.id}: {flow.protocol} at a rate", "bulk transfer"
    if flow.streams != 1 or not flow.ordered:
        yield f"flow {flow.id}: {flow.streams} streams, ordered {flow.ordered}", "one, ordered"
    header_bytes = HEADER_BYTES[flow.protocol]
    if flow.message_bytes + header_bytes > MTU_BYTES:
        yield f"flow {flow.id}: messages of {flow.message_bytes} bytes", "one packet each"
    chunk_bytes = SCTP_CHUNK_HEADER_BYTES + flow.message_bytes
    room_bytes = MTU_BYTES - header_bytes + SCTP_CHUNK_HEADER_BYTES
    if flow.protocol == "sctp" and (chunk_bytes % 4 or 2 * chunk_bytes <= room_bytes):
        yield f"flow {flow.id}: messages of {flow.message_bytes} bytes", "one to a packet, padded"
    if len({(one.protocol, one.source, one.destination) for one in cell.flows}) < len(cell.flows):
        yield "two flows of one protocol between the same hosts", "one of each"
