"""A study's cells routed by babeld: over several hops, counted, the same again.

    python -m pytest tests/long/babel/*.py

Some minutes: it builds a kernel that nothing else needs, with IPv6 beside radios.
"""

from __future__ import annotations

import gzip
from collections import Counter

import polars as pl
import pytest

from mininet_topos.baselines.babel import PORT, link_local
from model import run_folder
from model.ad_hoc import address
from model.cell import Collect
from testbed.labs.virtual import virtual_lab
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.lab.ad_hoc.conftest import Left, RunAdHoc
from tests.lab.ad_hoc.test_cells import collecting
from tests.lab.ad_hoc.test_second_radios import hops
from tests.support.ad_hoc_study import STILL, study
from tests.support.dissectors.ipv6_on_air import UDP, packets
from tests.support.radio.routed_line import (
    HOPS,
    LINE,
    NODES,
    SEED,
    adds_up,
    check_arrives,
    check_association,
    check_calibrated,
    check_same_bytes,
    mac,
    marks,
)
from tests.support.study_file import Edit

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

BABEL: Edit = ("protocol: aodv", "protocol: babel")
#: So long that what was lost of the first updates has been told again.
WARM: Edit = ("  routing:", "  warm_up: 20 s\n  routing:")
EDITS = (LINE, STILL, BABEL, WARM)


@pytest.fixture(scope="session")
def radios() -> VirtualLab:
    """The lab of such a study: its kernel has IPv6 beside radios; built when it is not there."""
    made = study(BABEL)
    return virtual_lab.ensure(made.kernel_at(made.points[0]), lambda _what, _done: None)


def wanted() -> Collect:
    return collecting(pcap=True)


@pytest.fixture(scope="module")
def line(run_ad_hoc: RunAdHoc) -> Left:
    return run_ad_hoc("babel", *EDITS, seed=SEED, collect=wanted())


def test_one_seed_fixes_it_to_the_byte(line: Left, run_ad_hoc: RunAdHoc) -> None:
    check_same_bytes(line, run_ad_hoc("again", *EDITS, seed=SEED, collect=wanted()))


def test_all_adds_up_and_is_as_it_was_set(line: Left) -> None:
    made = {check["check"] for check in adds_up(line)}
    assert {"net.ipv4.ip_forward", "IPv6 address", "packets without a way"} <= made


def test_both_flows_arrive_over_several_hops(line: Left) -> None:
    check_arrives(line)


def test_the_way_from_end_to_end_is_known_at_both_times(line: Left) -> None:
    macs = {link_local(mac(number)): number for number in range(NODES)}
    for at in (0, 1):
        passed = [0]
        while passed[-1] != 1:
            ways = marks(line, f"n{passed[-1] + 1}")[at]["ways"]
            vias = {way["prefix"]: way["via"] for way in ways}
            passed.append(macs[vias[f"{address(1)}/32"]])
            assert len(set(passed)) == len(passed)
        assert len(passed) - 1 == HOPS


def test_messages_are_counted_as_the_medium_carried_them(line: Left) -> None:
    last = marks(line, "n1")[-1]
    from_ns, to_ns = int(str(last["from_ns"])), int(str(last["to_ns"]))
    epoch = line.json(run_folder.EPOCH)
    pkts: Counter[str] = Counter()
    sent_bytes: Counter[str] = Counter()
    for sent in packets(gzip.decompress((line.folder / run_folder.MEDIUM_CAPTURE).read_bytes())):
        t_ns = sent.t_ns - epoch["epoch_realtime_ns"] + epoch["epoch_ns"]
        if sent.header == UDP and sent.port == PORT and from_ns <= t_ns < to_ns:
            pkts[sent.mac] += 1
            sent_bytes[sent.mac] += sent.ip_bytes
    rows = pl.read_parquet(line.folder / run_folder.RADIOS_TABLE).to_dicts()
    assert len(rows) == NODES
    for number, row in enumerate(rows):
        # One that was counted may wait in the radio's queue at either time.
        assert abs(row["control_pkts"] - pkts[mac(number)]) <= 2
        assert abs(row["control_bytes"] - sent_bytes[mac(number)]) <= 2 * 1500
        assert row["control_pkts"] >= 4, "a hello every four seconds"
        assert row["discoveries"] is row["link_breaks"] is row["routes_broken"] is None
        assert row["router_dropped_pkts"] is None
    assert sum(row["control_pkts"] for row in rows) == pytest.approx(sum(pkts.values()), rel=0.05)


def test_radios_are_calibrated_where_babel_routes(run_ad_hoc: RunAdHoc) -> None:
    left = run_ad_hoc("calibrate", BABEL, purpose="calibrate")
    check_calibrated(left)


@pytest.mark.parametrize("kind", ["same-channel", "two-networks"])
def test_an_association_over_two_radios(run_ad_hoc: RunAdHoc, kind: str) -> None:
    left = run_ad_hoc(
        kind, *EDITS, ("  routing:", f"  multihoming: {kind}\n  routing:"),
        ("protocol: tcp, pair: 1", "protocol: sctp, pair: 1, addresses: both"),
        ("flows.main.protocol: [tcp]", "flows.main.protocol: [sctp]"),
        seed=SEED, collect=wanted(),
    )  # fmt: skip
    assert left.cell.ad_hoc is not None
    assert {"n1 wlan0", "n1 wlan1", "n2 wlan1", "n1 net.ipv4.conf.all.arp_ignore"} <= {
        check["where"] for check in adds_up(left)
    }
    for device, second in (("", False), (".wlan1", True)):
        for line in marks(left, f"n1{device}")[:2]:
            prefixes = [way["prefix"] for way in line["ways"]]
            assert f"{address(1, second)}/32" in prefixes
            assert all(one.startswith("10.128.") == second for one in prefixes)
    check_association(left, least_control_pkts=4)
    by_address = {radio.address: radio for radio in left.cell.ad_hoc.radios()}
    seen = set()
    for sender, receiver, source, destination, _ in hops(left):
        if sender.node == by_address[source].node:
            assert sender == by_address[source]
        if receiver.node == by_address[destination].node:
            assert receiver == by_address[destination]
            seen.add((source, destination))
    assert {(address(0, path), address(1, path)) for path in (0, 1)} <= seen
