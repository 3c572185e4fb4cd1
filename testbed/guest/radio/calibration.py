"""A network's radios measured: one sender by itself, and a few that share a cell.

The list of all transmissions is kept; the host compares it with what the DCF yields by calculation
(:mod:`testbed.campaign.radio_checks`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mininet_topos import check_sysctl
from mininet_topos.netns import Namespace
from model.check import Check
from model.units import NS_PER_S
from probes.process import Running, start, start_ready
from testbed.guest.radio.places import ALONE, ALONE_TO, SHARING, SHARING_TO
from testbed.guest.radio.wireless import Wireless, wait_for_time_zero

PAYLOAD_BYTES, PORT = 1000, 9000
#: More than a radio of that rate can send.
OFFERED = 1.5
#: For so long nodes send, and from then on until the end it counts.
SENDS_S, SETTLED_S = 24, 4
IDLE_S, READY_S, FINISH_S = 5, 30.0, 100.0
BIN = "/gt/code/bin"
#: Seconds until the kernel probes a neighbour whose address it is not sure of: longer than all of
#: this. Probes would be lost in the senders' full queues, and after three the kernel sends nothing.
UNPROBED_S = "1000"
PROBES = "net.ipv4.neigh.{}.delay_first_probe_time"


def measure(
    wireless: Wireless, spaces: Mapping[str, Namespace]
) -> tuple[dict[str, Any], list[Check]]:
    """Send until all is counted; return the content of ``raw/calibration.json``, and read-backs.

    It stands beside the list of transmissions, which is whole once the medium has ended.

    Raises:
        RunError: a program failed, or nodes were not ready in time.
    """
    names = wireless.network.node_names()
    unprobed = [
        _put_off_probes(spaces[radio.node], radio.device) for radio in wireless.network.radios()
    ]
    stems = wireless.folder / "raw" / "calibration"
    stems.mkdir(exist_ok=True)
    receivers = [
        _receive(spaces[names[number]], stems / f"{names[number]}.receiver")
        for number in (ALONE_TO, SHARING_TO)
    ]
    epoch_ns = wait_for_time_zero(wireless, 1)
    pairs = [(ALONE, ALONE_TO), *((number, SHARING_TO) for number in SHARING)]
    rate_bps = round(OFFERED * wireless.network.radio.rate_bps)
    senders = [
        _send(
            spaces[names[one]], wireless.laid_out.interface(names[other]).address, number, rate_bps,
            stems / f"{names[one]}.sender",
        )
        for number, (one, other) in enumerate(pairs)
    ]  # fmt: skip
    for running in senders:
        running.finish(SENDS_S + FINISH_S)
    time.sleep(IDLE_S + 1)
    for running in receivers:
        running.terminate()
        running.finish(FINISH_S)
    found = {
        "payload_bytes": PAYLOAD_BYTES, "alone": ALONE, "sharing": list(SHARING),
        "from_ns": epoch_ns + SETTLED_S * NS_PER_S,
        "to_ns": epoch_ns + (SENDS_S - 1) * NS_PER_S,
    }  # fmt: skip
    return found, unprobed


def _put_off_probes(node: Namespace, device: str) -> Check:
    """Have a node's kernel not probe its neighbours, and return what was read back."""
    name = PROBES.format(device)
    node.write_sysctl(name, UNPROBED_S)
    return check_sysctl.read_back(node, name, UNPROBED_S)


def _receive(node: Namespace, stem: Path) -> Running:
    argv = [f"{BIN}/udp_recv", f"--port={PORT}", f"--idle-s={SENDS_S + FINISH_S}"]
    return start_ready(node, argv, stem, READY_S)


def _send(node: Namespace, to: str, number: int, rate_bps: int, stem: Path) -> Running:
    argv = [
        f"{BIN}/udp_send", f"--host={to}", f"--port={PORT}", f"--flow-id={number}",
        f"--rate-bps={rate_bps}", f"--message-bytes={PAYLOAD_BYTES}", f"--duration-s={SENDS_S}",
    ]  # fmt: skip
    return start(node, argv, stem)
