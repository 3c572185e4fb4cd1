"""Babel on the nodes of a network of radios: one babeld per node, over all of its radios.

Packets are routed by the kernel, on routes that the daemon sets, as with AODV. Invariants: a radio
has a /32 address, the only one that is told of by it; of two radios each hears and tells of the
addresses of radios of its own number alone, so a packet leaves by the radio whose number is that
of the address it is for; what is counted is counted from time zero of the run to its end.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from mininet_topos.baselines import babel, babel_nowhere, babel_ways
from mininet_topos.filters import message_counts
from mininet_topos.layout import Interface
from mininet_topos.radio.radios import mac_of
from model import run_folder
from model.ad_hoc import AdHoc, NodeRadio
from model.check import Check
from model.errors import RunError
from probes.process import Running, start
from testbed.guest.routing.adapter import (
    ARP_BY_RADIO,
    Adapter,
    Here,
    Router,
    arp_checks,
    between,
    forwarding_check,
    own_interface,
    prefix,
)

#: Where daemons keep their sockets, each in a folder of its own.
PLACE = Path("/run/babel")
#: Within which one speaks; all that is set up has 10 s (testbed/guest/radio/wireless.py).
READY_S = 5.0
#: How long one may take to end whose socket is closed already.
ENDING_S = 1.0


def daemon(network: AdHoc, radios: Sequence[NodeRadio]) -> babel.Daemon:
    """Return a node's daemon as it shall be, by the node's radios. Pure."""
    others = (radio.address for radio in network.radios() if radio.node != radios[0].node)
    return babel.Daemon(
        addresses={radio.device: radio.address for radio in radios},
        networks={radio.device: prefix(radio) for radio in radios} if len(radios) > 1 else {},
        others=tuple(others), router_id=mac_of(network.radios().index(radios[0])),
        place=PLACE / radios[0].node,
    )  # fmt: skip


@dataclass
class BabelRouter(Router):
    """A node's daemon as one radio has it: what left there, the ways over it, when it was told.

    ``running`` is the daemon's process where it is the node's first radio; None elsewhere.
    """

    is_marked: ClassVar[bool] = True

    here: Here
    radio: NodeRadio
    daemon: babel.Daemon
    counter: message_counts.Counter
    running: Running | None
    lines: list[dict[str, Any]] = field(default_factory=list)
    marks: list[tuple[int, dict[str, int]]] = field(default_factory=list)

    def mark(self, t_ns: int) -> None:
        """Take down what has left, and neighbours and ways by the daemon's own word."""
        sent = self.counter.sent()
        counted = {"sent_pkts": sent.packets, "sent_ip_bytes": sent.ip_bytes}
        self.marks.append((t_ns, counted))
        answer = asked(self.daemon.questions, self.here.node.name, self.running)
        self.lines.append({"event": "ways", "t_ns": t_ns, **shown(answer, self.radio.device)})

    def terminate(self) -> None:
        """Ask the daemon to end; it takes its routes along."""
        if self.running:
            self.running.terminate()

    def finish(self, timeout_s: float) -> None:
        """Wait until it has ended; write down what was counted between the marks."""
        stem = run_folder.routing(self.here.node.name, self.radio.device)
        if self.running:
            self.running.finish(timeout_s)
            if said := self.running.out.read_text(errors="replace"):
                raise RunError(
                    "babeld said what it was not asked", where=self.running.label(),
                    wanted="nothing", got=f"{said:.200}",
                )  # fmt: skip
        self.counter.close()
        self.lines.append({"event": "totals", **between(self.marks)})
        text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in self.lines)
        (self.here.folder / f"{stem}.jsonl").write_text(text)


def await_begun(running: Running, counter: message_counts.Counter, deadline_s: float) -> None:
    """Wait until a daemon's first message has left.

    Raises:
        RunError: none has; it says whether the daemon has ended, and its words.
    """
    try:
        counter.await_first(deadline_s, running.child.pid)
    except RunError as error:
        raise _with_its_fate(error, running) from error


def asked(questions: Path, where: str, running: Running | None) -> babel_ways.Answer:
    """Return what a daemon knows now, of which ``running`` is the process, if it is at hand.

    Raises:
        RunError: it does not answer; it says whether the daemon has ended, and its words.
    """
    try:
        return babel_ways.ask(questions, where)
    except RunError as error:
        if running is None:
            raise
        raise _with_its_fate(error, running) from error


