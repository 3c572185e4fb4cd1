"""An ad-hoc network's cells, from the empty kernel to tables and audit."""

from __future__ import annotations

import dataclasses
import gzip
import json

import polars as pl
import pytest

from mininet_topos.radio.dcf_theory import Dcf, one_sender_bps
from model import run_folder
from model.cell import Collect
from model.movement.of_network import movement
from testbed.campaign import digests
from tests.lab.ad_hoc.conftest import Left, RunAdHoc
from tests.support.ad_hoc_study import STILL, cell
from tests.support.study_file import Edit

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

#: All nodes in a line of 700 m, of which the first pair's are 110 m apart with this seed.
LINE: Edit = ("width: 700 m, height: 100 m", "width: 700 m, height: 1 m")
SEED = 1
#: All nodes within each other's range.
NEAR: Edit = ("width: 700 m, height: 100 m", "width: 100 m, height: 1 m")
TCP_FLOW = "  - {id: main, group: T, protocol: tcp, pair: 1, message: 1400 bytes}\n"
CBR_FLOW = "  - {id: cbr, group: C, protocol: udp, pair: 2, message: 512 bytes, rate: 16 kbit/s}\n"
#: One sender of UDP that offers 4 Mbit/s to radios of 2 Mbit/s.
SATURATING: Edit = (
    TCP_FLOW + CBR_FLOW,
    "  - {id: full, group: T, protocol: udp, pair: 1, message: 1000 bytes, rate: 4 Mbit/s}\n",
)
ALONE: tuple[Edit, ...] = (
    SATURATING, ("groups: {T: TCP, C: CBR}", "groups: {T: UDP}"), ("  flows.main", "  flows.full"),
    (".protocol: [tcp]", ".message: [1000 bytes]"),
)  # fmt: skip
UDP_HEADERS_BYTES = 28
#: What a packet has besides on the air: LLC and SNAP, the head of 802.11 with QoS or without, FCS.
FRAME_HEADERS_BYTES = 8 + 26 + 4


def collecting(**changes: bool) -> Collect:
    return dataclasses.replace(cell().collect, **changes)


@pytest.fixture(scope="module")
def line(run_ad_hoc: RunAdHoc) -> Left:
    return run_ad_hoc(
        "line", LINE, STILL, seed=SEED, collect=collecting(pcap=True, acknowledgements=True)
    )


def test_one_seed_fixes_it_to_the_byte(line: Left, run_ad_hoc: RunAdHoc) -> None:
    first = digests.of_cell(line.folder)
    assert {
        "raw/radio/medium.pcap.gz", "raw/radio/medium.json", "raw/routing/n1.events.gz",
        "tables/radios.parquet", "tables/airtime.parquet", "audit.json",
    } <= set(first)  # fmt: skip
    again = run_ad_hoc(
        "again", LINE, STILL, seed=SEED, collect=collecting(pcap=True, acknowledgements=True)
    )
    assert digests.differences(first, digests.of_cell(again.folder)) == []


def test_another_seed_is_another_run(line: Left, run_ad_hoc: RunAdHoc) -> None:
    other = run_ad_hoc("other", LINE, STILL, seed=SEED + 1, collect=line.cell.collect)
    assert line.json(run_folder.MEDIUM) != other.json(run_folder.MEDIUM)
    assert (line.folder / run_folder.MOVEMENT).read_text() != (
        other.folder / run_folder.MOVEMENT
    ).read_text()


def test_nodes_are_where_the_seed_puts_them(line: Left) -> None:
    network = line.cell.ad_hoc
    assert network is not None
    places = movement(network, seed=SEED, until_s=20).paths
    rows = (line.folder / run_folder.MOVEMENT).read_text().splitlines()[1:]
    assert rows == [
        f"0,{node},{path.rows[0].x_mm},{path.rows[0].y_mm}" for node, path in enumerate(places)
    ]


def test_all_adds_up(line: Left) -> None:
    for name in (run_folder.AUDIT, run_folder.VERIFY):
        checks = line.json(name)["checks"]
        assert checks
        assert [check for check in checks if check["agrees"] is False] == []
    radios = pl.read_parquet(line.folder / run_folder.RADIOS_TABLE)
    assert radios["node"].to_list() == ["n1", "n2", "n3", "n4", "n5", "n6"]
    assert radios["link_breaks"].sum() == 0, "nobody moves"
    assert radios["discoveries"].sum() >= 2


