"""Read the times of a flow's messages as the two probes recorded them. Pure.

The formats stand in probes/flow/message_log.h: records of one size, little-endian.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from model.errors import ParseError

Records = npt.NDArray[np.void]

#: Of the sender: one for each message, in order.
SENT = np.dtype([("ready_ns", "<i8"), ("accepted_ns", "<i8")])
#: Of the receiver: one for each message, as they were delivered. Numbers are from 0.
DELIVERED = np.dtype(
    [("delivered_ns", "<i8"), ("number", "<u4"), ("bytes", "<u4"), ("stream", "<u2"),
     ("flags", "<u2")]
)  # fmt: skip
#: Of the flags.
UNORDERED = 1


@dataclass(frozen=True)
class Recorded:
    """What both ends of one flow recorded of its messages."""

    sent: Records
    delivered: Records


def parse(content: bytes, kind: np.dtype[Any], where: str) -> Records:
    """Return one end's records.

    Raises:
        ParseError: the file ends within a record, or times are before the clock's start.
    """
    if len(content) % kind.itemsize:
        raise ParseError(
            "the last record is cut off", where=where,
            wanted=f"a multiple of {kind.itemsize} bytes", got=str(len(content)),
        )  # fmt: skip
    records: Records = np.frombuffer(content, kind)
    for name in kind.names or ():
        if name.endswith("_ns") and (records[name] < 0).any():
            number = int(np.flatnonzero(records[name] < 0)[0])
            raise ParseError(
                "a time before the clock's start", where=f"{where}: record {number}",
                got=f"{name} {records[name][number]}",
            )  # fmt: skip
    return records