def _with_its_fate(error: RunError, running: Running) -> RunError:
    try:
        fate = f"ended with status {running.wait(ENDING_S)}"
    except RunError:
        fate = "runs on"
    got = "; ".join(filter(None, (error.got, f"{fate}: {running.words() or 'no message'}")))
    return RunError(error.what, where=error.where, wanted=error.wanted, got=got)


def shown(answer: babel_ways.Answer, device: str) -> dict[str, list[dict[str, Any]]]:
    """Return the neighbours at an interface, and the ways that packets take over it. Pure.

    A way that was withdrawn stays set for a while, with the metric of none.
    """
    neighbours = [one for one in answer.neighbours if one.interface == device]
    ways = [way for way in answer.ways if way.is_installed and way.interface == device
            and way.metric < babel_ways.INFINITE]  # fmt: skip
    return {
        "neighbours": [dataclasses.asdict(one) for one in neighbours],
        "ways": [dataclasses.asdict(way) for way in ways],
    }


class Babel(Adapter):
    """Debian's babeld with its own intervals: hellos every 4 s, all routes every 16 s."""

    leaves: ClassVar[Mapping[str, int]] = {".jsonl": 0, ".err": 0}
    routes_shown = ("proto", babel.PROTOCOL)

    def radio_address(self, radio: NodeRadio) -> str | None:
        """Return the radio's address alone: a connected subnet would take what needs a route."""
        return f"{radio.address}/32"

    def interface(self, radio: NodeRadio, mac: str) -> Interface:
        """Return the radio's own interface."""
        return own_interface(radio, mac)

    def set_up(self, here: Here) -> None:
        """Have a node's loopback up, IPv6 on its radios, and own packets lost without a way."""
        if here.route_options:  # refused when a study is read
            raise RunError(
                "an option of routes that babeld cannot set", where=here.node.name, wanted="none",
                got=", ".join(here.route_options),
            )  # fmt: skip
        if len(here.radios) > 1:
            for name, value in ARP_BY_RADIO.items():
                here.node.write_sysctl(name, value)
        here.node.run(["ip", "link", "set", "lo", "up"])
        macs = {radio.device: _mac(here, radio) for radio in here.radios}
        babel.bring_up(here.node, daemon(here.network, here.radios), macs)

    def start(self, here: Here, radio: NodeRadio) -> Router:
        """Count what leaves a radio; by a node's first one start its daemon, and await a message.

        The daemon speaks over all of the node's radios from then on.
        """
        made = daemon(here.network, here.radios)
        counter = message_counts.count(here.node, radio.device, babel.PORT)
        running = None
        if radio == here.radios[0]:
            stem = here.folder / run_folder.routing(here.node.name, radio.device)
            running = start(here.node, made.argv(), stem)
            await_begun(running, counter, READY_S)
        return BabelRouter(
            here=here, radio=radio, daemon=made, counter=counter, running=running
        )  # fmt: skip

    def read_back_radio(self, here: Here, radio: NodeRadio) -> list[Check]:
        """Return whether the address that babeld speaks by is there."""
        wanted = babel.link_local(_mac(here, radio)), "ready"
        found = babel.parse_addresses(here.node.read_file(babel.ADDRESSES))
        got = found.get(radio.device, ("none", "not ready"))
        address = Check(
            check="IPv6 address", where=f"{here.node.name} {radio.device}",
            wanted=", ".join(wanted), got=", ".join(got), agrees=wanted == got,
        )  # fmt: skip
        return [address]

    def read_back_node(self, here: Here) -> list[Check]:
        """Return what is done with packets of others, own ones without a way, and ARP."""
        sources = babel.nowhere_sources(daemon(here.network, here.radios))
        wanted, got = babel_nowhere.wanted(sources), babel_nowhere.found(here.node)
        nowhere = Check(
            check="packets without a way", where=here.node.name, wanted="; ".join(wanted),
            got="; ".join(got), agrees=wanted == got,
        )  # fmt: skip
        return [
            forwarding_check(here),
            nowhere,
            *(arp_checks(here) if len(here.radios) > 1 else []),
        ]


def _mac(here: Here, radio: NodeRadio) -> str:
    return mac_of(here.network.radios().index(radio))
