"""A study's cells routed by batman-adv: over several hops, counted, the same again."""

from __future__ import annotations

import gzip
import json
import struct
from collections import Counter
from collections.abc import Iterator

import polars as pl
import pytest

from mininet_topos.baselines.batman import Originator, next_hops
from model import run_folder
from model.cell import Collect
from testbed.campaign import digests
from tests.lab.ad_hoc.conftest import Left, RunAdHoc
from tests.lab.ad_hoc.test_cells import collecting
from tests.support.ad_hoc_study import STILL
from tests.support.study_file import Edit

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

MESH: Edit = ("protocol: aodv", "protocol: batman-adv")
#: All nodes in a line of 900 m; with this seed five hops lead from n1 to n2, over all others.
LINE: Edit = ("width: 700 m, height: 100 m", "width: 900 m, height: 1 m")
#: The host profile, with an option of routes besides.
WINDOW: Edit = (
    "    entries:\n",
    "    entries:\n      - {parameter: window, fidelity: exact, route: {initcwnd: 3}}\n",
)
SEED, HOPS = 23, 5
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
    first = digests.of_cell(line.folder)
    assert {run_folder.MEDIUM_CAPTURE, "raw/routing/n1.jsonl", "tables/radios.parquet"} <= set(
        first
    )
    again = run_ad_hoc("again", *EDITS, seed=SEED, collect=wanted())
    assert digests.differences(first, digests.of_cell(again.folder)) == []


def test_all_adds_up_and_is_as_it_was_set(line: Left) -> None:
    for name in (run_folder.AUDIT, run_folder.VERIFY):
        checks = line.json(name)["checks"]
        assert checks
        assert [check for check in checks if check["agrees"] is False] == []
    made = {check["check"] for check in line.json(run_folder.VERIFY)["checks"]}
    assert {"mesh's address", "mesh's largest packet", "route option initcwnd"} <= made


def test_both_flows_arrive_over_several_hops(line: Left) -> None:
    rows = pl.read_parquet(line.folder / run_folder.FLOWS_TABLE).to_dicts()
    goodput_bps = {row["flow"]: row["goodput_bps"] for row in rows}
    # Of 16 kbit/s of packets 512 of each 540 bytes are messages; five hops share one channel.
    assert goodput_bps["cbr"] == pytest.approx(16_000 * 512 / 540, rel=0.05)
    assert 20_000 < goodput_bps["main"] < 400_000


def marks(line: Left, node: str) -> list[dict[str, object]]:
    text = (line.folder / f"raw/routing/{node}.jsonl").read_text()
    return [json.loads(one) for one in text.splitlines()]


def test_the_way_from_end_to_end_is_known(line: Left) -> None:
    def mac(node: str) -> str:
        return f"02:00:00:00:00:{int(node[1:]) - 1:02x}"

    names = {mac(f"n{number}"): f"n{number}" for number in range(1, 7)}
    passed = ["n1"]
    while passed[-1] != "n2":
        *_, last, _ = marks(line, passed[-1])
        ways = [Originator(**way) for way in last["ways"]]  # type: ignore[attr-defined]
        passed.append(names[next_hops(ways)[mac("n2")]])
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
    for t_ns, mac, size in originator_messages(line):
        if int(str(last["from_ns"])) <= t_ns < int(str(last["to_ns"])):
            pkts[mac] += 1
            sent_bytes[mac] += size
    rows = pl.read_parquet(line.folder / run_folder.RADIOS_TABLE).to_dicts()
    assert len(rows) == 6
    for number, row in enumerate(rows):
        mac = f"02:00:00:00:00:{number:02x}"
        # One that its kernel counted may wait in the radio's queue, or find it full.
        assert 0 <= row["control_pkts"] - pkts[mac] <= 5
        assert 0 <= row["control_bytes"] - sent_bytes[mac] <= 5 * 100
        assert row["control_pkts"] > 20, "one of its own each second, and others' passed on"
        assert row["discoveries"] is row["link_breaks"] is row["routes_broken"] is None
    assert sum(row["control_pkts"] for row in rows) == pytest.approx(sum(pkts.values()), rel=0.03)


def test_radios_are_calibrated_where_a_mesh_routes(run_ad_hoc: RunAdHoc) -> None:
    left = run_ad_hoc("calibrate", MESH, purpose="calibrate")
    checks = [c for c in left.json(run_folder.VERIFY)["checks"]
              if c["check"] == "goodput over one hop"]  # fmt: skip
    assert len(checks) == 2
    assert all(check["agrees"] for check in checks)


def test_an_association_over_two_meshes(run_ad_hoc: RunAdHoc) -> None:
    left = run_ad_hoc(
        "two", LINE, STILL, MESH, ("  routing:", "  multihoming: same-channel\n  routing:"),
        ("protocol: tcp, pair: 1", "protocol: sctp, pair: 1, addresses: both"),
        ("flows.main.protocol: [tcp]", "flows.main.protocol: [sctp]"),
        seed=SEED, collect=wanted(),
    )  # fmt: skip
    checks = left.json(run_folder.VERIFY)["checks"]
    assert {"n1 bat0", "n1 bat1", "n2 bat1", "n1 net.ipv4.conf.all.arp_ignore"} <= {
        check["where"] for check in checks
    }
    assert [check for check in checks if check["agrees"] is False] == []
    rows = pl.read_parquet(left.folder / run_folder.RADIOS_TABLE).to_dicts()
    assert [(row["node"], row["radio"]) for row in rows[6:]] == [("n1", "wlan1"), ("n2", "wlan1")]
    assert all(row["control_pkts"] > 20 for row in rows)
    (main,) = pl.read_parquet(left.folder / run_folder.FLOWS_TABLE).filter(flow="main").to_dicts()
    assert main["goodput_bps"] > 10_000
