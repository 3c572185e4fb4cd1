"""Read what the packets table, the path table and the audit of one cell rest on. Reads files only.

A raw file that should be there and is not, or is broken, is a :class:`ParseError` naming it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from collectors.audit import balance_checks as checks_of
from collectors.audit import equal_drops, netem_losses, packet_balance
from collectors.audit import numbered_drops as numbered
from collectors.audit.numbered_drops import Numbered
from collectors.audit.packet_balance import Evidence, Passage, Stretch
from collectors.packets.packets import Tap, parse_packets
from collectors.packets.tally import tally
from collectors.raw.files import WHOLE_MAX, check_count, read_as, read_text, whole
from collectors.raw.flows import Received, json_lines
from collectors.raw.pcap import Records, merged, read
from model import run_folder
from model.cell import Cell, Flow
from model.check import Check
from model.errors import ParseError
from model.links import NUMBERED_LOSSES
from model.run_files.traffic_tables import AuditRow, PathRow
from model.tolerances import Tolerances

SCHEMA = 1
POINTS = "raw/pcap/points.json"


def packets(folder: Path, cell: Cell) -> pl.DataFrame | None:
    """Return a cell's packets table; None if the cell was not captured.

    Raises:
        ParseError: a capture is missing, cut short or damaged.
    """
    if not cell.collect.pcap or cell.ad_hoc:  # whose medium is captured
        return None
    taps = read_as(folder / POINTS, _taps)
    return parse_packets(captures(folder), taps, cell.flows, epoch_ns(folder))


def epoch_ns(folder: Path) -> int:
    """Return a cell's time zero, since 1970."""
    return read_as(folder / run_folder.EPOCH, lambda value: whole(value["epoch_realtime_ns"]))


def one_way_delays(folder: Path) -> bool:
    """Return whether all of a cell's clocks are known well enough for them; one clock is."""
    path = folder / run_folder.CLOCKS
    return not path.exists() or read_as(path, lambda value: value["one_way_delays"] is True)


def captures(folder: Path) -> Records:
    """Return all captures of a cell together: record i is row i of its packets table.

    Raises:
        ParseError: a capture is missing, cut short, damaged or not as long as what wrote it said.
    """
    place = folder / "raw" / "pcap"
    names = sorted({tap.file for tap in read_as(folder / POINTS, _taps)})
    counted = read_as(
        place / "counts.json", lambda value: [whole(value[n]["captured_pkts"]) for n in names]
    )
    found = []
    for name, count in zip(names, counted, strict=True):
        found.append(read(place / name)[0])
        check_count(place / name, count, len(found[-1]), "packets")
    return merged(found)


def _taps(value: Mapping[str, Any]) -> list[Tap]:
    taps = [Tap.of(entry) for entry in value["taps"]]
    if not taps:
        raise ValueError("no tap")
    return taps


def evidence(
    folder: Path,
    cell: Cell,
    captured: pl.DataFrame | None,
    counters: Mapping[str, Mapping[str, int]],
    received: Mapping[str, Received],
) -> Evidence:
    """Return all that was counted in a cell.

    Raises:
        ParseError: a raw file is missing or broken.
    """
    raw = folder / "raw"
    stretches: tuple[Stretch, ...] = ()
    if cell.ad_hoc is None:
        stretches = read_as(raw / "path.json", lambda value: packet_balance.stretches(value, cell))
    hooks = _hooks(raw, numbered_drops(folder, cell))
    qdiscs = _qdiscs(raw, stretches, hooks)
    totals = {flow.id: _sender_totals(folder, flow) for flow in cell.flows}
    return Evidence(
        stretches=stretches,
        qdiscs=qdiscs,
        counters=counters,
        tally=None if captured is None else tally(captured),
        sent_data={flow.id: _sent_data(flow, totals[flow.id]) for flow in cell.flows},
        repeated={flow.id: _repeated(flow, totals[flow.id]) for flow in cell.flows},
        received_bytes={
            flow.id: (received[flow.id].window_bytes, received[flow.id].total_bytes)
            if flow.generator == "probe"
            else None
            for flow in cell.flows
        },
    )


def numbered_drops(folder: Path, cell: Cell) -> tuple[Numbered, ...]:
    """Return what became of packets to drop by number; nothing where no flow has any.

    Raises:
        ParseError: the file is missing or broken.
    """
    if cell.ad_hoc:
        return ()
    drawn = cell.wired.bottleneck.forward.loss.model in NUMBERED_LOSSES
    if not drawn and not any(flow.drop_data_pkts for flow in cell.flows):
        return ()
    path = folder / run_folder.NUMBERED_DROPS
    return read_as(path, lambda value: tuple(Numbered.of(entry, cell) for entry in value))


def _hooks(raw: Path, lists: tuple[Numbered, ...]) -> dict[tuple[str, str], int]:
    """Return what the filters dropped on each device with lists, as the hooks there counted."""
    found = read_as(raw / "qdiscs.json", numbered.hook_drops)
    return {place: found[place] for listed in lists if (place := listed.place) in found}


def _qdiscs(
    raw: Path, stretches: tuple[Stretch, ...], hooks: Mapping[tuple[str, str], int]
) -> dict[tuple[str, str], Passage]:
    """Return what each qdisc did; what filters drop on its device counts as dropped by it."""
    start = read_as(raw / "qdiscs-start.json", packet_balance.roots)
    found = read_as(raw / "qdiscs.json", lambda end: packet_balance.passages(start, end))
    for stretch in stretches:
        for device in stretch.devices:
            if (stretch.node, device) not in found:
                raise ParseError(
                    "no counters of a qdisc", where=str(raw / "qdiscs.json"),
                    wanted=f"{stretch.node}: {device}, {stretch.name}",
                )  # fmt: skip
            passage = found[stretch.node, device]
            dropped_pkts = passage.dropped_pkts + hooks.get((stretch.node, device), 0)
            found[stretch.node, device] = dataclasses.replace(passage, dropped_pkts=dropped_pkts)
    return found


