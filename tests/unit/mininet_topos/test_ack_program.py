"""The program that counts acknowledgements: what it makes of frames, and of a recorded cell's."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.audit.ack_checks import counted
from collectors.packets.packets import Tap, parse_packets
from collectors.raw.pcap import merged, read
from mininet_topos.filters.ack_counts import NAMES, Watched, row
from mininet_topos.filters.ack_program import VALUE, instructions
from model.cell import Cell, Protocol, from_dict
from tests.support.recorded import DATA, value
from tests.unit.mininet_topos import bpf_machine
from tests.unit.mininet_topos.test_drop_program import chunk, frame

NEXT, CUT = -1, 0
FROM_NS, TO_NS = 1000, 2000
ROUTERS = ("r1.pcap", "r2.pcap")
Counts = tuple[int, ...]


class Counter:
    """A program and its map, with a measuring window from 1000 until before 2000 ns."""

    def __init__(self, protocol: Protocol, port: int = 5001) -> None:
        self.program = instructions(protocol, port, 7)
        self.value = bytearray(VALUE.pack(FROM_NS, TO_NS, *[0] * 8))

    def answers(self, frames: Sequence[bytes], now_ns: int = FROM_NS) -> list[int]:
        maps = (7, self.value)
        return [bpf_machine.run(self.program, one, maps, now_ns=now_ns) for one in frames]

    def counts(self) -> tuple[Counts, Counts]:
        """Return packets, IP bytes, selective packets and bytes: inside the window, and in all."""
        from_ns, to_ns, *found = VALUE.unpack(self.value)
        assert (from_ns, to_ns) == (FROM_NS, TO_NS)
        return tuple(found[:4]), tuple(found[4:])


def tcp(*, payload: int = 0, options: bytes = b"", flags: int = 0x10, port: int = 5001) -> bytes:
    """Return a segment from the flow's receiver."""
    words = 5 + len(options) // 4
    header = struct.pack("!HHIIBBHHH", port, 40000, 1, 1, words << 4, flags, 0, 0, 0)
    return header + options + bytes(payload)


def sctp(*chunks: bytes, port: int = 5001) -> bytes:
    return struct.pack("!HHII", port, 40000, 1, 0) + b"".join(chunks)


def sacked(blocks: int) -> bytes:
    """Return a SACK option of so many blocks behind the two NOPs that Linux aligns it by."""
    return bytes([1, 1, 5, 2 + 8 * blocks]) + bytes(8 * blocks)


STAMPS = bytes([1, 1, 8, 10]) + bytes(8)
SACK, SACK_OF_TWO_GAPS = chunk(3, 12), chunk(3, 12 + 2 * 4)
HEARTBEAT_ACK, DATA_CHUNK = chunk(5, 7), chunk(0, 100)

#: A packet, and its IP bytes and selective bytes, by hand.
ACKNOWLEDGEMENTS: dict[str, tuple[Protocol, bytes, int, int]] = {
    "a bare ACK": ("tcp", frame(6, tcp()), 40, 0),
    "padded to the least frame": ("tcp", frame(6, tcp(), padding=6), 40, 0),
    "with a window update's PSH": ("tcp", frame(6, tcp(flags=0x18)), 40, 0),
    "with ECN-echo": ("tcp", frame(6, tcp(flags=0x50)), 40, 0),
    "with timestamps": ("tcp", frame(6, tcp(options=STAMPS)), 52, 0),
    "one block": ("tcp", frame(6, tcp(options=sacked(1))), 52, 10),
    "four blocks": ("tcp", frame(6, tcp(options=sacked(4))), 76, 34),
    "timestamps and three blocks": ("tcp", frame(6, tcp(options=STAMPS + sacked(3))), 80, 26),
    "blocks behind IP options": (
        "tcp", frame(6, tcp(options=sacked(2)), options=bytes(8)), 68, 18,
    ),
    "NOPs alone": ("tcp", frame(6, tcp(options=bytes([1] * 40))), 80, 0),
    "an end of options before a block": (
        "tcp", frame(6, tcp(options=bytes(4) + sacked(1))), 56, 0,
    ),
    "an option of no length": ("tcp", frame(6, tcp(options=bytes([8, 0, 0, 0]))), 44, 0),
    "a SACK": ("sctp", frame(132, sctp(SACK)), 48, 16),
    "a SACK of two gaps": ("sctp", frame(132, sctp(SACK_OF_TWO_GAPS)), 56, 24),
    "a SACK behind a heartbeat's answer": (
        "sctp", frame(132, sctp(HEARTBEAT_ACK, SACK)), 60, 16,
    ),
    "a SACK before one": ("sctp", frame(132, sctp(SACK, HEARTBEAT_ACK)), 60, 16),
}  # fmt: skip


