"""The medium's capture as tshark dissects it: packet by packet what its own list says."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from tests.support.dissectors.tshark import shown

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

KNOWN = ["ping", "-c", "4", "-i", "0.2", "-W", "1"]
FIELDS = (
    "wlan.fc.type_subtype", "wlan.fc.retry", "wlan.ra", "wlan.ta", "wlan.duration",
    "radiotap.datarate", "radiotap.channel.freq", "radiotap.dbm_antsignal",
    "radiotap.data_retries", "frame.time_epoch", "frame.len", "radiotap.length",
    "_ws.malformed", "_ws.expert.message",
)  # fmt: skip
#: Type and subtype in one number, as tshark has them; QoS data go to who is known by its beacon.
TYPES = {
    "rts": {0x1B}, "cts": {0x1C}, "ack": {0x1D}, "data": {0x20, 0x28},
    "broadcast": {0x20}, "management": {0x08},
}  # fmt: skip
#: Where nodes stand, the last two at first and from second 5 on.
X_M, GONE_M = (0, 250, 240, 230), (0, 250, 490, 1500)
GONE_NS = 5_000_000_000
MOVEMENT = "\n".join(
    ["t_ns,node,x_mm,y_mm"]
    + [
        f"{t_ns},{node},{x_m * 1000},0"
        for node in range(4)
        for t_ns, x_m in ((0, X_M[node]), (GONE_NS - 1, X_M[node]), (GONE_NS, GONE_M[node]))
    ]
    + [""]
)


def two_ray_dbm(distance_m: float) -> float:
    """Return the power of 281.8 mW at 914 MHz between antennas of gain 1, 1.5 m high."""
    wave_m = 299_792_458 / 914e6
    free_w = 0.28183815 * (wave_m / (4 * math.pi * distance_m)) ** 2
    ground_w = 0.28183815 * 1.5**4 / distance_m**4
    crossover_m = 4 * math.pi * 1.5**2 / wave_m
    return 10 * math.log10((free_w if distance_m < crossover_m else ground_w) * 1000)


def mac(radio: int) -> str:
    return f"02:00:00:00:00:{radio:02x}"


@pytest.fixture(scope="module")
def ran(run_radios: Any) -> Any:
    """Pings, long ones with RTS, to nodes that come to be known and then go away."""
    others = [f"10.0.0.{number}" for number in (2, 3, 4)]
    steps: list[Any] = [
        *(["n0", *KNOWN, "-s", "600", other] for other in others),
        ["n0", "sleep", "12"],  # all send a beacon
        *(["n0", *KNOWN, other] for other in others),
        *(["n0", *KNOWN, "-s", "600", other] for other in others),
        0.1,
    ]
    return run_radios(
        [[x, 0] for x in X_M], steps, options={"rts-threshold-bytes": 300}, movement=MOVEMENT
    )


@pytest.fixture(scope="module")
def pairs(ran: Any) -> list[tuple[dict[str, str], dict[str, str]]]:
    """Return the medium's own row of each transmission, and tshark's."""
    names, *rows = (line.split("\t") for line in ran.frames())
    own = [dict(zip(names, row, strict=True)) for row in rows]
    return list(zip(own, shown(ran.folder / "pcap", FIELDS), strict=True))


def test_no_packet_is_malformed_and_what_is_noted_is_sent_again(pairs: list[Any]) -> None:
    assert len(pairs) > 100
    for row, packet in pairs:
        is_again = row["kind"] == "data" and row["try"] != "1"
        assert packet["_ws.malformed"] == ""
        assert packet["_ws.expert.message"] == ("Retransmission (retry)" if is_again else "")


def test_types_addresses_and_lengths(pairs: list[Any]) -> None:
    assert {row["kind"] for row, _ in pairs} == set(TYPES)
    for row, packet in pairs:
        assert int(packet["wlan.fc.type_subtype"], 0) in TYPES[row["kind"]]
        if row["kind"] not in ("cts", "ack"):
            assert packet["wlan.ta"] == mac(int(row["from"]))
        if int(row["to"]) >= 0:
            assert packet["wlan.ra"] == mac(int(row["to"]))
        checksum_bytes = 4
        body_bytes = int(packet["frame.len"]) - int(packet["radiotap.length"])
        assert body_bytes == int(row["bytes"]) - checksum_bytes


def test_rates_channels_and_times(pairs: list[Any]) -> None:
    apart_ns = {
        int(packet["frame.time_epoch"].replace(".", "")) - int(row["begin_ns"])
        for row, packet in pairs
    }
    assert len(apart_ns) == 1
    for row, packet in pairs:
        assert float(packet["radiotap.datarate"]) * 1e6 == float(row["rate_bps"])
        assert packet["radiotap.channel.freq"] == "2412"
    assert {row["rate_bps"] for row, _ in pairs if row["kind"] == "data"} == {"2000000"}


def test_retries_are_those_of_data(pairs: list[Any]) -> None:
    for row, packet in pairs:
        tried = int(row["try"])
        assert int(packet["radiotap.data_retries"]) == tried - 1
        is_again = row["kind"] == "data" and tried > 1
        assert packet["wlan.fc.retry"] == ("1" if is_again else "0")
    assert {row["kind"] for row, _ in pairs if row["try"] == "7"} == {"data", "rts"}


def test_durations_reach_to_the_end_of_the_ack(pairs: list[Any]) -> None:
    ack_us, cts_us, sifs_us = 304, 304, 10
    for at, (row, packet) in enumerate(pairs):
        if row["kind"] == "data":
            assert packet["wlan.duration"] == str(sifs_us + ack_us)
        elif row["kind"] == "ack":
            assert packet["wlan.duration"] == "0"
        elif row["kind"] == "cts":
            rts, data = pairs[at - 1], pairs[at + 1]
            data_us = (int(data[0]["end_ns"]) - int(data[0]["begin_ns"])) // 1000
            after_cts_us = 2 * sifs_us + data_us + ack_us
            assert packet["wlan.duration"] == str(after_cts_us)
            assert rts[1]["wlan.duration"] == str(sifs_us + cts_us + after_cts_us)


def test_signal_is_that_of_two_ray_ground_at_who_it_was_sent_to(ran: Any, pairs: list[Any]) -> None:
    distances_m = set()
    began_ns = json.loads((ran.folder / "medium.jsonl").read_text().splitlines()[0])["origin_ns"]
    for row, packet in pairs:
        places_m = X_M if int(row["begin_ns"]) - began_ns < GONE_NS else GONE_M
        to = int(row["to"])
        distance_m = abs(places_m[int(row["from"])] - places_m[to]) if to >= 0 else 0
        if to < 0 or distance_m > 550:
            assert packet["radiotap.dbm_antsignal"] == ""
            continue
        distances_m.add(distance_m)
        assert int(packet["radiotap.dbm_antsignal"]) == round(two_ray_dbm(distance_m))
    assert distances_m == {230, 240, 250, 490}
