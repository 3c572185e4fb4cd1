"""Packets as captured, ready to be written: arrays, one entry per packet and capture point.

Invariants: all arrays of :class:`CapturedPackets` are parallel and in order of time: the rows of
``packets.parquet``, or some of them; ``octets`` ends in enough zeros that reading a packet never
leaves it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Octets = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class CapturedPackets:
    """Captured packets with their link headers.

    ``interfaces`` are indexes into the file's interfaces; a packet's bytes start at ``starts`` of
    ``octets`` and are ``captured_bytes`` of its ``wire_bytes``, its IP header at ``network``. After
    them came ``zero_bytes`` zeros, which were not kept.
    """

    octets: Octets
    t_ns: Ints
    starts: Ints
    network: Ints
    captured_bytes: Ints
    wire_bytes: Ints
    interfaces: Ints
    zero_bytes: Ints

    def __len__(self) -> int:
        return len(self.t_ns)

    def only(self, rows: Ints) -> CapturedPackets:
        """Return these packets alone."""
        parallel = [field.name for field in fields(self) if field.name != "octets"]
        return replace(self, **{name: getattr(self, name)[rows] for name in parallel})


def windows(octets: Octets, width: int) -> npt.NDArray[np.void]:
    """Return a view of the ``width`` bytes from every byte on, to read or write as one item."""
    return np.ndarray((max(len(octets) - width + 1, 0),), f"V{width}", octets, 0, (1,))


def copy_packets(source: Octets, starts: Ints, lengths: Ints, target: Octets, places: Ints) -> None:
    """Copy packets of any lengths, all of one length at a time."""
    for length in np.unique(lengths):
        if length > 0:
            chosen = np.flatnonzero(lengths == length)
            found = windows(source, int(length))[starts[chosen]]
            windows(target, int(length))[places[chosen]] = found
