"""Read what acknowledging took of each flow, as the programs at its receiver counted it. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from collectors.raw.files import whole
from model.cell import Cell
from model.run_files.traffic_tables import AcknowledgementRow
from model.units import BITS_PER_BYTE

COUNTS = tuple(
    field.name
    for field in dataclasses.fields(AcknowledgementRow)
    if field.name.endswith(("_pkts", "_bytes"))
)


def acknowledgement_rows(
    entries: Sequence[Mapping[str, Any]], cell: Cell
) -> list[AcknowledgementRow]:
    """Return the rows of ``raw/acknowledgements.json`` in the order of the cell's flows.

    Raises:
        ValueError, KeyError, TypeError: it is not one row per flow whose are counted, or a part of
            the counts is larger than the whole.
    """
    by_flow = {str(entry["flow"]): entry for entry in entries}
    wanted = [flow.id for flow in cell.flows if cell.counts_acknowledgements_of(flow)]
    if sorted(str(entry["flow"]) for entry in entries) != sorted(wanted):
        raise ValueError(f"wanted rows of {wanted}, got {sorted(by_flow)}")
    return [_row(flow, by_flow[flow], cell) for flow in wanted]


def _row(flow: str, entry: Mapping[str, Any], cell: Cell) -> AcknowledgementRow:
    count = {name: whole(entry[name]) for name in COUNTS}
    parts = [(name, f"all_{name}") for name in COUNTS if not name.startswith("all_")]
    parts += [
        (f"{when}sack_{unit}", f"{when}ack_{of}")
        for when in ("", "all_")
        for unit, of in (("pkts", "pkts"), ("bytes", "ip_bytes"))
    ]
    for part, of in parts:
        if not 0 <= count[part] <= count[of]:
            raise ValueError(f"flow {flow}: {part} {count[part]} of {of} {count[of]}")
    return AcknowledgementRow(
        flow=flow,
        ack_rate_bps=count["ack_ip_bytes"] * BITS_PER_BYTE / cell.measured_s(),
        sack_rate_bps=count["sack_bytes"] * BITS_PER_BYTE / cell.measured_s(),
        **count,
    )
