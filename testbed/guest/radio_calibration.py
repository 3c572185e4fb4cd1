"""A network's radios measured: one sender by itself, and a few that share a cell.

The list of all transmissions is kept; the host compares it with what the DCF yields by calculation
(:mod:`testbed.campaign.radio_checks`).
"""

from __future__ import annotations

import time

from model.ad_hoc import NodeRadio
from model.check import Check
from model.units import NS_PER_S
from probes.process import Running, start, start_ready
from testbed.guest.build_network import BuiltNetwork, settle
from testbed.guest.radio_places import ALONE, ALONE_TO, SHARING, SHARING_TO
from testbed.guest.wireless import Wireless, wait_for_time_zero

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


def measure(lab: BuiltNetwork) -> None:
    """Send, and leave ``raw/calibration.json`` beside the list of transmissions.

    Raises:
        RunError: a program failed, or nodes were not ready in time.
        VerifyError: the medium's counters do not add up.
    """
    wireless = lab.wireless
    if wireless is None:
        raise TypeError("a network without radios")
    names = wireless.network.node_names()
    unprobed = [_put_off_probes(lab, radio) for radio in wireless.network.radios()]
    receivers = [_receive(lab, names[number]) for number in (ALONE_TO, SHARING_TO)]
    epoch_ns = wait_for_time_zero(wireless, 1)
    pairs = [(ALONE, ALONE_TO), *((number, SHARING_TO) for number in SHARING)]
    senders = [
        _send(lab, wireless, names[one], names[other], number)
        for number, (one, other) in enumerate(pairs)
    ]
    for running in senders:
        running.finish(SENDS_S + FINISH_S)
    time.sleep(IDLE_S + 1)
    for running in receivers:
        running.terminate()
        running.finish(FINISH_S)
    settle(lab, [*unprobed, *wireless.end()])
    lab.write(
        "raw/calibration.json",
        {
            "payload_bytes": PAYLOAD_BYTES, "alone": ALONE, "sharing": list(SHARING),
            "from_ns": epoch_ns + SETTLED_S * NS_PER_S,
            "to_ns": epoch_ns + (SENDS_S - 1) * NS_PER_S,
        },
    )  # fmt: skip


def _put_off_probes(lab: BuiltNetwork, radio: NodeRadio) -> Check:
    """Have a node's kernel not probe its neighbours, and return what was read back."""
    name = PROBES.format(radio.device)
    lab.spaces[radio.node].write_sysctl(name, UNPROBED_S)
    got = lab.spaces[radio.node].read_sysctl(name)
    return Check(
        check="sysctl", where=f"{radio.node} {name}", wanted=UNPROBED_S, got=got,
        agrees=got == UNPROBED_S,
    )  # fmt: skip


def _receive(lab: BuiltNetwork, node: str) -> Running:
    stem = lab.folder / "raw" / "calibration" / f"{node}.receiver"
    stem.parent.mkdir(exist_ok=True)
    argv = [f"{BIN}/udp_recv", f"--port={PORT}", f"--idle-s={SENDS_S + FINISH_S}"]
    return start_ready(lab.spaces[node], argv, stem, READY_S)


def _send(lab: BuiltNetwork, wireless: Wireless, node: str, to: str, number: int) -> Running:
    stem = lab.folder / "raw" / "calibration" / f"{node}.sender"
    argv = [
        f"{BIN}/udp_send", f"--host={lab.address(to)}", f"--port={PORT}", f"--flow-id={number}",
        f"--rate-bps={round(OFFERED * wireless.network.radio.rate_bps)}",
        f"--message-bytes={PAYLOAD_BYTES}", f"--duration-s={SENDS_S}",
    ]  # fmt: skip
    return start(lab.spaces[node], argv, stem)
