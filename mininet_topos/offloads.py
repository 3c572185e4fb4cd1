"""Turn a device's segmentation and checksum offloads off, and read that back.

With them on, one "packet" of a veth is many segments, and loss, queue lengths and checksums in
captures are wrong. Speaks the SIOCETHTOOL ioctl (linux/ethtool.h) because one ethtool process
for each device costs more than all other set-up of a cell.
"""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mininet_topos.netns import Namespace
from model.errors import RunError

if TYPE_CHECKING:
    from model.node import Node

SIOCETHTOOL = 0x8946
IFNAMSIZ = 16


@dataclass(frozen=True)
class Offload:
    """One feature: its name as ethtool prints it, and its get and set commands."""

    name: str
    get: int
    set: int


#: ETHTOOL_{G,S}{TSO,GSO,GRO,TXCSUM,SG}, in an order in which each may be switched off.
OFFLOADS = (
    Offload("tcp-segmentation-offload", 0x1E, 0x1F),
    Offload("generic-segmentation-offload", 0x23, 0x24),
    Offload("generic-receive-offload", 0x2B, 0x2C),
    Offload("tx-checksumming", 0x16, 0x17),
    Offload("scatter-gather", 0x18, 0x19),
)


def _ethtool(sock: socket.socket, device: str, command: int, value: int) -> int:
    """Issue one struct ethtool_value command; return the value after the call."""
    data = array.array("I", [command, value])
    address, _ = data.buffer_info()
    request = struct.pack(f"{IFNAMSIZ}sP", device.encode(), address)
    fcntl.ioctl(sock, SIOCETHTOOL, request)
    return data[1]


def switch_off(namespace: Namespace, device: str) -> None:
    """Switch off all offloads of a device that are on.

    Raises:
        RunError: the kernel refuses, as for one that is fixed.
    """
    with namespace.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for offload in OFFLOADS:
            try:
                if _ethtool(sock, device, offload.get, 0):
                    _ethtool(sock, device, offload.set, 0)
            except OSError as error:
                raise RunError(
                    f"cannot switch off {offload.name}",
                    where=f"{namespace.name}:{device}",
                    got=str(error),
                ) from error


def read(namespace: Node, device: str) -> dict[str, bool]:
    """Return which offloads of a device are on."""
    with namespace.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        return {o.name: bool(_ethtool(sock, device, o.get, 0)) for o in OFFLOADS}
