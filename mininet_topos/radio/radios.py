"""Radios of mac80211_hwsim: made, moved into nodes' namespaces, joined to one IBSS, read back.

Numbers are those of ``linux/nl80211.h`` and ``linux/rtnetlink.h``. Standard library only, no
process. Invariant: what was set is read back and compared before a radio is returned.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mininet_topos.netns import Namespace
from mininet_topos.radio.netlink import (
    ACK,
    DUMP,
    NESTED,
    Family,
    Netlink,
    Value,
    attribute,
    number,
    pack,
    unpack,
)
from model.errors import RunError

HWSIM, NL80211 = "MAC80211_HWSIM", "nl80211"
NEW_RADIO, RADIO_NAME, PERMANENT_MAC = 4, 17, 22
GET_INTERFACE, SET_INTERFACE, GET_SCAN, JOIN_IBSS = 5, 6, 32, 43
SET_WIPHY_NETNS, SET_TX_BITRATE_MASK, GET_STATION = 49, 57, 17
WIPHY, IFINDEX, IFTYPE, MAC, BEACON_INTERVAL = 1, 3, 5, 6, 12
STATION, BASIC_RATES, FREQ, BSS, SSID, FREQ_FIXED = 21, 36, 38, 47, 52, 60
TX_RATES, MULTICAST_RATE, NETNS_FD = 90, 107, 219
IBSS, LEGACY, BAND_2GHZ = 1, 1, 0
BSS_BSSID, BSS_STATUS, STATUS_IBSS_JOINED = 1, 9, 2
NEW_LINK, NEW_ADDRESS = 16, 20
LINK, ADDRESS = struct.Struct("=BBHiII"), struct.Struct("=BBBBI")
IFLA_IFNAME, IFA_ADDRESS, IFA_LOCAL, IFA_BROADCAST, UP = 3, 1, 2, 4, 1
PHYS = Path("/sys/class/ieee80211")
BITS_PER_RATE_UNIT = 500_000
JOIN_DEADLINE_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The IBSS that radios join; the long interval keeps beacons rare."""

    freq_mhz: int = 2412
    ssid: str = "groundtruth"
    bssid: str = "02:ff:00:00:00:01"
    beacon_interval_tu: int = 10_000
    rate_bps: int = 2_000_000
    broadcast_rate_bps: int = 1_000_000
    basic_rates_bps: tuple[int, ...] = (1_000_000, 2_000_000)


@dataclass(frozen=True, kw_only=True)
class Radio:
    """One radio as it shall be: its node, its interface there, its address, its channel."""

    index: int
    node: str
    interface: str
    #: With its prefix length; None: the radio has no address of its own.
    address: str | None
    cell: Cell

    @property
    def mac(self) -> str:
        """Return the address that its number gives it."""
        return mac_of(self.index)


def mac_of(index: int) -> str:
    """Return the address of a radio by its number."""
    return f"02:00:00:00:{index >> 8:02x}:{index & 0xFF:02x}"


def mac_bytes(mac: str) -> bytes:
    """Return an address's six bytes."""
    return bytes.fromhex(mac.replace(":", ""))


def bring_up(radios: Sequence[Radio], nodes: Mapping[str, Namespace]) -> None:
    """Make all radios, in order, and have each joined and read back.

    Raises:
        RunError: the kernel refuses, or something read back is not as it was set.
        UnsupportedError: the kernel has no such radios.
    """
    hwsim, home = Family.of(HWSIM), Family.of(NL80211)
    try:
        for radio in radios:
            _make(radio, hwsim)
            _move(radio, home, nodes[radio.node])
    finally:
        hwsim.netlink.close()
        home.netlink.close()
    told = []
    for radio in radios:
        with nodes[radio.node].entered():
            told.append(_join(radio))
    for radio, events in zip(radios, told, strict=True):
        events.await_event(JOIN_IBSS, f"joining of {radio.mac}", JOIN_DEADLINE_S)
        events.close()
        with nodes[radio.node].entered():
            _check(radio)


def _phy(radio: Radio) -> str:
    return f"radio{radio.index}"


def _make(radio: Radio, hwsim: Family) -> None:
    name = {RADIO_NAME: _phy(radio).encode() + b"\0", PERMANENT_MAC: mac_bytes(radio.mac)}
    hwsim.ask(NEW_RADIO, name, f"making {_phy(radio)}")


def _move(radio: Radio, home: Family, node: Namespace) -> None:
    """Name the radio's interface as the node shall see it, then move it there."""
    folder = PHYS / _phy(radio)
    (made,) = (path.name for path in (folder / "device" / "net").iterdir())
    interface = socket.if_nametoindex(made)
    passing = f"r{radio.index}"  # free here, as the node's own name need not be
    _set_link(interface, {IFLA_IFNAME: passing}, up=False)
    wiphy = int((folder / "index").read_text())
    values = {WIPHY: wiphy, NETNS_FD: node.handle}
    home.ask(SET_WIPHY_NETNS, values, f"moving {_phy(radio)} to {node.name}")
    with node.entered():
        index = socket.if_nametoindex(passing)
        _set_link(index, {IFLA_IFNAME: radio.interface}, up=False)


