"""What a kernel does of what its patches change, seen in three short runs of the anatomy study."""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from collectors.tables.write import write_tables
from model import run_folder
from model.cell import cell_json
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.points.load_study import find_study, load_study
from testbed.points.resolve import resolve_cell
from testbed.study.vocabulary import KERNEL_PATCHES

SEGMENT_BYTES, FOUR_MTU_BYTES = 1448, 4 * 1500
#: Windows of TCP, in segments, at which acknowledgements are counted.
COUNTED = range(6, 12)

#: Of Linux 6.12 as it is.
PLAIN: dict[str, Any] = {
    "SCTP repeats on report": 3,
    "SCTP sends on each report": [2, 2, 0],
    "SCTP's first flight": 4,
    "SCTP's threshold is below 4 MTU": False,
    "SCTP lowers its threshold in one window": 1,
    "TCP sends on the first two duplicates": [1, 1],
    "acknowledgements in recovery until TCP sends": 2,
    "TCP's acknowledgements per window of 6 to 11": [6, 7, 8, 9, 10, 11],
}
#: What each patch makes of it, and nothing else.
BY_PATCH: dict[str, dict[str, Any]] = {
    "sctp-4th-duplicate": {
        "SCTP repeats on report": 4, "SCTP sends on each report": [2, 2, 2],
    },
    # A packet leaves while less than 3000 bytes are under way, and two are 2896.
    "sctp-first-window-2": {"SCTP's first flight": 3},
    "sctp-no-fast-recovery": {"SCTP lowers its threshold in one window": 4},
    "sctp-ssthresh-2-mtu": {"SCTP's threshold is below 4 MTU": True},
    # n + 1/2 for a window of n: two of them take an odd number.
    "tcp-growth-by-fractions": {
        "TCP's acknowledgements per window of 6 to 11": [7, 7, 9, 9, 11, 11],
    },
    # Six are under way when it acts, where there were eight.
    "tcp-no-limited-transmit": {
        "TCP sends on the first two duplicates": [0, 0],
        "acknowledgements in recovery until TCP sends": 3,
    },
    "tcp-window-halved-at-once": {"acknowledgements in recovery until TCP sends": 5},
}  # fmt: skip

#: Ours of each protocol; tests/long/patched_kernels.py has each alone, which takes a kernel each.
SCTP, TCP = (tuple(p for p in KERNEL_PATCHES if p.startswith(of)) for of in ("sctp", "tcp"))
#: What several do together. Six are under way when TCP acts, and it waits until there are fewer
#: than four; where SCTP's threshold may fall below 4 MTU, what lowers it once more is seen.
TOGETHER: dict[tuple[str, ...], dict[str, Any]] = {
    SCTP: {"SCTP lowers its threshold in one window": 5},
    TCP: {"acknowledgements in recovery until TCP sends": 3},
}


def wanted(patches: Sequence[str]) -> dict[str, Any]:
    """Return what a kernel does with all of ours for a protocol."""
    found = PLAIN.copy()
    for patch in patches:
        found |= BY_PATCH[patch]
    return found | TOGETHER[tuple(patches)]


def facts(lab: VirtualLab, place: Path) -> dict[str, Any]:
    """Return what a lab's kernel does, in an empty folder."""
    one = _run(lab, place / "one", {"T": [8], "S": [8]})
    small = _run(lab, place / "small", {"T": [8], "S": [3]})
    several = _run(lab, place / "several", {"T": [8], "S": [30, 36]})
    episodes = pl.read_parquet(one / run_folder.EPISODES_TABLE)
    tcp, sctp = (episodes.filter(flow=flow).to_dicts()[0] for flow in "TS")
    (early,) = pl.read_parquet(small / run_folder.EPISODES_TABLE).filter(flow="S").to_dicts()
    congestion = pl.read_parquet(several / run_folder.CONGESTION_TABLE).filter(flow="S")
    thresholds = [value for value, _ in itertools.groupby(congestion["ssthresh_bytes"].to_list())]
    return {
        "SCTP repeats on report": sctp["dupacks"],
        "SCTP sends on each report": [sctp[f"new_data_on_dupack_{k}_pkts"] for k in (1, 2, 3)],
        "SCTP's first flight": _first_flight(one),
        "SCTP's threshold is below 4 MTU": early["ssthresh_after_bytes"] < FOUR_MTU_BYTES,
        "SCTP lowers its threshold in one window": len(thresholds) - 1,
        "TCP sends on the first two duplicates": [
            tcp[f"new_data_on_dupack_{k}_pkts"] for k in (1, 2)
        ],
        "acknowledgements in recovery until TCP sends": tcp["acks_to_new_data_pkts"],
        "TCP's acknowledgements per window of 6 to 11": _growth(one),
    }


def _run(lab: VirtualLab, place: Path, drops: dict[str, list[int]]) -> Path:
    study = load_study(find_study("anatomy"))
    cell = resolve_cell(study, study.points[0], seed=1, replicate=1, lab=lab.describe(), pcap=True)
    flows = tuple(dataclasses.replace(f, drop_data_pkts=tuple(drops[f.id])) for f in cell.flows)
    cell = dataclasses.replace(cell, flows=flows)
    place.mkdir(parents=True)
    (place / run_folder.CELL).write_text(cell_json(cell))
    lab.run(cell, place, threading.Event())
    write_tables(place, cell)
    return place


def _first_flight(folder: Path) -> int:
    """Return how many packets SCTP sent before the first acknowledgement of data came."""
    packets = pl.read_parquet(folder / run_folder.PACKETS_TABLE).filter(flow="S")
    sent = packets.filter(pl.col("payload_bytes") > 0, direction="data", point="sent")["t_s"]
    heard = packets.filter(direction="ack", point="delivered", chunk_types="SACK")["t_s"].min()
    return int((sent < heard).sum())


def _growth(folder: Path) -> list[int]:
    """Return how many acknowledgements TCP took for each of some windows, its loss repaired."""
    congestion = pl.read_parquet(folder / run_folder.CONGESTION_TABLE).filter(flow="T")
    after = congestion.filter(pl.col("ssthresh_bytes") < 10 * SEGMENT_BYTES)
    windows = [bytes_ // SEGMENT_BYTES for bytes_ in after["cwnd_bytes"].to_list()]
    runs = [(window, len(list(those))) for window, those in itertools.groupby(windows)]
    lowest = min(range(len(runs)), key=lambda i: runs[i][0])
    grown = dict(runs[lowest:])
    return [grown[window] for window in COUNTED]
