"""Writes the tables of a cell whose network is of radios; says whether all frames add up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collectors.raw.files import read_as, read_text
from collectors.raw.flows import json_lines
from collectors.raw.radios import airtime_rows, radio_rows
from collectors.tables.parquet import write_rows
from model import run_folder
from model.ad_hoc import DEVICES, AdHoc
from model.check import Check
from model.errors import ParseError
from model.run_files.path_tables import AirtimeRow, RadioRow


def write(folder: Path, network: AdHoc) -> list[Check]:
    """Write both tables; return what each radio's frames came to beside what it was handed.

    Raises:
        ParseError: a raw file is missing, or not what medium and daemons write.
    """
    radios = network.radios()
    said = [folder / f"{run_folder.routing(one.node, one.device)}.jsonl" for one in radios]
    routers = [totals(read_text(path), str(path)) for path in said]
    medium = folder / run_folder.MEDIUM
    rows = read_as(medium, lambda value: radio_rows(radios, value, routers))
    airtime = read_as(medium, airtime_rows)
    write_rows(rows, RadioRow, folder / run_folder.RADIOS_TABLE)
    write_rows(airtime, AirtimeRow, folder / run_folder.AIRTIME_TABLE)
    return [check for row in rows for check in _checks(row)]


def totals(text: str, where: str) -> Mapping[str, Any]:
    """Return what a daemon says last: all that it counted.

    Raises:
        ParseError: that is not there.
    """
    records = json_lines(text, where)
    if not records or records[-1].get("event") != "totals":
        raise ParseError("no totals at its end", where=where, wanted="a line of event totals")
    return records[-1]


def _checks(row: RadioRow) -> list[Check]:
    """Every frame has one fate, and every transmission and every RTS one outcome."""
    fates = row.acked_frames + row.given_up_frames + row.group_frames
    fates += row.queue_dropped_frames + row.waiting_frames
    outcomes = row.delivered_attempts + row.repeated_attempts + row.collided_attempts
    outcomes += row.out_of_range_attempts + row.deaf_attempts
    rts = row.rts_delivered_attempts + row.rts_collided_attempts
    rts += row.rts_out_of_range_attempts + row.rts_deaf_attempts
    where = f"node {row.node}" + (f", {row.radio}" if row.radio != DEVICES[0] else "")
    return [
        Check(check=what, where=where, wanted=f"{wanted} {unit}",
              got=f"{got} {unit}", agrees=wanted == got)
        for what, wanted, got, unit in (
            ("acknowledged, given up, sent to all, dropped or waiting", row.frames, fates,
             "frames"),
            ("delivered, repeated, collided, out of range or not listened to", row.attempts,
             outcomes, "transmissions"),
            ("RTS decoded, collided, out of range or not listened to", row.rts_attempts, rts,
             "transmissions"),
        )
    ]  # fmt: skip
