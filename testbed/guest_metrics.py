"""The initial slow-start threshold of TCP, which Linux takes through its metrics cache only."""

from __future__ import annotations

import socket
import time

from testbed import calibration
from testbed.cell import Flow
from testbed.errors import RunError
from testbed.guest_lab import Lab

PRIME_PORT = 4998
TIMEOUT_S = 200.0


def prime_initial_ssthresh(lab: Lab) -> None:
    """Make the kernel take the initial ssthresh of the routes.

    Linux copies a route's ssthresh into its metrics cache only when a connection to that
    destination ends with metrics saving on (tcp_update_metrics), and starts new connections from
    the cache. So each source makes one empty connection to each destination of its flows.
    """
    for flow in lab.cell.flows:
        if flow.protocol != "tcp" or "ssthresh" not in lab.routes[lab.source(flow).name]:
            continue
        saved = [
            (space, space.read_sysctl("net.ipv4.tcp_no_metrics_save"))
            for space in (lab.source(flow), lab.destination(flow))
        ]
        lab.source(flow).write_sysctl("net.ipv4.tcp_no_metrics_save", "0")
        _empty_connection(lab, flow)
        for space, value in saved:
            space.write_sysctl("net.ipv4.tcp_no_metrics_save", value)


def _empty_connection(lab: Lab, flow: Flow) -> None:
    destination = lab.destination(flow)
    with destination.entered():
        listener = socket.create_server((lab.address(destination.name), PRIME_PORT))
    with listener:
        with lab.source(flow).entered():
            client = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        with client:
            client.settimeout(TIMEOUT_S)
            client.connect((lab.address(destination.name), PRIME_PORT))
            server, _ = listener.accept()
            # The destination closes first and keeps the TIME-WAIT; the source then saves metrics.
            server.close()
            client.recv(1)
            _let_the_acknowledgement_go(lab)
    _await_saved_metrics(lab, flow)


def _let_the_acknowledgement_go(lab: Lab) -> None:
    """Keep the end of the connection apart from the acknowledgement before it, where only one fits.

    A buffer of one packet would drop it, and from a connection that had to repeat its end the
    kernel saves nothing.
    """
    network = lab.cell.network
    if min(stage.queue_pkts for stage in calibration.stages(network, "forward")) == 1:
        time.sleep(calibration.drain_s(network))


def _await_saved_metrics(lab: Lab, flow: Flow) -> None:
    """Wait until the source's kernel has an entry for the destination, also after losses.

    The connection ends when the acknowledgement of its end comes back; a look before is in vain.
    """
    step_s = max(0.1, lab.cell.network.base_rtt_s())
    time.sleep(2 * step_s)
    to = lab.address(lab.destination(flow).name)
    deadline_s = time.monotonic() + TIMEOUT_S
    while f"{to} " not in lab.source(flow).run(["ip", "tcp_metrics", "show"]):
        if time.monotonic() > deadline_s:
            raise RunError(
                "the kernel keeps no metrics of an ended connection",
                where=f"{lab.source(flow).name} to {to}",
                hint="the initial ssthresh of the host profile cannot be set on this path",
            )
        time.sleep(step_s)
