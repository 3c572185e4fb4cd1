"""Messages as both ends recorded them, against what they counted and against each other. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from collectors.audit.packet_balance import compare
from collectors.raw.flows import Received
from collectors.raw.messages import UNORDERED, Recorded, Records
from model.cell import Cell, Flow
from model.check import Check

BYTES, MESSAGES = "bytes", "messages"


def checks(
    cell: Cell,
    recorded: Mapping[str, Recorded],
    received: Mapping[str, Received],
    sent: Mapping[str, Mapping[str, Any]],
) -> list[Check]:
    """Return all comparisons of flows whose messages were recorded.

    ``sent`` is what each sender counted in the end.
    """
    return [
        check
        for flow in cell.flows
        if flow.id in recorded
        for check in _flow(flow, recorded[flow.id], received[flow.id], sent[flow.id])
    ]


def _flow(
    flow: Flow, recorded: Recorded, received: Received, sent: Mapping[str, Any]
) -> Iterator[Check]:
    sender, receiver = f"flow {flow.id}, sender", f"flow {flow.id}, receiver"
    count, got = len(recorded.sent), recorded.delivered
    yield compare("messages handed over", sender, sent.get("messages"), count, MESSAGES)
    # TCP's receiver is told where messages end, and has read a part of one at most beyond them.
    rest = received.total_bytes % flow.message_bytes if flow.protocol == "tcp" else 0
    delivered_bytes = int(got["bytes"].sum(dtype=np.uint64))
    yield compare(
        "messages delivered", receiver, received.total_bytes - rest, delivered_bytes, BYTES
    )
    unknown = int((got["number"] >= count).sum())
    yield compare("delivered without having been handed over", receiver, 0, unknown, MESSAGES)
    twice = len(got) - len(np.unique(got["number"]))
    yield compare("delivered twice", receiver, 0, twice, MESSAGES)
    if flow.protocol == "sctp":
        other = int(_sent_otherwise(flow, got).sum())
        yield compare("delivered on another stream, or otherwise", receiver, 0, other, MESSAGES)
    if flow.ordered:
        yield compare("delivered out of order", receiver, 0, _out_of_order(got), MESSAGES)


def _sent_otherwise(flow: Flow, got: Records) -> Any:
    """Return which messages came on another stream than theirs, or ordered as they were not."""
    unordered = (got["flags"] & UNORDERED) > 0
    return (got["stream"] != got["number"] % flow.streams) | (unordered == flow.ordered)


def _out_of_order(got: Records) -> int:
    """Return how many messages came after one of their stream that was handed over later."""
    number = got["number"].astype(np.int64)
    of_stream = np.argsort(got["stream"], kind="stable")
    number, stream = number[of_stream], got["stream"][of_stream]
    return int(((np.diff(number) < 0) & (stream[1:] == stream[:-1])).sum())