def test_goodput_over_one_hop_is_below_theory_and_near_it(line: Left) -> None:
    flows = {row["flow"]: row for row in pl.read_parquet(
        line.folder / "tables/flows.parquet").to_dicts()}  # fmt: skip
    # Of 16 kbit/s of packets 512 of each 540 bytes are messages.
    assert flows["cbr"]["goodput_bps"] == pytest.approx(16_000 * 512 / 540, rel=0.01)
    # n1 and n2 are 110 m apart. TCP has 52 bytes of headers, and acknowledgements on the channel.
    most_bps = one_sender_bps(Dcf(), 1448 + 52 + FRAME_HEADERS_BYTES, 1448)
    assert 0.75 * most_bps < flows["main"]["goodput_bps"] < most_bps


def test_acknowledgements_are_counted(line: Left) -> None:
    table = pl.read_parquet(line.folder / run_folder.ACKNOWLEDGEMENTS_TABLE).to_dicts()
    (row,) = table
    assert row["flow"] == "main"
    received = line.totals("raw/flows/main.receiver")
    assert row["all_ack_pkts"] == received["segs_out"]
    assert row["ack_pkts"] > 1000


def test_the_medium_is_captured(line: Left) -> None:
    content = gzip.decompress((line.folder / run_folder.MEDIUM_CAPTURE).read_bytes())
    assert int.from_bytes(content[20:24], "little") == 127, "link type radiotap"
    assert not (line.folder / "raw" / "pcap").exists()


@pytest.fixture(scope="module")
def full(run_ad_hoc: RunAdHoc) -> Left:
    return run_ad_hoc("full", NEAR, STILL, *ALONE)


def test_a_frame_that_a_full_queue_dropped_breaks_no_link(full: Left) -> None:
    medium = full.json(run_folder.MEDIUM)
    assert medium["dropped_full"][0] > 1000
    assert medium["given_up"] == [0] * 6
    for number in range(1, 7):
        router = full.totals(f"raw/routing/n{number}")
        assert router["link_breaks_feedback"] == 0
        assert router["routes_broken"] == 0
    assert full.totals("raw/routing/n1")["discoveries_started"] == 1


def test_a_saturating_sender_gets_what_the_dcf_leaves(full: Left) -> None:
    (flow,) = pl.read_parquet(full.folder / "tables/flows.parquet").to_dicts()
    frame_bytes = 1000 + UDP_HEADERS_BYTES + FRAME_HEADERS_BYTES
    wanted_bps = one_sender_bps(Dcf(), frame_bytes, 1000)
    assert flow["goodput_bps"] == pytest.approx(wanted_bps, rel=0.02)


def test_two_nodes_calibrate(run_ad_hoc: RunAdHoc) -> None:
    left = run_ad_hoc(
        "calibrate", ("pairs: 2", "pairs: 1"), ("nodes: 6", "nodes: 2"), ("pair: 2", "pair: 1"),
        purpose="calibrate",
    )  # fmt: skip
    checks = [c for c in left.json(run_folder.VERIFY)["checks"]
              if c["check"] == "goodput over one hop"]  # fmt: skip
    assert [check["where"] for check in checks] == ["one sender", "3 stations in one cell"]
    assert all(check["agrees"] for check in checks)
    assert json.dumps(checks).count("Mbit/s") == 4


def test_no_probe_of_a_neighbour_stops_a_calibrating_sender(run_ad_hoc: RunAdHoc) -> None:
    """Where a neighbour asks first, the kernel is not sure of its address and soon probes it.

    Probes were lost in the full queue, and after the third nothing was sent for 0.77 s.
    """
    left = run_ad_hoc(
        "unprobed", ("width: 700 m, height: 100 m", "width: 700 m, height: 1 m"),
        purpose="calibrate", seed=23,
    )  # fmt: skip
    frames = pl.read_csv(left.folder / run_folder.FRAMES, separator="\t").filter(
        (pl.col("from") == 0) & (pl.col("kind") == "data")
    )
    waits_ms = frames["begin_ns"].diff().drop_nulls() / 1e6
    assert len(waits_ms) > 4000
    assert max(waits_ms) < 50
    read_back = [
        check for check in left.json(run_folder.VERIFY)["checks"]
        if check["where"].endswith("wlan0.delay_first_probe_time")
    ]  # fmt: skip
    assert [check["got"] for check in read_back] == ["1000"] * 6
