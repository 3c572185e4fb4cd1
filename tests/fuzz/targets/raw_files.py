"""Single raw files of a cell, without what is made of them together."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from collectors.audit import equal_drops, numbered_drops, packet_balance
from collectors.raw.acknowledgements import acknowledgement_rows
from collectors.raw.files import read_as, read_text, whole
from collectors.raw.flows import (
    counters,
    iperf3_received,
    probe_mss_bytes,
    probe_received,
    probe_sent,
)
from collectors.raw.radios import airtime_rows, radio_rows
from collectors.raw.routers import router_counts
from collectors.tables import packet_evidence, radio_files, write
from collectors.trace.queue import parse_places, queue
from model.ad_hoc import NodeRadio
from model.cell import Cell, from_dict
from model.check import Check
from model.links import AnyLoss, Loss, PeriodicLoss
from testbed.campaign import (
    calibration_checks,
    run_cell,
)
from testbed.guest.ledger import disagreements
from tests.fuzz.mutate import json_input, lines_input, text_input
from tests.fuzz.target import Target, text
from tests.support.fake_lab import write_calibrated
from tests.support.recorded import DATA, value, wireless_cell, with_bottleneck

NUMBERED = [
    {
        "flow": flow,
        "node": "r2",
        "device": "ifb0",
        "listed_pkts": [1, 5],
        "seen_pkts": 300,
        "dropped_pkts": 2,
        "drawn_dropped_pkts": 0,
        "together_seen_pkts": 596,
        "together_drawn_pkts": 3,
    }
    for flow in ("T", "S")
]
ACKNOWLEDGEMENTS = [
    {
        "flow": flow,
        "node": "dst1",
        "devices": ["dst1-eth0"],
        "ack_pkts": 20,
        "ack_ip_bytes": 960,
        "sack_pkts": 4,
        "sack_bytes": 40,
        "all_ack_pkts": 24,
        "all_ack_ip_bytes": 1116,
        "all_sack_pkts": 13,
        "all_sack_bytes": 130,
    }
    for flow in ("T", "S")
]


def _in_file(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    def run(content: bytes) -> None:
        path.write_bytes(content)
        read(path)

    path.parent.mkdir(parents=True, exist_ok=True)
    return run


#: Losses of a bottleneck that numbers data packets to lose them.
NUMBERED_LOSSES: tuple[AnyLoss, ...] = (
    Loss(model="paired", loss_frac=0.01),
    Loss(model="equal_drops", loss_frac=0.01),
    PeriodicLoss(model="periodic", every_pkts=100, first_pkt=2),
)


def _numbered_drops(cell: Cell, path: Path) -> list[Check]:
    """Read what was dropped by number, and compare it as far as it goes without captures."""
    lists = packet_evidence.numbered_drops(path.parents[1], cell)
    return equal_drops.checks(cell, lists)


def raw_files(place: Path) -> dict[str, Target]:
    """Return readers of single raw files, without what is made of them together."""
    cell = from_dict(value("lab-cell-7.3/cell.json"))
    raw = DATA / "lab-cell-7.3" / "raw"
    tcp, sctp = cell.flows[0], cell.flows[1]
    counted = dataclasses.replace(cell.collect, acknowledgements=True)
    counting = dataclasses.replace(cell, collect=counted)
    numbered = {loss.model: with_bottleneck(cell, loss=loss) for loss in NUMBERED_LOSSES}

    def file(
        name: str, parse_value: Callable[[Any], object], corpus: list[Path], share: int
    ) -> Target:
        return Target(
            corpus=[path.read_bytes() for path in corpus],
            mutate=json_input,
            share=share,
            run=_in_file(place / name, lambda path: read_as(path, parse_value)),
        )

    def lines(
        name: str, read: Callable[[str, str], object], corpus: list[Path], share: int
    ) -> Target:
        return Target(
            corpus=[path.read_bytes() for path in corpus],
            mutate=lines_input,
            share=share,
            run=_in_file(place / name, lambda path: read(read_text(path), str(path))),
        )

    probes = DATA / "probes-0.1.0"
    places = parse_places(json.loads((DATA / "trace-7.3" / "places.json").read_text()))
    end = json.loads((raw / "qdiscs.json").read_text())
    radios = DATA / "radios-6.12" / "raw"
    medium = json.loads((radios / "radio" / "medium.json").read_text())
    of_nodes = [
        NodeRadio(node=f"n{number}", device="wlan0", address="", is_apart=False)
        for number in range(1, 7)
    ]
    router = json.loads((radios / "routing" / "n1.jsonl").read_text().splitlines()[-1])
    return {
        "epoch.json": file("epoch.json", lambda v: whole(v["epoch_ns"]), [raw / "epoch.json"], 30),
        "counters.json": file(
            "counters.json",
            lambda rows: [counters(rows, f.id) for f in cell.flows],
            [raw / "counters.json", probes / "counters.json"],
            40,
        ),
        "path.json": file(
            "path.json", lambda v: packet_balance.stretches(v, cell), [raw / "path.json"], 40
        ),
        "qdiscs.json": file(
            "qdiscs.json",
            write.qdisc_rows,
            [raw / "qdiscs.json", DATA / "iproute2-6.15" / "qdisc-statistics.json"],
            40,
        ),
        "qdiscs-start.json": file(
            "qdiscs-start.json",
            lambda v: packet_balance.passages(packet_balance.roots(v), end),
            [raw / "qdiscs-start.json"],
            30,
        ),
        "qdiscs of hooks": file("hooks.json", numbered_drops.hook_drops, [raw / "qdiscs.json"], 20),
        **{
            f"numbered_drops.json, {model}": Target(
                corpus=[json.dumps(NUMBERED).encode()],
                mutate=json_input,
                share=30,
                run=_in_file(
                    place / model / "raw" / "numbered_drops.json",
                    functools.partial(_numbered_drops, losing),
                ),
            )
            for model, losing in numbered.items()
        },
        "acknowledgements.json": Target(
            corpus=[json.dumps(ACKNOWLEDGEMENTS).encode()],
            mutate=json_input,
            share=30,
            run=_in_file(
                place / "acknowledgements.json",
                lambda path: read_as(path, lambda v: acknowledgement_rows(v, counting)),
            ),
        ),
        "points.json": file(
            "points.json", packet_evidence._taps, [raw / "pcap" / "points.json"], 30
        ),
        "places.json": file("places.json", parse_places, [DATA / "trace-7.3" / "places.json"], 40),
        "ledger.json": file("ledger.json", disagreements, [probes / "ledger.json"], 40),
        "calibration.json": file(
            "calibration.json",
            run_cell._measurements,
            [_calibration(place)],
            30,
        ),
        "queue.jsonl": lines(
            "queue.jsonl",
            lambda t, w: queue(t, places, 0, w),
            [DATA / "trace-7.3" / "queue.jsonl"],
            15,
        ),
        "T.receiver": lines(
            "T.receiver.jsonl",
            lambda t, w: probe_received(t, tcp, 0, w),
            [raw / "flows" / "T.receiver.jsonl", probes / "tcp_recv.jsonl"],
            50,
        ),
        "S.receiver": lines(
            "S.receiver.jsonl",
            lambda t, w: probe_received(t, sctp, 0, w),
            [raw / "flows" / "S.receiver.jsonl", probes / "sctp_recv.jsonl"],
            30,
        ),
        "T.sender": lines(
            "T.sender.jsonl",
            lambda t, w: (probe_sent(t, tcp, w), probe_mss_bytes(t, w)),
            [raw / "flows" / "T.sender.jsonl", probes / "tcp_send.jsonl"],
            50,
        ),
        "S.sender": lines(
            "S.sender.jsonl",
            lambda t, w: probe_sent(t, sctp, w),
            [raw / "flows" / "S.sender.jsonl", probes / "sctp_send.jsonl"],
            30,
        ),
        "iperf3": Target(
            corpus=[
                (DATA / "iperf3-3.18" / name).read_bytes()
                for name in ("server.json", "refused.json")
            ],
            mutate=json_input,
            share=30,
            run=lambda content: iperf3_received(text(content), tcp, "T.receiver.jsonl"),
        ),
        "medium.json": file(
            "medium.json",
            lambda v: (
                radio_rows(of_nodes, v, [router_counts("aodv", router)] * 6),
                airtime_rows(v, 20.0, routed_all_along=False),
            ),
            [radios / "radio" / "medium.json"],
            30,
        ),
        "routing": lines(
            "routing.jsonl",
            lambda t, w: radio_rows(of_nodes, medium, [radio_files.counts(t, w, "aodv")] * 6),
            [radios / "routing" / "n1.jsonl", radios / "routing" / "n5.jsonl"],
            20,
        ),
        "packet log": Target(
            corpus=[path.read_bytes() for path in sorted(probes.glob("*.tsv"))],
            mutate=text_input,
            share=20,
            run=lambda content: calibration_checks.read_log(text(content), "log.tsv"),
        ),
    }


def _calibration(place: Path) -> Path:
    write_calibrated(place / "recorded", wireless_cell(purpose="calibrate"))
    return place / "recorded" / "raw" / "calibration.json"
