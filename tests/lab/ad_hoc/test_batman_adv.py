"""A study's cells routed by batman-adv: over several hops, counted, the same again."""

from __future__ import annotations

import gzip
import struct
from collections import Counter
from collections.abc import Iterator

import polars as pl
import pytest

from mininet_topos.baselines.batman import Originator, next_hops
from model import run_folder
from model.cell import Collect
from tests.lab.ad_hoc.conftest import Left, RunAdHoc
from tests.lab.ad_hoc.test_cells import collecting
from tests.support.ad_hoc_study import STILL
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

MESH: Edit = ("protocol: aodv", "protocol: batman-adv")
#: The host profile, with an option of routes besides.
WINDOW: Edit = (
    "    entries:\n",
    "    entries:\n      - {parameter: window, fidelity: exact, route: {initcwnd: 3}}\n",
)
EDITS = (LINE, STILL, MESH, WINDOW)
#: Ethernet's type of batman-adv after LLC's and SNAP's first bytes, and its originator messages.
BATMAN, ORIGINATOR = b"\xaa\xaa\x03\0\0\0\x43\x05", 0
DATA_TYPE, QOS_BIT, NS = 2, 0x80, 1_000_000_000


def wanted() -> Collect:
    return collecting(pcap=True)


@pytest.fixture(scope="module")
def line(run_ad_hoc: RunAdHoc) -> Left:
    return run_ad_hoc("mesh", *EDITS, seed=SEED, collect=wanted())


def test_one_seed_fixes_it_to_the_byte(line: Left, run_ad_hoc: RunAdHoc) -> None:
    check_same_bytes(line, run_ad_hoc("again", *EDITS, seed=SEED, collect=wanted()))


def test_all_adds_up_and_is_as_it_was_set(line: Left) -> None:
    made = {check["check"] for check in adds_up(line)}
    assert {"mesh's address", "mesh's largest packet", "route option initcwnd"} <= made


def test_both_flows_arrive_over_several_hops(line: Left) -> None:
    check_arrives(line)


def test_the_way_from_end_to_end_is_known(line: Left) -> None:
    names = {mac(number): f"n{number + 1}" for number in range(NODES)}
    passed = ["n1"]
    while passed[-1] != "n2":
        *_, last, _ = marks(line, passed[-1])
        ways = [Originator(**way) for way in last["ways"]]
        passed.append(names[next_hops(ways)[mac(1)]])
        assert len(set(passed)) == len(passed)
    assert len(passed) - 1 == HOPS


def test_nodes_pass_no_packets_on(line: Left) -> None:
    for node in line.json("env.json")["sysctls"].values():
        assert node["net.ipv4.ip_forward"] == "0"


def originator_messages(line: Left) -> Iterator[tuple[int, str, int]]:
    """Yield when one began to be sent, by whom, and its bytes, of the capture of the medium."""
    content = gzip.decompress((line.folder / run_folder.MEDIUM_CAPTURE).read_bytes())
    epoch = line.json(run_folder.EPOCH)
    at = 24
    while at < len(content):
        seconds, nanoseconds, size, _ = struct.unpack_from("<IIII", content, at)
        packet = content[at + 16 : at + 16 + size]
        at += 16 + size
        frame = packet[struct.unpack_from("<H", packet, 2)[0] :]
        if frame[0] >> 2 & 3 != DATA_TYPE:
            continue
        body = frame[26 if frame[0] & QOS_BIT else 24 :]
        if body.startswith(BATMAN) and body[len(BATMAN)] == ORIGINATOR:
            t_ns = seconds * NS + nanoseconds - epoch["epoch_realtime_ns"] + epoch["epoch_ns"]
            yield t_ns, frame[10:16].hex(":"), len(body) - len(BATMAN)


def test_originator_messages_are_counted_as_the_medium_carried_them(line: Left) -> None:
    pkts: Counter[str] = Counter()
    sent_bytes: Counter[str] = Counter()
    last = marks(line, "n1")[-1]
    for t_ns, sender, size in originator_messages(line):
        if int(str(last["from_ns"])) <= t_ns < int(str(last["to_ns"])):
            pkts[sender] += 1
            sent_bytes[sender] += size
    rows = pl.read_parquet(line.folder / run_folder.RADIOS_TABLE).to_dicts()
    assert len(rows) == NODES
    for number, row in enumerate(rows):
        # One that its kernel counted may wait in the radio's queue, or find it full.
        assert 0 <= row["control_pkts"] - pkts[mac(number)] <= 5
        assert 0 <= row["control_bytes"] - sent_bytes[mac(number)] <= 5 * 100
        assert row["control_pkts"] > 20, "one of its own each second, and others' passed on"
        assert row["discoveries"] is row["link_breaks"] is row["routes_broken"] is None
    assert sum(row["control_pkts"] for row in rows) == pytest.approx(sum(pkts.values()), rel=0.03)


def test_radios_are_calibrated_where_a_mesh_routes(run_ad_hoc: RunAdHoc) -> None:
    left = run_ad_hoc("calibrate", MESH, purpose="calibrate")
    check_calibrated(left)


def test_an_association_over_two_meshes(run_ad_hoc: RunAdHoc) -> None:
    left = run_ad_hoc(
        "two", LINE, STILL, MESH, ("  routing:", "  multihoming: same-channel\n  routing:"),
        ("protocol: tcp, pair: 1", "protocol: sctp, pair: 1, addresses: both"),
        ("flows.main.protocol: [tcp]", "flows.main.protocol: [sctp]"),
        seed=SEED, collect=wanted(),
    )  # fmt: skip
    assert {"n1 bat0", "n1 bat1", "n2 bat1", "n1 net.ipv4.conf.all.arp_ignore"} <= {
        check["where"] for check in adds_up(left)
    }
    check_association(left, least_control_pkts=21)
