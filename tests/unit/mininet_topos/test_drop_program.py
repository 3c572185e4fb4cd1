"""The program that drops listed packets: its exact bytes, and what it does with frames."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.packets.packets import Tap, parse_packets
from collectors.raw.pcap import merged, read
from mininet_topos.filters.drop_program import (
    COUNTS,
    TOGETHER,
    Drawing,
    Pairing,
    Period,
    Sharing,
    instructions,
)
from model import draws
from model.cell import Cell, Protocol, from_dict
from tests.support.recorded import DATA, text, value
from tests.unit.mininet_topos import bpf_machine

NEXT, DROP, CUT = -1, 2, 0


class Filter:
    """A program, and the map it counts in."""

    def __init__(
        self,
        protocol: Protocol,
        *drop_pkts: int,
        port: int = 5001,
        drawing: Drawing | None = None,
        together: bytearray | None = None,
    ) -> None:
        self.program = instructions(protocol, port, drop_pkts, 7, drawing, together_fd=8)
        self.value = bytearray(COUNTS.size)
        self.maps = ((7, self.value), (8, bytearray() if together is None else together))

    def answers(self, frames: Sequence[bytes]) -> list[int]:
        return [bpf_machine.run(self.program, frame, *self.maps) for frame in frames]

    def counts(self) -> tuple[int, int]:
        seen, listed, drawn = COUNTS.unpack(self.value)
        assert drawn == 0
        return seen, listed

    def all_counts(self) -> tuple[int, int, int]:
        seen, listed, drawn = COUNTS.unpack(self.value)
        return seen, listed, drawn


def frame(
    protocol: int, transport: bytes, *, options: bytes = b"", fragment: int = 0, padding: int = 0
) -> bytes:
    """Return an Ethernet frame with one IPv4 packet; ``padding`` follows the packet."""
    words = 5 + len(options) // 4
    header = struct.pack(
        "!BBHHHBBH4s4s", 0x40 | words, 0, words * 4 + len(transport), 1, fragment, 64, protocol, 0,
        bytes(4), bytes(4),
    )  # fmt: skip
    return bytes(12) + b"\x08\x00" + header + options + transport + bytes(padding)


def tcp(payload: int, *, port: int = 5001, options: int = 0) -> bytes:
    """Return a TCP segment; its offset field counts the options."""
    header = struct.pack("!HHIIBBHHH", 40000, port, 1, 1, (5 + options // 4) << 4, 0x10, 0, 0, 0)
    return header + bytes(options + payload)


def udp(payload: int, port: int = 5001) -> bytes:
    return struct.pack("!HHHH", 40000, port, 8 + payload, 0) + bytes(payload)


def sctp(*chunks: bytes, port: int = 5001) -> bytes:
    return struct.pack("!HHII", 40000, port, 1, 0) + b"".join(chunks)


def chunk(kind: int, content: int = 12) -> bytes:
    """Return a chunk with so much content, padded to a multiple of four bytes."""
    return struct.pack("!BBH", kind, 3, 4 + content) + bytes(content + -content % 4)


DATA_CHUNK, SACK, INIT, HEARTBEAT = chunk(0, 1460), chunk(3), chunk(1, 16), chunk(4, 7)


@pytest.mark.parametrize(
    ("protocol", "port", "listed", "start"),
    [("udp", 5003, (8, 300), 0), ("tcp", 5001, (8,), 17), ("sctp", 5001, (8,), 17)],
)
def test_the_program_byte_for_byte(
    protocol: Protocol, port: int, listed: tuple[int, ...], start: int
) -> None:
    wanted = [line.split()[0] for line in text(f"drop-program/{protocol}.txt").splitlines()]
    program = instructions(protocol, port, listed, map_fd=7)
    found = [program[offset : offset + 8].hex() for offset in range(0, len(program), 8)]
    assert found[start : start + len(wanted)] == wanted
    assert start or len(found) == len(wanted)


@pytest.mark.parametrize(
    ("protocol", "number", "data"),
    [("tcp", 6, tcp(1448)), ("sctp", 132, sctp(DATA_CHUNK)), ("udp", 17, udp(1000))],
)
def test_the_listed_packets_are_dropped_and_no_others(
    protocol: Protocol, number: int, data: bytes
) -> None:
    chosen = Filter(protocol, 2, 4)
    assert chosen.answers([frame(number, data)] * 5) == [NEXT, DROP, NEXT, DROP, NEXT]
    assert chosen.counts() == (5, 2)


@given(st.integers(0, 2**63 - 1), st.floats(0, 1))
def test_drawn_packets_are_those_of_the_same_draws_outside(seed: int, loss_frac: float) -> None:
    pairing = Pairing(seed=seed, threshold=draws.threshold(loss_frac))
    chosen = Filter("udp", drawing=pairing)
    answers = chosen.answers([frame(17, udp(100))] * 40)
    lost = [draws.number_draw(seed, number) < pairing.threshold for number in range(1, 41)]
    assert answers == [DROP if is_lost else NEXT for is_lost in lost]
    assert chosen.all_counts() == (40, 0, sum(lost))


@given(st.integers(2, 60), st.integers(1, 60), st.sampled_from([(), (7, 20)]))
def test_every_so_many_th_packet_is_dropped_from_the_first_one_on(
    every_pkts: int, first_pkt: int, listed: tuple[int, ...]
) -> None:
    chosen = Filter("udp", *listed, drawing=Period(first_pkt=first_pkt, every_pkts=every_pkts))
    answers = chosen.answers([frame(17, udp(100))] * 120)
    due = [number for number in range(first_pkt, 121, every_pkts) if number not in listed]
    assert [k for k, answer in enumerate(answers, 1) if answer == DROP] == sorted([*due, *listed])
    assert chosen.all_counts() == (120, len(listed), len(due))


def test_the_greatest_period_there_can_be() -> None:
    most = 2**31 - 1
    period = Period(first_pkt=most, every_pkts=most)
    chosen = Filter("udp", drawing=period)
    chosen.value[:] = COUNTS.pack(most - 2, 0, 0)
    assert chosen.answers([frame(17, udp(100))] * 3) == [NEXT, DROP, NEXT]


def test_each_flow_counts_its_own_packets_and_acknowledgements_count_for_nothing() -> None:
    period = Period(first_pkt=2, every_pkts=3)
    over_tcp, over_sctp = Filter("tcp", drawing=period), Filter("sctp", drawing=period)
    assert over_tcp.answers([frame(6, tcp(1448))] * 5) == [NEXT, DROP, NEXT, NEXT, DROP]
    between = [frame(132, sctp(DATA_CHUNK)), frame(132, sctp(SACK))] * 5
    assert over_sctp.answers(between)[::2] == [NEXT, DROP, NEXT, NEXT, DROP]


SEED, PAY_SEED = draws.equal_drops_seeds(11)


@given(st.floats(0, 1), st.lists(st.integers(0, 1), max_size=60))
def test_equal_drops_are_those_of_the_same_draws_outside(
    loss_frac: float, order: list[int]
) -> None:
    sharing = Sharing(seed=SEED, pay_seed=PAY_SEED, threshold=draws.threshold(loss_frac / 2))
    together = bytearray(TOGETHER.size)
    flows = [Filter(protocol, drawing=sharing, together=together) for protocol in ("udp", "sctp")]
    frames = [frame(17, udp(100)), frame(132, sctp(DATA_CHUNK))]
    told = draws.EqualDrops(11, loss_frac, 2)
    for flow in order:
        wanted = DROP if told.loses(flow) else NEXT
        assert flows[flow].answers([frame(132, sctp(SACK)), frames[flow]]) == [NEXT, wanted]
    assert TOGETHER.unpack(together) == (told.offered_pkts, told.drawn_pkts)
    assert [chosen.all_counts() for chosen in flows] == [
        (order.count(flow), 0, told.lost_pkts[flow]) for flow in (0, 1)
    ]


def test_a_flow_that_owes_very_many_loses_every_packet_and_listed_ones_take_no_part() -> None:
    sharing = Sharing(seed=SEED, pay_seed=PAY_SEED, threshold=0)
    together = bytearray(TOGETHER.pack(500, 33))
    chosen = Filter("udp", 2, drawing=sharing, together=together)
    assert chosen.answers([frame(17, udp(100))] * 3) == [DROP] * 3
    assert chosen.all_counts() == (3, 1, 2)
    assert TOGETHER.unpack(together) == (502, 33)


def test_every_flow_draws_alike_whatever_its_protocol_and_acknowledgements_draw_nothing() -> None:
    pairing = Pairing(seed=5, threshold=draws.threshold(0.3))
    over_tcp = Filter("tcp", drawing=pairing).answers([frame(6, tcp(1448))] * 50)
    between = [frame(132, sctp(DATA_CHUNK)), frame(132, sctp(SACK))] * 50
    over_sctp = Filter("sctp", drawing=pairing).answers(between)
    assert over_sctp[::2] == over_tcp
    assert set(over_tcp) == {NEXT, DROP}
    assert set(over_sctp[1::2]) == {NEXT}


def test_a_listed_packet_is_counted_as_listed_and_a_certain_loss_is_certain() -> None:
    chosen = Filter("udp", 2, drawing=Pairing(seed=5, threshold=draws.threshold(1.0)))
    assert chosen.answers([frame(17, udp(100))] * 3) == [DROP] * 3
    assert chosen.all_counts() == (3, 1, 2)


NO_DATA: dict[str, tuple[Protocol, bytes]] = {
    "an acknowledgement": ("tcp", frame(6, tcp(0))),
    "an acknowledgement with options": ("tcp", frame(6, tcp(0, options=12))),
    "one padded to the least frame": ("tcp", frame(6, tcp(0), padding=6)),
    "one behind IP options": ("tcp", frame(6, tcp(0), options=bytes(8))),
    "a SACK": ("sctp", frame(132, sctp(SACK))),
    "control chunks": ("sctp", frame(132, sctp(INIT, HEARTBEAT, SACK))),
    "no chunk": ("sctp", frame(132, sctp())),
    "a chunk of no length": ("sctp", frame(132, sctp(bytes(4).replace(b"\0", b"\3", 1)))),
    "another port": ("tcp", frame(6, tcp(1448, port=5002))),
    "another port of UDP": ("udp", frame(17, udp(100, port=5002))),
    "another protocol": ("udp", frame(6, tcp(1448))),
    "a later fragment": ("udp", frame(17, udp(1000), fragment=100)),
    "not IPv4": ("udp", bytes(12) + b"\x86\xdd" + bytes(100)),
}


@pytest.mark.parametrize("name", NO_DATA)
def test_what_is_not_data_of_the_flow_is_not_counted(name: str) -> None:
    protocol, packet = NO_DATA[name]
    chosen = Filter(protocol, 1)
    assert chosen.answers([packet]) == [NEXT]
    assert chosen.counts() == (0, 0)


DATA_PACKETS: dict[str, tuple[Protocol, bytes]] = {
    "one byte": ("tcp", frame(6, tcp(1))),
    "behind TCP options": ("tcp", frame(6, tcp(1, options=40))),
    "behind IP options": ("tcp", frame(6, tcp(1), options=bytes(40))),
    "UDP without a byte": ("udp", frame(17, udp(0))),
    "a first fragment": ("udp", frame(17, udp(1000), fragment=0x2000)),
    "DATA behind a SACK": ("sctp", frame(132, sctp(SACK, DATA_CHUNK))),
    "DATA behind padding": ("sctp", frame(132, sctp(HEARTBEAT, DATA_CHUNK))),
    "two DATA chunks": ("sctp", frame(132, sctp(DATA_CHUNK, DATA_CHUNK))),
    "DATA as the last of very many": ("sctp", frame(132, sctp(*[chunk(14, 0)] * 361, chunk(0)))),
}


@pytest.mark.parametrize("name", DATA_PACKETS)
def test_data_is_found_wherever_it_is(name: str) -> None:
    protocol, packet = DATA_PACKETS[name]
    chosen = Filter(protocol, 1)
    assert chosen.answers([packet, packet]) == [DROP, NEXT]
    assert chosen.counts() == (2, 1)


@given(st.lists(st.tuples(st.sampled_from([0, 1, 3, 4, 11, 192]), st.integers(0, 60)), max_size=12))
def test_any_packet_of_chunks_counts_if_one_is_data(chunks: list[tuple[int, int]]) -> None:
    chosen = Filter("sctp", 1)
    packet = frame(132, sctp(*(chunk(kind, content) for kind, content in chunks)))
    wanted = any(kind == 0 for kind, _ in chunks)
    assert chosen.answers([packet]) == [DROP if wanted else NEXT]


@given(st.sampled_from(["tcp", "sctp", "udp"]), st.binary(max_size=120))
def test_any_bytes_leave_the_program(protocol: Protocol, content: bytes) -> None:
    number = {"tcp": 6, "sctp": 132, "udp": 17}[protocol]
    chosen = Filter(protocol, 1)
    answers = chosen.answers([content, frame(number, content), frame(number, content)[:-1]])
    assert set(answers) <= {NEXT, DROP, CUT}
    assert chosen.counts()[1] == answers.count(DROP)


@pytest.mark.parametrize("cut", range(14, 55))
def test_a_cut_off_packet_is_not_dropped(cut: int) -> None:
    chosen = Filter("tcp", 1)
    whole = frame(6, tcp(1))
    assert len(whole) == 55
    # Its length field says there is data; that the frame ends before is no reason to read on.
    answer = DROP if cut > 46 else CUT
    assert chosen.answers([whole[:cut]]) == [answer]


def test_the_program_counts_a_recorded_cell_as_its_captures_do() -> None:
    cell: Cell = from_dict(value("lab-cell-7.3/cell.json"))
    taps = [Tap.of(tap) for tap in value("lab-cell-7.3/raw/pcap/points.json")["taps"]]
    captured = merged([read(DATA / "lab-cell-7.3/raw/pcap" / name)[0] for name in ROUTERS])
    packets = parse_packets(captured, taps, cell.flows, 0)
    (tap,) = [tap for tap in taps if tap.point == "loss_offered"]
    frames = _frames_out_of(tap.ifindex, DATA / "lab-cell-7.3/raw/pcap" / tap.file)
    for flow in cell.flows:
        chosen = Filter(flow.protocol, 2, 3, port=flow.port)
        answers = chosen.answers(frames)
        data = packets.filter(pl.col("payload_bytes") > 0, flow=flow.id, point="loss_offered")
        assert data.height >= 6
        assert (chosen.counts(), answers.count(DROP)) == ((data.height, 2), 2)


ROUTERS = ("r1.pcap", "r2.pcap")


def _frames_out_of(ifindex: int, path: Path) -> list[bytes]:
    """Return the packets that left an interface, each with an Ethernet header."""
    records, found = read(path)[0], []
    for start, size in zip(records.starts, records.captured_bytes, strict=True):
        content = records.octets[start : start + size].tobytes()
        # LINUX_SLL2: protocol, reserved, interface, hardware, kind (4: outgoing), address.
        _, number, _, kind = struct.unpack_from("!IIHB", content)
        if (number, kind) == (ifindex, 4):
            found.append(bytes(12) + content[:2] + content[20:])
    return found
