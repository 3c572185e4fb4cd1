"""Cells whose ends have two radios: which radio each packet leaves by, what both paths do."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from scapy.layers.dot11 import Dot11, RadioTap
from scapy.layers.inet import IP
from scapy.layers.sctp import SCTP
from scapy.utils import RawPcapReader

from model import run_folder
from model.ad_hoc import NodeRadio
from testbed.campaign import digests
from tests.lab.ad_hoc.conftest import Left, RunAdHoc
from tests.support.ad_hoc_study import STILL, cell
from tests.support.study_file import Edit

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

#: With this seed n1 and n2 are 556 m apart on the line, and others stand between: three hops.
LINE: Edit = ("width: 700 m, height: 100 m", "width: 700 m, height: 1 m")
SEED, HOPS = 23, 3
#: Of the 20 s of the study's file a heartbeat has two chances: both can be lost while ways are
#: looked for, and which ones are is drawn anew by any change of what runs in the lab.
LONG: Edit = ("duration: 20 s", "duration: 45 s")
BOTH: tuple[Edit, ...] = (
    LONG,
    ("protocol: tcp, pair: 1",
     "protocol: sctp, addresses: both, paths: {heartbeat_interval: 1 s}, pair: 1"),
    (".protocol: [tcp]", ".message: [1400 bytes]"),
)  # fmt: skip
QUIET: Edit = ("addresses: both,", "addresses: both, rate: 50 kbit/s,")
KINDS = ("same-channel", "two-networks")
CHANNELS_MHZ = (2412, 2437)
#: What a path has that nothing was measured of.
INITIAL_RTO_S = 3.0
#: What searches for a way in rings of 1, 3, 5 and 7 hops take (RFC 3561, section 10): 40 ms for
#: each hop and two more, there and back. A first round trip may have waited for that, and makes a
#: timeout of three times itself (RFC 9260, 6.3.1); backed off, the first one would be 6 s.
SEARCHED_RTO_S = 3 * sum(2 * 0.04 * (hops + 2) for hops in (1, 3, 5, 7))

Over = Callable[[str], Left]
Hops = Counter[tuple[NodeRadio, NodeRadio, str, str, int]]


def run(run_ad_hoc: RunAdHoc, name: str, kind: str, *edits: Edit) -> Left:
    asked: Edit = ("  routing:", f"  multihoming: {kind}\n  routing:")
    collect = dataclasses.replace(cell().collect, pcap=True)
    return run_ad_hoc(name, LINE, STILL, *BOTH, asked, *edits, seed=SEED, collect=collect)


@pytest.fixture(scope="module")
def over(run_ad_hoc: RunAdHoc) -> Over:
    """Return the cell of a kind of multihoming, run when it is first asked for."""
    found: dict[str, Left] = {}

    def of(kind: str) -> Left:
        if kind not in found:
            found[kind] = run(run_ad_hoc, kind, kind)
        return found[kind]

    return of


def radios(left: Left) -> tuple[NodeRadio, ...]:
    assert left.cell.ad_hoc is not None
    return left.cell.ad_hoc.radios()


def hops(left: Left) -> Hops:
    """Count SCTP's packets on the air: sending and receiving radio, addresses, frequency."""
    return _hops(left.folder / run_folder.MEDIUM_CAPTURE, radios(left))


@functools.cache  # several tests ask for the same, and scapy takes its time
def _hops(capture: Path, found: tuple[NodeRadio, ...]) -> Hops:
    by_mac = {f"02:00:00:00:00:{number:02x}": radio for number, radio in enumerate(found)}
    counted: Hops = Counter()
    with RawPcapReader(str(capture)) as captured:
        frames = [RadioTap(content) for content, _ in captured]
    for frame in frames:
        if SCTP in frame:
            head, packet = frame[Dot11], frame[IP]
            ends = by_mac[head.addr2], by_mac[head.addr1]
            counted[*ends, packet.src, packet.dst, frame.ChannelFrequency] += 1
    return counted


@pytest.mark.parametrize("kind", KINDS)
def test_all_adds_up(over: Over, kind: str) -> None:
    left = over(kind)
    for name in (run_folder.AUDIT, run_folder.VERIFY):
        checks = left.json(name)["checks"]
        assert [check for check in checks if check["agrees"] is False] == []
    wanted = [(radio.node, radio.device) for radio in radios(left)]
    assert len(wanted) == (8 if kind == "same-channel" else 12)
    table = pl.read_parquet(left.folder / run_folder.RADIOS_TABLE)
    assert list(zip(table["node"], table["radio"], strict=True)) == wanted
    ruled = [c for c in left.json(run_folder.VERIFY)["checks"] if c["check"] == "routing by radio"]
    assert len(ruled) == len(wanted) - 6, "a check for each node with two radios"