def last_totals(folder: Path, flow: Flow) -> dict[str, Any]:
    """Return what a sender counted in the end; empty for a generator of others."""
    if flow.generator != "probe":
        return {}
    path = folder / "raw" / "flows" / f"{flow.id}.sender.jsonl"
    records = json_lines(read_text(path), str(path))
    totals = [record for record in records if record.get("event") == "totals"]
    for name, value in totals[-1].items() if totals else ():
        if type(value) is int and not -WHOLE_MAX <= value <= WHOLE_MAX:
            raise ParseError(
                f"no counter can show {name}",
                where=str(path),
                wanted=f"at most {WHOLE_MAX}",
                got=f"a number of {value.bit_length()} bits",
            )
    return totals[-1] if totals else {}


def _sender_totals(folder: Path, flow: Flow) -> dict[str, Any]:
    """Return a sender's totals; empty where they do not hold all it ever sent."""
    totals = last_totals(folder, flow)
    # TCP and SCTP go on sending after these are written unless all was acknowledged before.
    return totals if flow.protocol == "udp" or totals.get("end") == "drained" else {}


def probe_totals(folder: Path, cell: Cell) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the totals of every flow's sender and receiver; empty where they are not all of it.

    Raises:
        ParseError: a raw file is missing or broken.
    """
    found = {}
    for flow in cell.flows:
        found[flow.id, "sender"] = _sender_totals(folder, flow)
        found[flow.id, "receiver"] = _receiver_totals(folder, flow)
    return found


def _receiver_totals(folder: Path, flow: Flow) -> dict[str, Any]:
    """Return what a receiver wrote at the end of its connection; empty if there is nothing."""
    if flow.generator != "probe":
        return {}
    path = folder / "raw" / "flows" / f"{flow.id}.receiver.jsonl"
    # Among a line for every interval; those were read before.
    lines = [line for line in read_text(path).splitlines() if '"totals"' in line]
    records = json_lines("\n".join(lines), str(path))
    totals = [record for record in records if record.get("event") == "totals"]
    return totals[-1] if totals else {}


def _whole(value: Any) -> int | None:
    return value if type(value) is int else None


def _sent_data(flow: Flow, totals: Mapping[str, Any]) -> int | None:
    if flow.protocol == "sctp":
        names = ("ordered_chunks_out", "unordered_chunks_out", "retransmitted_chunks")
        parts = [_whole(totals.get(name)) for name in names]
        return None if None in parts else sum(part or 0 for part in parts)
    return _whole(totals.get("packets" if flow.protocol == "udp" else "data_segs_out"))


def _repeated(flow: Flow, totals: Mapping[str, Any]) -> int | None:
    if flow.protocol == "udp":
        return None
    name = "retransmitted_chunks" if flow.protocol == "sctp" else "retransmitted_segments"
    return _whole(totals.get(name))


def checks(
    cell: Cell,
    found: Evidence,
    captured: pl.DataFrame | None,
    paths: list[PathRow],
    tolerances: Tolerances,
) -> list[Check]:
    """Return all comparisons of a cell's audit."""
    made = [*checks_of.chain_checks(found), *checks_of.counter_checks(cell, found)]
    if captured is not None and found.tally is not None:
        made += checks_of.capture_checks(cell, found, found.tally)
        made += checks_of.goodput_checks(cell, found, captured, paths, tolerances)
        made += checks_of.place_checks(cell, found, captured, tolerances)
    return made


def draw_checks(folder: Path, cell: Cell, found: Evidence) -> list[Check]:
    """Return the comparisons of the loss models' drops with the draws of their seeds."""
    path = folder / "raw" / "qdiscs.json"
    return read_as(path, lambda end: netem_losses.checks(cell, found, end))


def row_checks(rows: list[AuditRow]) -> list[Check]:
    """Return the audit's own verdicts as comparisons: nothing is left unexplained."""
    return [
        packet_balance.compare(
            "neither delivered, dropped nor under way",
            f"flow {row.flow}, {row.direction}",
            0,
            row.unexplained_pkts,
            "packets",
        )
        for row in rows
    ]


def numbered_checks(
    folder: Path, cell: Cell, lists: tuple[Numbered, ...], captured: pl.DataFrame | None
) -> list[Check]:
    """Return the comparisons of the packets that were to be dropped with those that were."""
    lists = equal_drops.told(cell, lists, captured)
    return [
        *numbered.checks(lists, _hooks(folder / "raw", lists), captured),
        *equal_drops.checks(cell, lists),
    ]


def audit_text(
    made: list[Check], lists: tuple[Numbered, ...], of_flows: list[dict[str, str]]
) -> str:
    """Return the content of a cell's audit.json; ``of_flows`` are warnings of its flows."""
    content = {
        "schema": SCHEMA,
        "checks": [dataclasses.asdict(check) for check in made],
        "warnings": [
            *packet_balance.warnings(made),
            *numbered.warnings(lists),
            *equal_drops.warnings(lists),
            *of_flows,
        ],
    }
    return json.dumps(content, indent=1, sort_keys=True) + "\n"
