"""Second radios: which network they join. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from mininet_topos.radio.radios import Cell
from model.ad_hoc import NodeRadio

#: The second network: 802.11's channel 6, which overlaps with channel 1 nowhere.
SECOND_NETWORK: Mapping[str, Any] = {
    "freq_mhz": 2437, "ssid": "groundtruth-2", "bssid": "02:ff:00:00:00:02",
}  # fmt: skip


def cell(radio: NodeRadio, first: Cell) -> Cell:
    """Return what a radio joins, by what first radios join."""
    return dataclasses.replace(first, **SECOND_NETWORK) if radio.is_apart else first
