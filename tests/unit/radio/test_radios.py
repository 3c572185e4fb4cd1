"""What is asked of the kernel for a radio, byte by byte, and what is compared after."""

from __future__ import annotations

import dataclasses

import pytest

from mininet_topos.radio import medium
from mininet_topos.radio.netlink import pack, unpack
from mininet_topos.radio.radios import Cell, Radio, ReadBack, check, join_request, rate_mask
from model.errors import RunError


def radio(index: int = 258) -> Radio:
    return Radio(index=index, node="n1", interface="wlan0", address="10.0.0.1/16", cell=Cell())


def test_address_is_made_of_the_number() -> None:
    assert radio(258).mac == "02:00:00:00:01:02"


def test_attributes_are_padded_and_read_again() -> None:
    packed = pack({1: 7, 2: "wlan0", 3: True, 4: b"\x01\x02\x03"})
    assert packed.hex(" ", 4) == (
        "08000100 07000000 0a000200 776c616e 30000000 04000300 07000400 01020300"
    )
    assert unpack(packed) == {1: b"\x07\0\0\0", 2: b"wlan0\0", 3: b"", 4: b"\x01\x02\x03"}


@pytest.mark.parametrize("damaged", [b"\x03\0\x01\0", b"\x09\0\x01\0\0\0\0\0"])
def test_attribute_that_does_not_fit_is_refused(damaged: bytes) -> None:
    with pytest.raises(RunError, match="does not fit"):
        unpack(damaged)


def test_rates_are_counted_in_half_megabits() -> None:
    request = join_request(3, Cell())
    assert request[36] == bytes([2, 4])  # basic rates
    assert request[107] == 10  # broadcasts, in 100 kbit/s
    assert rate_mask(2_000_000).hex(" ", 4) == "0c000080 05000100 04000000"


@pytest.mark.parametrize(
    "change",
    [
        {"mac": "02:00:00:00:01:03"},
        {"is_ibss": False},
        {"freq_mhz": 2437},
        {"bssid": "02:ff:00:00:00:02"},
    ],
)
def test_other_setting_is_refused(change: dict[str, object]) -> None:
    right = ReadBack(
        mac="02:00:00:00:01:02", is_ibss=True, freq_mhz=2412, bssid="02:ff:00:00:00:01"
    )
    check(radio(), right)
    with pytest.raises(RunError, match="not as it was set"):
        check(radio(), dataclasses.replace(right, **change))  # type: ignore[arg-type]


def test_files_of_the_medium() -> None:
    assert medium.table([radio(0)], ["n0", "n1"]) == (
        "radio,node,mac,freq_mhz\n0,1,02:00:00:00:00:00,2412\n"
    )
    assert medium.standing([(0, 0), (1.5, -2)]) == "t_ns,node,x_mm,y_mm\n0,0,0,0\n0,1,1500,-2000\n"
