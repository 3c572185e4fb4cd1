"""The initial slow-start threshold of TCP, which Linux takes through its metrics cache only."""

from __future__ import annotations

import contextlib
import socket
import time

from model.cell import Flow
from model.errors import RunError
from testbed.guest import calibration
from testbed.guest.build_network import BuiltNetwork

PRIME_PORT = 4998
TIMEOUT_S = 200.0
#: Nothing is saved of a connection whose end was lost: at 50 % loss one run in a million fails.
ATTEMPTS = 20
#: Looks at the cache after each connection, a round trip apart: the first two are mostly enough.
LOOKS = 3


def prime_initial_ssthresh(lab: BuiltNetwork) -> None:
    """Make the kernel take the initial ssthresh of the routes.

    Linux copies a route's ssthresh into its metrics cache only when a connection to that
    destination ends with metrics saving on (tcp_update_metrics), and starts new connections from
    the cache. So each source makes one empty connection to each destination of its flows.
    """
    for flow in lab.cell.flows:
        source, destination = lab.ends(flow)
        if flow.protocol != "tcp" or "ssthresh" not in lab.routes[source]:
            continue
        here = [lab.spaces[name] for name in (source, destination) if name in lab.spaces]
        saved = [(space, space.read_sysctl("net.ipv4.tcp_no_metrics_save")) for space in here]
        if source in lab.spaces:
            lab.spaces[source].write_sysctl("net.ipv4.tcp_no_metrics_save", "0")
        _save_metrics(lab, flow)
        for space, value in saved:
            space.write_sysctl("net.ipv4.tcp_no_metrics_save", value)


def _save_metrics(lab: BuiltNetwork, flow: Flow) -> None:
    """Make connections until the kernel has saved the metrics of one.

    It saves none of a connection that had to repeat its end (tcp_update_metrics: a timer that has
    backed off), which happens as often as packets are lost.
    """
    for _ in range(ATTEMPTS):
        _empty_connection(lab, flow)
        saved = _has_saved_metrics(lab, flow) if flow in lab.sent_here() else False
        if any(lab.team.meet(f"flow {flow.id}: empty connection ended", saved)):
            return
    source, destination = lab.ends(flow)
    raise RunError(
        "the kernel keeps no metrics of an ended connection",
        where=f"{source} to {lab.address(destination)}",
        wanted=f"those of one of {ATTEMPTS}",
        hint="the initial ssthresh of the host profile cannot be set on this path",
    )


def _empty_connection(lab: BuiltNetwork, flow: Flow) -> None:
    """Connect, and end that; each end where its host is."""
    source, destination = lab.ends(flow)
    place = (lab.address(destination), PRIME_PORT)
    with contextlib.ExitStack() as opened:
        listener = client = None
        if destination in lab.spaces:
            with lab.spaces[destination].entered():
                listener = opened.enter_context(socket.create_server(place))
            listener.settimeout(TIMEOUT_S)
        lab.team.meet(f"flow {flow.id}: empty connection awaited")
        if source in lab.spaces:
            with lab.spaces[source].entered():
                client = opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            client.settimeout(TIMEOUT_S)
            client.connect(place)
        if listener:
            server, _ = listener.accept()
            # The destination closes first and keeps the TIME-WAIT; the source then saves metrics.
            server.close()
        if client:
            client.recv(1)
            _let_the_acknowledgement_go(lab)


def _let_the_acknowledgement_go(lab: BuiltNetwork) -> None:
    """Keep the end of the connection apart from the acknowledgement before it, where only one fits.

    A buffer of one packet would drop it, and from a connection that had to repeat its end the
    kernel saves nothing.
    """
    network = lab.cell.wired
    if min(stage.queue_pkts for stage in calibration.stages(network, "forward")) == 1:
        time.sleep(calibration.drain_s(network))


def _has_saved_metrics(lab: BuiltNetwork, flow: Flow) -> bool:
    """Return whether the source's kernel has an entry for the destination by now.

    The connection ends when the acknowledgement of its end comes back; a look before is in vain.
    """
    step_s = max(0.1, lab.cell.wired.base_rtt_s(-1))
    to = lab.address(lab.ends(flow)[1])
    time.sleep(step_s)
    for _ in range(LOOKS):
        time.sleep(step_s)
        if f"{to} " in lab.source(flow).run(["ip", "tcp_metrics", "show"]):
            return True
    return False