def _set_link(interface: int, values: Mapping[int, str], *, up: bool) -> None:
    route = Netlink.of(socket.NETLINK_ROUTE)
    try:
        body = LINK.pack(0, 0, 0, interface, UP * up, UP * up) + pack(dict(values))
        route.ask(NEW_LINK, body, f"interface {interface}")
    finally:
        route.close()


def _join(radio: Radio) -> Netlink:
    """Have a radio join; return what will be told once it has."""
    wireless = Family.of(NL80211)
    try:
        interface = socket.if_nametoindex(radio.interface)
        wireless.ask(SET_INTERFACE, {IFINDEX: interface, IFTYPE: IBSS}, f"IBSS of {radio.mac}")
        _set_link(interface, {}, up=True)
        events = wireless.events("mlme")
        wireless.ask(JOIN_IBSS, join_request(interface, radio.cell), f"joining of {radio.mac}")
        rates: dict[int, Value] = {
            IFINDEX: interface,
            TX_RATES | NESTED: rate_mask(radio.cell.rate_bps),
        }
        wireless.ask(SET_TX_BITRATE_MASK, rates, f"rate of {radio.mac}")
        if radio.address is not None:
            _set_address(interface, radio.address)
    finally:
        wireless.netlink.close()
    return events


def _check(radio: Radio) -> None:
    wireless = Family.of(NL80211)
    try:
        check(radio, read_back(wireless, socket.if_nametoindex(radio.interface)))
    finally:
        wireless.netlink.close()


def join_request(interface: int, cell: Cell) -> dict[int, bytes | int | str | bool]:
    """Return what joins an IBSS at once, without a scan: fixed BSSID, fixed channel."""
    return {
        IFINDEX: interface,
        SSID: cell.ssid.encode(),
        MAC: mac_bytes(cell.bssid),
        FREQ: cell.freq_mhz,
        FREQ_FIXED: True,
        BEACON_INTERVAL: cell.beacon_interval_tu,
        BASIC_RATES: bytes(rate // BITS_PER_RATE_UNIT for rate in cell.basic_rates_bps),
        MULTICAST_RATE: cell.broadcast_rate_bps // 100_000,
    }


def rate_mask(rate_bps: int) -> bytes:
    """Return the nest that leaves a radio one rate of the 2.4 GHz band."""
    rates = attribute(LEGACY, bytes([rate_bps // BITS_PER_RATE_UNIT]))
    return attribute(BAND_2GHZ | NESTED, rates)


def _set_address(interface: int, address: str) -> None:
    given = ipaddress.IPv4Interface(address)
    values = {
        IFA_LOCAL: given.ip.packed,
        IFA_ADDRESS: given.ip.packed,
        IFA_BROADCAST: given.network.broadcast_address.packed,
    }
    body = ADDRESS.pack(socket.AF_INET, given.network.prefixlen, 0, 0, interface) + pack(values)
    route = Netlink.of(socket.NETLINK_ROUTE)
    try:
        route.ask(NEW_ADDRESS, body, f"address {address}", ACK | 0x600)
    finally:
        route.close()


@dataclass(frozen=True, kw_only=True)
class ReadBack:
    """What the kernel says of a radio's interface."""

    mac: str
    is_ibss: bool
    freq_mhz: int
    bssid: str


def read_back(wireless: Family, interface: int) -> ReadBack:
    """Return what the kernel says of an interface; raises :class:`RunError` if it says nothing."""
    what = f"interface {interface}"
    (got,) = wireless.ask(GET_INTERFACE, {IFINDEX: interface}, what)
    joined = [
        bss
        for found in wireless.ask(GET_SCAN, {IFINDEX: interface}, what, DUMP)
        if BSS in found and BSS_STATUS in (bss := unpack(found[BSS]))
    ]
    bssids = [
        bss[BSS_BSSID].hex(":") for bss in joined if number(bss[BSS_STATUS]) == STATUS_IBSS_JOINED
    ]
    return ReadBack(
        mac=got[MAC].hex(":"),
        is_ibss=number(got[IFTYPE]) == IBSS,
        freq_mhz=number(got.get(FREQ, b"")),
        bssid=bssids[0] if bssids else "",
    )


def check(radio: Radio, got: ReadBack) -> None:
    """Raise :class:`RunError` unless a radio is as it was to be; pure."""
    wanted = ReadBack(
        mac=radio.mac, is_ibss=True, freq_mhz=radio.cell.freq_mhz, bssid=radio.cell.bssid
    )
    if got != wanted:
        raise RunError(
            "a radio is not as it was set", where=f"{radio.node} {radio.interface}",
            wanted=str(wanted), got=str(got),
        )  # fmt: skip


def stations(interface: str) -> dict[str, dict[int, int]]:
    """Return what an interface of this namespace counted of its peers, by address."""
    wireless = Family.of(NL80211)
    try:
        index = socket.if_nametoindex(interface)
        found = wireless.ask(GET_STATION, {IFINDEX: index}, interface, DUMP)
    finally:
        wireless.netlink.close()
    return {
        peer[MAC].hex(":"): {
            kind: number(value) for kind, value in unpack(peer[STATION]).items() if len(value) <= 8
        }
        for peer in found
    }
