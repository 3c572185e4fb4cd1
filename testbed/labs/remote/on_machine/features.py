"""Features of network interfaces, bit by bit, by the names that ``ethtool -k`` and ``-K`` know.

A kind, as ``tcp-segmentation-offload``, is several bits, and one bit may be set apart from others;
some are fixed. Speaks the SIOCETHTOOL ioctl (linux/ethtool.h), as :mod:`mininet_topos.offloads`.
"""

from __future__ import annotations

import array
import fcntl
import re
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mininet_topos.offloads import IFNAMSIZ, SIOCETHTOOL

GSTRINGS, GSSET_INFO, GFEATURES, SFEATURES = 0x1B, 0x37, 0x3A, 0x3B
#: The set of strings that are features' names, each so many words long.
NAMES, NAME_WORDS, WORD_BITS = 4, 8, 32
#: For each 32 features: which can be changed, are wanted, are on, and never change.
READ_WORDS = 4
ANY = re.compile(".*")
#: Packets that come are merged by these, some in hardware, before anything else sees them.
MERGING = re.compile(r"rx-(gro|gro-hw|lro)")
#: What merges, splits, or computes checksums.
OFFLOADS = re.compile(
    r"tx-(checksum|scatter-gather)\S*|tx-\S*segmentation|rx-(checksum|gro|lro)\S*"
)


@dataclass(frozen=True)
class Feature:
    """One bit: whether it is on, whether somebody wants it to be, whether that can be changed."""

    on: bool
    wanted: bool
    changeable: bool


def read(interface: str) -> dict[str, Feature]:
    """Return the features of an interface of the caller's own network, by name, in order."""
    return of_words(*_states(interface))


def _states(interface: str) -> tuple[list[str], Sequence[int]]:
    """Return the name of each bit, and the kernel's words about all of them."""
    names = _names(interface)
    blocks = -(-len(names) // WORD_BITS)
    return names, _ask(interface, [GFEATURES, blocks] + [0] * READ_WORDS * blocks)[2:]


def _names(interface: str) -> list[str]:
    """Return the name of each bit."""
    count = _ask(interface, [GSSET_INFO, 0, 1 << NAMES, 0, 0])[4]
    text = _ask(interface, [GSTRINGS, NAMES, count] + [0] * NAME_WORDS * count)[3:].tobytes()
    return [name.rstrip(b"\0").decode() for (name,) in struct.iter_unpack("32s", text)]


def of_words(names: Sequence[str], words: Sequence[int]) -> dict[str, Feature]:
    """Return features as the kernel's words tell them; bits without a name are none."""
    found = {}
    for number, name in enumerate(names):
        at = number // WORD_BITS * READ_WORDS
        changeable, wanted, on, never = (
            bool(word >> number % WORD_BITS & 1) for word in words[at : at + READ_WORDS]
        )
        if name:
            found[name] = Feature(on=on, wanted=wanted, changeable=changeable and not never)
    return found


def told(features: Mapping[str, Feature]) -> list[str]:
    """Return the words for the offloads that are on, as ``ethtool -k`` has them."""
    return [
        name if one.changeable else f"{name} [fixed]"
        for name, one in features.items()
        if one.on and OFFLOADS.fullmatch(name)
    ]


def want(interface: str, wanted: Mapping[str, bool]) -> None:
    """Want features to be on or off, of those that can be changed here.

    Raises:
        OSError: the kernel refuses.
    """
    names, states = _states(interface)
    now = of_words(names, states)
    words = [0] * 2 * -(-len(names) // WORD_BITS)
    for number, name in enumerate(names):
        if name in wanted and now[name].changeable:
            at, bit = number // WORD_BITS * 2, 1 << number % WORD_BITS
            words[at] |= bit
            words[at + 1] |= bit * wanted[name]
    _ask(interface, [SFEATURES, len(words) // 2, *words])


def _ask(interface: str, words: Sequence[int]) -> array.array[int]:
    """Issue a command of ethtool's; return its words after the call."""
    data = array.array("I", words)
    request = struct.pack(f"{IFNAMSIZ}sP", interface.encode(), data.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCETHTOOL, request)
    return data
