"""What the kernel counts of a mesh, by its own names: those of ``ethtool -S bat0``.

Speaks the SIOCETHTOOL ioctl (linux/ethtool.h), as :mod:`mininet_topos.offloads` does. ``mgmt_tx``
are originator messages handed to radios, a node's own and those it passes on, and
``mgmt_tx_bytes`` their bytes, each with the 14 of an Ethernet header
(net/batman-adv/bat_iv_ogm.c).
"""

from __future__ import annotations

import array
import fcntl
import socket
import struct

from mininet_topos.netns import Namespace
from mininet_topos.offloads import IFNAMSIZ, SIOCETHTOOL
from model.errors import RunError

GET_STRINGS, GET_STATS, GET_SET_INFO, STATS_SET = 0x1B, 0x1D, 0x37, 1
NAME_BYTES = 32
SET_INFO, STRINGS, STATS = struct.Struct("=IIQI"), struct.Struct("=III"), struct.Struct("=II")


def _ask(sock: socket.socket, device: str, request: bytes) -> bytes:
    data = array.array("B", request)
    address, _ = data.buffer_info()
    fcntl.ioctl(sock, SIOCETHTOOL, struct.pack(f"{IFNAMSIZ}sP", device.encode(), address))
    return data.tobytes()


def read(node: Namespace, device: str) -> dict[str, int]:
    """Return a mesh's counters by name.

    Raises:
        RunError: the kernel has no such device, or it counts nothing.
    """
    with node.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            info = _ask(sock, device, SET_INFO.pack(GET_SET_INFO, 0, 1 << STATS_SET, 0))
            count = SET_INFO.unpack(info)[3]
            head = STRINGS.pack(GET_STRINGS, STATS_SET, count)
            names = _ask(sock, device, head + bytes(count * NAME_BYTES))
            values = _ask(sock, device, STATS.pack(GET_STATS, count) + bytes(count * 8))
        except OSError as error:
            raise RunError(
                "a mesh's counters cannot be read", where=f"{node.name} {device}", got=str(error)
            ) from error
    return parse(names[STRINGS.size :], values[STATS.size :], f"{node.name} {device}")


def parse(names: bytes, values: bytes, where: str) -> dict[str, int]:
    """Return counters by name, of names of 32 bytes and values of 64 bits in this machine's order.

    Raises:
        RunError: there are none, or not as many names as values.
    """
    count = len(values) // 8
    if not count or len(names) != count * NAME_BYTES:
        raise RunError(
            "a mesh's counters are not as the kernel has them", where=where,
            wanted="a name of 32 bytes for each value of 8", got=f"{len(names)}, {len(values)}",
        )  # fmt: skip
    words = [
        names[at : at + NAME_BYTES].split(b"\0", 1)[0].decode()
        for at in range(0, len(names), NAME_BYTES)
    ]
    return dict(zip(words, struct.unpack(f"={count}Q", values), strict=True))
