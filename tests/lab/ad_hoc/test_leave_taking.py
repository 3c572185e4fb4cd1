"""Frames of 802.11 itself that are given up: to neighbours that the kernel forgets, long gone."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from scapy.layers.dot11 import Dot11, RadioTap
from scapy.utils import RawPcapReader

from mininet_topos.radio.radios import mac_of
from model import run_folder
from tests.lab.ad_hoc.conftest import RunAdHoc
from tests.lab.ad_hoc.test_cells import collecting
from tests.support.study_file import Edit

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

#: Nodes drive through a field of some ranges, for longer than the kernel remembers them: a minute,
#: and up to half of one until it looks.
WIDE: Edit = ("width: 700 m, height: 100 m", "width: 2000 m, height: 100 m")
FAST: Edit = ("min: 1 m/s, max: 5 m/s", "min: 15 m/s, max: 20 m/s")
LONG: Edit = ("duration: 20 s", "duration: 150 s")
QUIET: Edit = (
    "  - {id: main, group: T, protocol: tcp, pair: 1, message: 1400 bytes}\n",
    "  - {id: main, group: T, protocol: udp, pair: 1, message: 100 bytes, rate: 2 kbit/s}\n",
)
WITHOUT_TCP: Edit = ("  flows.main.protocol: [tcp]", "  flows.main.rate: [2 kbit/s]")
DEAUTHENTICATION = (0, 12)


def test_they_are_counted_apart(run_ad_hoc: RunAdHoc) -> None:
    asked = (WIDE, FAST, LONG, QUIET, WITHOUT_TCP)
    left = run_ad_hoc("away", *asked, collect=collecting(pcap=True))
    attempts = left.cell.ad_hoc.radio.retry_limit if left.cell.ad_hoc else 0
    sent: Counter[tuple[str, str, int]] = Counter()
    with RawPcapReader(str(left.folder / run_folder.MEDIUM_CAPTURE)) as frames:
        for data, _ in frames:
            frame = RadioTap(data)[Dot11]
            if (frame.type, frame.subtype) == DEAUTHENTICATION:
                sent[frame.addr2, frame.addr1, frame.SC] += 1
    given_up = Counter(sender for (sender, _, _), tries in sent.items() if tries == attempts)
    assert sum(given_up.values()) > 3
    radios = pl.read_parquet(left.folder / run_folder.RADIOS_TABLE).to_dicts()
    counted = {
        mac_of(number): row["given_up_management_frames"] for number, row in enumerate(radios)
    }
    assert {mac: count for mac, count in counted.items() if count} == given_up
    assert sum(row["given_up_frames"] for row in radios) >= sum(given_up.values())