@pytest.mark.parametrize("name", ACKNOWLEDGEMENTS)
def test_an_acknowledgement_counts_with_its_bytes(name: str) -> None:
    protocol, packet, ip_bytes, selective_bytes = ACKNOWLEDGEMENTS[name]
    counter = Counter(protocol)
    assert counter.answers([packet, packet]) == [NEXT, NEXT]
    wanted = (2, 2 * ip_bytes, 2 * (selective_bytes > 0), 2 * selective_bytes)
    assert counter.counts() == (wanted, wanted)


OTHERS: dict[str, tuple[Protocol, bytes]] = {
    "data": ("tcp", frame(6, tcp(payload=1))),
    "data behind options": ("tcp", frame(6, tcp(payload=1, options=sacked(1)))),
    "a SYN-ACK": ("tcp", frame(6, tcp(flags=0x12))),
    "a FIN": ("tcp", frame(6, tcp(flags=0x11))),
    "a reset": ("tcp", frame(6, tcp(flags=0x14))),
    "no ACK": ("tcp", frame(6, tcp(flags=0x00))),
    "from another port": ("tcp", frame(6, tcp(port=5002))),
    "to the flow's port": ("tcp", frame(6, struct.pack("!HH", 40000, 5001) + tcp()[4:])),
    "another protocol": ("tcp", frame(132, sctp(SACK))),
    "a later fragment": ("tcp", frame(6, tcp(), fragment=100)),
    "a SACK with data": ("sctp", frame(132, sctp(SACK, DATA_CHUNK))),
    "data alone": ("sctp", frame(132, sctp(DATA_CHUNK))),
    "a COOKIE-ACK": ("sctp", frame(132, sctp(chunk(11, 0)))),
    "a SHUTDOWN": ("sctp", frame(132, sctp(chunk(7, 4)))),
    "no chunk": ("sctp", frame(132, sctp())),
    "a chunk of no length": ("sctp", frame(132, sctp(SACK, bytes([4, 0, 0, 0])))),
    "a SACK of no length": ("sctp", frame(132, sctp(bytes([3, 0, 0, 0])))),
    "another port": ("sctp", frame(132, sctp(SACK, port=5002))),
}


@pytest.mark.parametrize("name", OTHERS)
def test_nothing_else_counts(name: str) -> None:
    protocol, packet = OTHERS[name]
    counter = Counter(protocol)
    assert counter.answers([packet]) == [NEXT]
    assert counter.counts() == ((0,) * 4, (0,) * 4)


@pytest.mark.parametrize(
    ("now_ns", "inside"), [(999, False), (1000, True), (1999, True), (2000, False)]
)
def test_the_window_begins_with_its_first_moment_and_ends_before_its_last(
    now_ns: int, inside: bool
) -> None:  # fmt: skip
    counter = Counter("sctp")
    counter.answers([frame(132, sctp(SACK))], now_ns)
    once = (1, 48, 1, 16)
    assert counter.counts() == (once if inside else (0,) * 4, once)


