"""Drive the AODV daemon: options become a command line, its last line becomes totals.

Pure: nothing is started here. Invariant: an option that is not named keeps the daemon's default,
which is RFC 3561's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from model import units
from model.errors import RunError

BIN = Path("/gt/code/bin/aodvd")
#: Counted apart, as the daemon names them; bytes are those of UDP's payload.
KINDS = ("rreq", "rrep", "rerr", "rrep_ack", "hello")
#: What each message has besides: the headers of UDP and IPv4.
HEADER_BYTES = 28
MS_PER_S = 1000
#: ns-2.35's AODV as far as options go: its aodv/aodv.h, aodv_rqueue.h and sendRequest() of aodv.cc.
#: What else is different there, and what the numbers are made of: docs/guides/routing.md.
NS235: Mapping[str, str] = {
    "active_route_timeout_s": "10",
    "my_route_timeout_s": "10",
    "node_traversal_s": "0.03",
    "net_diameter_hops": "30",
    "ttl_start_hops": "5",
    "ttl_increment_hops": "2",
    "ttl_threshold_hops": "7",
    "timeout_buffer_hops": "0",  # a ring waits 2 * TTL * NODE_TRAVERSAL_TIME
    "rreq_retries": "4",  # gives up once more than RREQ_RETRIES, 3, went to the whole network
    "rreq_limit_per_s": "1000",  # none there; the daemon takes no more
    "rerr_limit_per_s": "1000",
    "local_repair": "",
    "allowed_hello_loss": "3",  # where hellos are asked for; there a neighbour lasts 4.5 s
    "jitter_s": "0.01",
    "buffer_packets": "64",
    "buffer_age_s": "30",
}


#: Options of ``ip route`` that the daemon's routes can have, by iproute2's names. Others cannot be:
#: the kernel heeds cwnd, reordering and ssthresh of a route through saved metrics alone.
ROUTE_OPTIONS: Mapping[str, str] = {
    "advmss": "advmss_bytes",
    "initcwnd": "initcwnd_segments",
    "initrwnd": "initrwnd_segments",
    "mtu": "mtu_bytes",
    "quickack": "quickack",
    "rto_min": "rto_min_ms",
    "window": "window_bytes",
}


def route_metrics(options: Mapping[str, str]) -> dict[str, str]:
    """Return the daemon's options that give its routes what ``ip route`` calls so.

    Raises:
        RunError: one that the daemon's routes cannot have.
    """
    for name in options:
        if name not in ROUTE_OPTIONS:
            raise RunError(
                "an option of routes that the AODV daemon cannot set", where=f"route {name}",
                wanted=", ".join(ROUTE_OPTIONS), got=f"{name} {options[name]}",
            )  # fmt: skip
    return {
        ROUTE_OPTIONS[name]: _milliseconds(value) if name == "rto_min" else value
        for name, value in options.items()
    }


def _milliseconds(value: str) -> str:
    """Return a time as iproute2 takes it, such as ``492ms``, in whole milliseconds."""
    return str(round(units.parse_time_s(value) * MS_PER_S))


def sysctls(interfaces: Sequence[str]) -> dict[str, str]:
    """Return what a node's namespace must be set to before its daemon starts.

    ``aodvd`` refuses to start where the first of these and the redirects are not so.
    """
    names = ("all", "default", *interfaces)
    settings = {"net.ipv4.ip_forward": "1"}
    for setting, value in (("send_redirects", "0"), ("accept_redirects", "0"), ("rp_filter", "0")):
        settings |= {f"net.ipv4.conf.{name}.{setting}": value for name in names}
    return settings


@dataclass(frozen=True, kw_only=True)
class Daemon:
    """One node's daemon: its interfaces, the monitors on their radios, and options by name.

    ``options`` are the daemon's long ones with underscores; a flag's value is the empty string.
    """

    interfaces: tuple[str, ...]
    monitors: tuple[str, ...] = ()
    seed: int = 1
    events: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def argv(self) -> list[str]:
        """Return the command line; ``--ready-fd`` is added by who starts it."""
        words = [str(BIN), "--interfaces", ",".join(self.interfaces), "--seed", str(self.seed)]
        words += ["--monitors", ",".join(self.monitors)] if self.monitors else []
        words += ["--events", str(self.events)] if self.events else []
        for name, value in self.options.items():
            words += ["--" + name.replace("_", "-"), *([value] if value else [])]
        return words


@dataclass(frozen=True, kw_only=True)
class Totals:
    """What one daemon counted, by the daemon's own names (see the room's README)."""

    counts: Mapping[str, int]

    def sent_packets(self) -> int:
        """Return how many routing packets the node sent; one on each interface counts."""
        return sum(self.counts[f"sent_{kind}_packets"] for kind in KINDS)

    def sent_ip_bytes(self) -> int:
        """Return their bytes with the headers of UDP and IPv4."""
        payload = sum(self.counts[f"sent_{kind}_bytes"] for kind in KINDS)
        return payload + HEADER_BYTES * self.sent_packets()

    def link_breaks(self) -> int:
        """Return how many links to next hops broke, whatever told it."""
        return sum(value for name, value in self.counts.items() if name.startswith("link_breaks_"))

    def dropped_packets(self) -> int:
        """Return how many data packets the daemon dropped, for all reasons."""
        return sum(
            value for name, value in self.counts.items() if name.startswith("dropped_packets_")
        )


def parse_totals(text: str, where: str) -> Totals:
    """Return the totals of what a daemon printed.

    Raises:
        RunError: the last line is none, so the daemon did not end in order.
    """
    lines = text.splitlines()
    try:
        last: Any = json.loads(lines[-1]) if lines else None
    except json.JSONDecodeError:
        last = None
    if not isinstance(last, dict) or last.get("event") != "totals":
        raise RunError(
            "the AODV daemon left no totals",
            where=where,
            wanted="a last line of event totals",
            got=lines[-1][:80] if lines else "nothing",
        )
    return Totals(counts={name: value for name, value in last.items() if isinstance(value, int)})