def test_one_seed_fixes_it_to_the_byte(over: Over, run_ad_hoc: RunAdHoc) -> None:
    first = digests.of_cell(over("same-channel").folder)
    assert {"raw/routing/n1.wlan1.events.gz", "tables/paths.parquet"} <= set(first)
    again = run(run_ad_hoc, "again", "same-channel")
    assert digests.differences(first, digests.of_cell(again.folder)) == []


def test_bulk_data_fills_the_first_path(over: Over) -> None:
    """Over three hops that share a channel a third of what one hop carries is left, or less."""
    (flow, _) = pl.read_parquet(over("same-channel").folder / "tables/flows.parquet").to_dicts()
    assert flow["flow"] == "main"
    assert 150_000 < flow["goodput_bps"] < 1_500_000 / HOPS


@pytest.mark.parametrize("kind", KINDS)
def test_both_paths_are_measured_by_heartbeats(run_ad_hoc: RunAdHoc, kind: str) -> None:
    """Where the channel has room: beside bulk data searches for a way can fail for many seconds."""
    left = run(run_ad_hoc, f"quiet-{kind}", kind, QUIET)
    table = pl.read_parquet(left.folder / run_folder.PATHS_TABLE)
    looks = table.filter(event="look", side="sender")
    for path, address in ((1, "10.0.1.1"), (2, "10.128.1.1")):
        last = looks.filter(path=path).row(-1, named=True)
        assert (last["address"], last["state"]) == (address, "active")
        assert last["rto_s"] != INITIAL_RTO_S, "no round trip was measured"
        assert last["rto_s"] < SEARCHED_RTO_S


@pytest.mark.parametrize("kind", KINDS)
def test_a_packet_leaves_and_arrives_by_the_radio_whose_address_it_has(
    over: Over, kind: str
) -> None:
    left = over(kind)
    by_address = {radio.address: radio for radio in radios(left)}
    leaving, arriving = set(), set()
    for sender, receiver, source, destination, _ in hops(left):
        if sender.node == by_address[source].node:
            assert sender == by_address[source]
            leaving.add((source, destination))
        if receiver.node == by_address[destination].node:
            assert receiver == by_address[destination]
            arriving.add((source, destination))
    first, second = ("10.0.0.1", "10.0.1.1"), ("10.128.0.1", "10.128.1.1")
    ways = {first, first[::-1], second, second[::-1]}
    assert leaving == arriving == ways


@pytest.mark.parametrize("kind", KINDS)
def test_both_paths_are_as_long_as_the_line_asks(over: Over, kind: str) -> None:
    senders: dict[str, set[str]] = {}
    for sender, _, source, _, _ in hops(over(kind)):
        senders.setdefault(source, set()).add(sender.node)
    assert set(senders) == {"10.0.0.1", "10.0.1.1", "10.128.0.1", "10.128.1.1"}
    assert all(len(nodes) >= HOPS for nodes in senders.values())


def test_on_one_channel_others_pass_both_paths_on_by_their_only_radio(over: Over) -> None:
    found = hops(over("same-channel"))
    assert {mhz for *_, mhz in found} == {CHANNELS_MHZ[0]}
    between = {sender.device for sender, *_ in found if sender.node not in ("n1", "n2")}
    assert between == {"wlan0"}


def test_two_networks_are_apart(over: Over) -> None:
    """Every hop of a packet is on the channel of its addresses, and between radios of it."""
    for sender, receiver, source, _, mhz in hops(over("two-networks")):
        number = int(source.startswith("10.128."))
        assert mhz == CHANNELS_MHZ[number]
        assert sender.device == receiver.device == f"wlan{number}"


def test_a_second_radio_says_of_its_own_requests_and_routes(over: Over) -> None:
    left = over("two-networks")
    rows = {
        (row["node"], row["radio"]): row
        for row in pl.read_parquet(left.folder / run_folder.RADIOS_TABLE).to_dicts()
    }
    assert sum(rows[end, "wlan1"]["discoveries"] for end in ("n1", "n2")) >= 1
    assert rows["n3", "wlan1"]["discoveries"] == 0, "constant flows use first radios alone"
    assert rows["n1", "wlan1"]["acked_frames"] > 10
    assert sum(row["control_pkts"] for (_, radio), row in rows.items() if radio == "wlan1") > 3