@given(st.sampled_from(["tcp", "sctp"]), st.binary(max_size=120))
def test_any_bytes_leave_the_program(protocol: Protocol, content: bytes) -> None:
    number = {"tcp": 6, "sctp": 132}[protocol]
    counter = Counter(protocol)
    answers = counter.answers([bytes(14) + content, frame(number, content)])
    assert set(answers) <= {NEXT, CUT}
    inside, everything = counter.counts()
    assert inside == everything
    assert everything[2] <= everything[0] <= 2


@given(st.lists(st.tuples(st.sampled_from([0, 3, 4, 5, 11, 192]), st.integers(0, 60)), max_size=12))
def test_a_packet_of_chunks_counts_if_one_is_a_sack_and_none_is_data(
    chunks: list[tuple[int, int]],
) -> None:
    counter = Counter("sctp")
    counter.answers([frame(132, sctp(*(chunk(kind, content) for kind, content in chunks)))])
    kinds = [kind for kind, _ in chunks]
    _, (pkts, _, _, selective_bytes) = counter.counts()
    assert pkts == (3 in kinds and 0 not in kinds)
    last = [4 + content for kind, content in chunks if kind == 3][-1:]
    assert selective_bytes == (sum(last) if pkts else 0)


def test_udp_has_none() -> None:
    with pytest.raises(ValueError, match="udp has no acknowledgements"):
        instructions("udp", 5001, 7)


#: Of the recorded cell, by hand: 24 bare ACKs of 40 bytes, 13 of them with one block (12 bytes with
#: the NOPs, 10 without); four SACKs of 16 bytes in packets of 48, three with a gap block of four.
RECORDED = {"T": (24, 24 * 40 + 13 * 12, 13, 130), "S": (4, 4 * 48 + 3 * 4, 4, 76)}


def test_the_program_counts_a_recorded_cell_as_its_captures_do() -> None:
    cell: Cell = from_dict(value("lab-cell-7.3/cell.json"))
    taps = [Tap.of(tap) for tap in value("lab-cell-7.3/raw/pcap/points.json")["taps"]]
    captured = merged([read(DATA / "lab-cell-7.3/raw/pcap" / name)[0] for name in ROUTERS])
    by_table = counted(parse_packets(captured, taps, cell.flows, 0))
    frames = [
        one
        for tap in taps
        if (tap.point, tap.direction) == ("sent", "ack")
        for one in _frames_into(tap.ifindex, DATA / "lab-cell-7.3/raw/pcap" / tap.file)
    ]
    for flow in cell.flows:
        counter = Counter(flow.protocol, flow.port)
        counter.answers(frames)
        _, everything = counter.counts()
        assert everything == RECORDED[flow.id]
        assert tuple(by_table[flow.id][name] for name in NAMES[4:]) == RECORDED[flow.id]


def _frames_into(ifindex: int, path: Path) -> list[bytes]:
    """Return the packets that came in by an interface, each with an Ethernet header."""
    records, found = read(path)[0], []
    for start, size in zip(records.starts, records.captured_bytes, strict=True):
        content = records.octets[start : start + size].tobytes()
        # LINUX_SLL2: protocol, reserved, interface, hardware, kind (4: outgoing), address.
        _, number, _, kind = struct.unpack_from("!IIHB", content)
        if number == ifindex and kind != 4:
            found.append(bytes(12) + content[:2] + content[20:])
    return found


def test_a_row_names_the_counts_in_their_order() -> None:
    flow = Watched(flow="S", protocol="sctp", port=5002, node="d1", devices=("d1-eth0",))
    found = row(flow, VALUE.pack(FROM_NS, TO_NS, 1, 48, 1, 16, 3, 148, 3, 52))
    assert found == {
        "flow": "S", "node": "d1", "devices": ["d1-eth0"],
        "ack_pkts": 1, "ack_ip_bytes": 48, "sack_pkts": 1, "sack_bytes": 16,
        "all_ack_pkts": 3, "all_ack_ip_bytes": 148, "all_sack_pkts": 3, "all_sack_bytes": 52,
    }  # fmt: skip
