"""Of odd packets exactly those that carry data of a flow are counted, by its program as by us."""

from __future__ import annotations

import pytest
from scapy.packet import Raw

from collectors.packets.packets import parse_packets
from mininet_topos.filters.drop_program import COUNTS, instructions
from model.cell import Protocol
from tests.support.crafted_packets import PORTS, SACK, Crafted, crafted, data, flows_of, sctp, tcp
from tests.support.recorded import wireless_cell
from tests.support.scapy_oracle import framed, records
from tests.unit.mininet_topos import bpf_machine

CRAFTED = crafted()


def counted(protocol: Protocol, frame: bytes) -> bool:
    """Return whether the flow's program counts a frame; its filter is asked about IPv4 alone."""
    value = bytearray(COUNTS.size)
    bpf_machine.run(instructions(protocol, PORTS[protocol], (), 7), frame, (7, value))
    seen_pkts, _, _ = COUNTS.unpack(value)
    return bool(seen_pkts)


@pytest.mark.parametrize("packet", CRAFTED, ids=lambda packet: packet.name)
def test_a_program_counts_its_flows_data_packets(packet: Crafted) -> None:
    found = {protocol for protocol in PORTS if counted(protocol, packet.frame)}
    assert found == ({packet.counts} if packet.counts else set())


#: What is dropped by its number and yet no packet of data in the packets table: a first fragment,
#: of which nothing is believed, and UDP without a byte. No generator here sends either.
ONLY_THE_PROGRAMS = ("a first fragment", "no data")


@pytest.mark.parametrize("packet", CRAFTED, ids=lambda packet: packet.name)
def test_the_packets_table_has_data_where_a_program_counts(packet: Crafted) -> None:
    (row,) = parse_packets(records([packet.frame]), [], flows_of(wireless_cell()), 0).to_dicts()
    has_data = bool(row["payload_bytes"]) and row["direction"] == "data"
    agrees = (row["flow"] if has_data else None) == packet.counts
    assert agrees != packet.name.endswith(ONLY_THE_PROGRAMS)


#: Packets that contradict themselves, which no stack sends: told by what a program looks at, a
#: chunk's type and where a TCP header says it ends. The packets table has no data in them.
CONTRADICTING: dict[str, tuple[Protocol, bytes]] = {
    "zeros behind the last chunk": ("sctp", framed(sctp(SACK, Raw(bytes(4))))),
    "a DATA chunk that is cut off": ("sctp", framed(sctp(Raw(bytes(data(b"ab"))[:14])))),
    "a DATA chunk without a byte": ("sctp", framed(sctp(data(b"")))),
    "a TCP header without a length": ("tcp", framed(tcp(dataofs=0))),
}


@pytest.mark.parametrize("name", CONTRADICTING)
def test_what_contradicts_itself_is_counted_and_is_no_data(name: str) -> None:
    protocol, frame = CONTRADICTING[name]
    assert counted(protocol, frame)
    (payload_bytes,) = parse_packets(records([frame]), [], [], 0)["payload_bytes"]
    assert not payload_bytes
