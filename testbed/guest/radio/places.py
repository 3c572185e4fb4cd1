"""Where nodes stand that measure a network's radios: one sender by itself, and a few in one cell.

Pure. The two places are so far apart that neither hears the other.
"""

from __future__ import annotations

import dataclasses
import math

from model.ad_hoc import AdHoc, Routing
from model.movement.paths import Movement, Path, Row
from model.units import metres_to_mm

#: Stations that send to one more in their cell.
STATIONS = 3
#: Nodes by number: who sends alone to whom, and who share a cell with whom.
ALONE, ALONE_TO = 0, 1
SHARING_TO, SHARING = 2, tuple(range(3, 3 + STATIONS))
#: Shares of the range: well inside it, all of a cell in each other's.
APART_FRAC, CELL_FRAC = 0.4, 0.2
#: What routes meanwhile, whatever the study chose: of senders that fill their radios other signs of
#: a neighbour, such as HELLO messages, get lost, and what then is searched for takes time.
ROUTING = Routing(protocol="aodv", link_breaks="link-layer", options={})


def network(measured: AdHoc) -> AdHoc:
    """Return the network that is built to measure another's radios: one radio a node."""
    return dataclasses.replace(
        measured, nodes=2 + 1 + STATIONS, pairs=1, multihoming="none", routing=ROUTING
    )


def places(measured: AdHoc) -> Movement:
    """Return where the nodes of that network are."""
    radio = measured.radio
    apart_m, cell_m = APART_FRAC * radio.range_m, CELL_FRAC * radio.range_m
    far_m = 2 * radio.carrier_sense_m
    found_m = [(0.0, 0.0), (apart_m, 0.0), (far_m, 0.0)]
    for number in range(STATIONS):
        angle = 2 * math.pi * number / STATIONS
        found_m.append((far_m + cell_m * (1 + math.cos(angle)), cell_m * (1 + math.sin(angle))))
    rows = (Row(0, metres_to_mm(x_m), metres_to_mm(y_m)) for x_m, y_m in found_m)
    return Movement(tuple(Path((row,)) for row in rows))
