"""The real programs in the real path: of odd packets exactly those they should drop are missing."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from model import draws
from model.cell import Cell, cell_json
from model.links import AnyLoss, Loss, PeriodicLoss
from tests.support.crafted_packets import LAST, crafted, flows_of
from tests.support.recorded import with_bottleneck

#: Often enough that every flow's draws take some.
ROUNDS = 6
CRAFTED = crafted() * ROUNDS
#: Builds the cell's network, puts frames on r1's end of the bottleneck with the image's scapy, and
#: takes down what leaves the channel's device, which is behind the programs and the loss model.
PROGRAM = """
import json, socket
from pathlib import Path
import scapy.layers.l2  # so that it knows what the device carries
from scapy.arch.linux import L2Socket
from mininet_topos.filters import numbered_drops
from mininet_topos.netns import Journal
from testbed.guest import build_network
from model.cell import from_dict

EVERY_PROTOCOL, SO_RCVBUFFORCE, ROOM_BYTES = 3, 33, 1 << 24
cell = from_dict(json.loads(Path("/cell/cell.json").read_text()))
frames = [bytes.fromhex(frame) for frame in json.loads(Path("/cell/frames.json").read_text())]
lab = build_network.build(cell, Path("/cell"), Journal())
build_network.read_back(lab)
with lab.spaces["r2"].entered():
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERY_PROTOCOL))
    tap.bind(("ifb-bottleneck", EVERY_PROTOCOL))
tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM_BYTES)
tap.settimeout(60)
with lab.spaces["r1"].entered():
    way = L2Socket(iface="r1-bottleneck", promisc=False)
for frame in frames:
    way.send(frame)
passed = []
while frames[-1] not in passed[-1:]:
    passed.append(tap.recv(65536))
counts = numbered_drops.read_counts(lab.drops)
found = {"passed": [frame.hex() for frame in passed], "counts": counts}
Path("/cell/found.json").write_text(json.dumps(found))
"""
SCRIPT = """cd /cell
cat >cell.json <<'END'
{cell}
END
cat >frames.json <<'END'
{frames}
END
cat >drop.py <<'END'
{program}
END
PYTHONPATH=/gt/code/lib:/usr/lib/python3/dist-packages python3 -B -S drop.py >said.txt 2>&1 || true
"""


def dropping(cell: Cell, loss: AnyLoss, listed: tuple[int, ...]) -> Cell:
    """Return the cell with a flow of each protocol, a list for each, and a buffer for all."""
    flows = tuple(dataclasses.replace(one, drop_data_pkts=listed) for one in flows_of(cell))
    roomy = with_bottleneck(cell, queue_pkts=len(CRAFTED) + 1, loss=loss)
    return dataclasses.replace(roomy, flows=flows)


def dropped(cell: Cell) -> list[bool]:
    """Return of each crafted packet whether it should be dropped, by list and by draws."""
    flows = [flow.id for flow in cell.flows]
    listed = set(cell.flows[0].drop_data_pkts)
    model = cell.wired.bottleneck.forward.loss
    numbered = draws.losses_by_number(cell, len(CRAFTED))
    equal = draws.EqualDrops(cell.seed, model.loss_frac, len(flows))
    seen: Counter[str] = Counter()
    found = []
    for packet in CRAFTED:
        lost = False
        if packet.counts:
            seen[packet.counts] += 1
            number = seen[packet.counts]
            lost = number in listed or number in numbered
            if model.model == "equal_drops":
                lost = lost or equal.loses(flows.index(packet.counts))
        found.append(lost)
    return found


@pytest.mark.parametrize(
    ("loss", "listed"),
    [
        (Loss(model="none", loss_frac=0.0), tuple(range(1, 200, 2))),
        (Loss(model="paired", loss_frac=0.4), (2, 5)),
        (Loss(model="equal_drops", loss_frac=0.4), (3,)),
        (PeriodicLoss(model="periodic", every_pkts=3, first_pkt=2), (3, 5)),
    ],
    ids=lambda value: value.model if isinstance(value, AnyLoss) else "",
)
def test_the_data_packets_that_are_due_are_dropped_and_no_others(
    wireless: Callable[..., Cell], script: Callable[..., Path], loss: AnyLoss,
    listed: tuple[int, ...],
) -> None:  # fmt: skip
    cell = dropping(wireless(), loss, listed)
    frames = json.dumps([packet.frame.hex() for packet in CRAFTED] + [LAST.hex()])
    folder = script(SCRIPT.format(cell=cell_json(cell), frames=frames, program=PROGRAM))
    assert (folder / "said.txt").read_text() == ""
    found = json.loads((folder / "found.json").read_text())
    due = dropped(cell)
    wanted = [packet.frame for packet, lost in zip(CRAFTED, due, strict=True) if not lost]
    passed = [bytes.fromhex(frame) for frame in found["passed"]]
    assert passed == [*wanted, LAST]
    offered = Counter(packet.counts for packet in CRAFTED if packet.counts)
    lost = Counter(p.counts for p, gone in zip(CRAFTED, due, strict=True) if gone)
    assert {row["flow"]: row["seen_pkts"] for row in found["counts"]} == offered
    assert {
        row["flow"]: row["dropped_pkts"] + row["drawn_dropped_pkts"] for row in found["counts"]
    } == lost
    assert min(lost.values()) >= 5
