"""A bottleneck's buffer that manages its queue: lines for tc, and what tc says of it. Pure.

Such a buffer is two qdiscs: a token bucket that lets one full packet go at a time, and below it the
one that manages the queue (CoDel, FQ-CoDel, PIE), which drops and marks. The bucket serialises
nothing; the wire behind it does, netem's rate in the channel, which a queue never stands before.
So what waits does so where it is managed, and the packet being sent is in the wire. Standard
library only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from model.links import Direction, Discipline

#: The largest IP packet, and so what the bucket holds; and what it may hold more, so that a timer
#: that is so late loses no rate: at least so many bytes.
PACKET_BYTES, LATE_S, LATE_BYTES = 1500, 20e-6, 32
US_PER_S = 1_000_000
#: Steps in which the kernel keeps CoDel's times (1024 ns), in whole microseconds as it tells them.
CODEL_STEP_US = 2
#: What PIE's probability moves by: 0.125 and 1.25 per second (RFC 8033, 4.2), as tc has them.
PIE_ALPHA, PIE_BETA = 2, 20


def bucket_bytes(rate_bps: int) -> int:
    """Return what the token bucket holds."""
    return PACKET_BYTES + max(LATE_BYTES, math.ceil(rate_bps * LATE_S / 8))


def bucket_options(link: Direction) -> str:
    """Return the bucket's options; its own limit is of a queue that the managed one replaces."""
    held_bytes = bucket_bytes(link.rate_bps)
    return f"rate {link.rate_bps}bit burst {held_bytes} limit {held_bytes}"


def waiting_pkts(link: Direction) -> int:
    """Return the managed queue's limit: one more packet is in the wire."""
    return link.queue_pkts - 1


def queue_options(link: Direction) -> str:
    """Return the options of the qdisc that manages the queue, all of them."""
    managed = link.discipline
    words = [f"limit {waiting_pkts(link)}"]
    if managed.kind == "fq_codel":
        words += [f"flows {managed.queues}", f"quantum {managed.quantum_bytes}"]
    interval = "tupdate" if managed.kind == "pie" else "interval"
    words += [f"target {_us(managed.target_s)}us", f"{interval} {_us(managed.interval_s)}us"]
    if managed.kind == "pie":
        words += [f"alpha {PIE_ALPHA}", f"beta {PIE_BETA}"]
    words.append("ecn" if managed.ecn else "noecn")
    return " ".join(words)


def _us(time_s: float) -> int:
    return round(time_s * US_PER_S)


def bucket_mismatches(link: Direction, options: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Compare the bucket in ``tc -j qdisc show`` with what was asked: (setting, wanted, got).

    tc works its bytes out from the time they take, in steps of 64 ns.
    """
    wanted_bytes = bucket_bytes(link.rate_bps)
    step_bytes = 1 + math.ceil(64e-9 * link.rate_bps / 8)
    return _differing(
        {"rate_bps": (link.rate_bps, 0), "burst_bytes": (wanted_bytes, step_bytes)},
        {
            "rate_bps": float(options.get("rate", 0)) * 8,
            "burst_bytes": float(options.get("burst", 0)),
        },
    )


def queue_mismatches(link: Direction, options: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Compare the managed queue in ``tc -j qdisc show`` with what was asked."""
    managed: Discipline = link.discipline
    step_us = 0 if managed.kind == "pie" else CODEL_STEP_US
    interval = "tupdate" if managed.kind == "pie" else "interval"
    wanted: dict[str, tuple[float, float]] = {
        "limit_pkts": (waiting_pkts(link), 0),
        "target_us": (_us(managed.target_s), step_us),
        "interval_us": (_us(managed.interval_s), step_us),
        "ecn": (managed.ecn, 0),
    }
    got = {
        "limit_pkts": options.get("limit", 0),
        "target_us": options.get("target", 0),
        "interval_us": options.get(interval, 0),
        "ecn": options.get("ecn", False),
    }
    if managed.kind == "fq_codel":
        wanted |= {"queues": (managed.queues, 0), "quantum_bytes": (managed.quantum_bytes, 0)}
        got |= {"queues": options.get("flows", 0), "quantum_bytes": options.get("quantum", 0)}
    if managed.kind == "pie":
        wanted |= {"alpha": (PIE_ALPHA, 0), "beta": (PIE_BETA, 0)}
        got |= {name: options.get(name, 0) for name in ("alpha", "beta")}
    return _differing(wanted, got)


def _differing(
    wanted: Mapping[str, tuple[float, float]], got: Mapping[str, Any]
) -> list[tuple[str, str, str]]:
    return [
        (name, f"{value:g}", f"{float(got[name]):g}")
        for name, (value, tolerance) in wanted.items()
        if not abs(float(got[name]) - value) <= tolerance
    ]
