"""The parts of a study's network that are radios: what they are like, and who finds the ways.

Invariant: what these need of each other, and of the rest of the network, is checked in
:mod:`testbed.study_checks.networks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from model import units
from model.ad_hoc import LinkBreaks, RoutingProtocol
from testbed.study.problems import SettingError, one_of
from testbed.study.setting_types import LengthM, QueuePkts, RateBps, Settings

#: What 802.11b has, and at which a frame to all can be sent: IEEE 802.11-1999 and 802.11b, 18.2.
RADIO_RATES_BPS = (1_000_000, 2_000_000, 5_500_000, 11_000_000)
BASIC_RATES_BPS = RADIO_RATES_BPS[:2]
#: A radio's own limit of frames that wait.
MOST_QUEUED_PKTS = 90
#: The medium's longest threshold of RTS.
MOST_RTS_THRESHOLD = "3000 bytes"
Constants = Literal["rfc3561", "ns-2.35"]
#: The keys that a routing protocol has besides its name.
ROUTING_KEYS: Mapping[RoutingProtocol, frozenset[str]] = {
    "aodv": frozenset({"link_breaks", "constants"}),
    "batman-adv": frozenset(),
    "babel": frozenset(),
}


def _one_of(rates_bps: tuple[int, ...]) -> AfterValidator:
    def check(rate_bps: int) -> int:
        if rate_bps not in rates_bps:
            raise SettingError(
                "a rate that no such radio has", wanted=one_of(map(units.format_rate, rates_bps)),
                got=units.format_rate(rate_bps),
            )  # fmt: skip
        return rate_bps

    return AfterValidator(check)


def _whole_metres(length_m: float) -> float:
    if length_m != round(length_m) or not 1 <= length_m <= 100_000:
        raise SettingError(
            "not a range of the medium's", wanted="whole metres, from 1 m to 100 km",
            got=units.format_length(length_m),
        )  # fmt: skip
    return length_m


def _queue(count_pkts: int) -> int:
    if count_pkts > MOST_QUEUED_PKTS:
        raise SettingError(
            "more than the medium takes over", wanted=f"at most {MOST_QUEUED_PKTS} packets",
            got=units.format_packets(count_pkts),
        )  # fmt: skip
    return count_pkts


def _rts_threshold(value: object) -> object:
    if value == "none":
        return value
    try:
        return units.parse_size_bytes(value, at_most=MOST_RTS_THRESHOLD)
    except units.UnitError as error:
        hint = "none: no RTS at all; '0 bytes': before every frame to one radio"
        wanted = f"{error.wanted}, or none"
        raise SettingError(error.what, wanted=wanted, got=error.got, hint=hint) from error


_RATES = WithJsonSchema({"enum": [units.format_rate(rate) for rate in RADIO_RATES_BPS]})
_BASIC_RATES = WithJsonSchema({"enum": [units.format_rate(rate) for rate in BASIC_RATES_BPS]})
RangeM = Annotated[LengthM, AfterValidator(_whole_metres)]
RtsThresholdBytes = Annotated[
    int | Literal["none"], BeforeValidator(_rts_threshold),
    WithJsonSchema(
        {"type": "string", "pattern": f"^([0-9]+ *({'|'.join(units.SIZE.units)})|none)$"}
    ),
]  # fmt: skip


class Radio(Settings):
    """The radio of every node: 802.11b, all on one channel."""

    rate_bps: Annotated[RateBps, _one_of(RADIO_RATES_BPS), _RATES] = Field(
        alias="rate", description="of unicast data: a rate such as '2 Mbit/s'"
    )
    basic_rate_bps: Annotated[RateBps, _one_of(BASIC_RATES_BPS), _BASIC_RATES] = Field(
        1_000_000, alias="basic_rate", description="of frames to all and of ACKs: '1 Mbit/s'"
    )
    range_m: RangeM = Field(alias="range", description="a length such as '250 m'")
    carrier_sense_m: RangeM = Field(
        alias="carrier_sense", description="a length such as '550 m', no less than the range"
    )
    queue_pkts: Annotated[QueuePkts, AfterValidator(_queue)] = Field(
        50, alias="queue", description="frames that wait in a radio, such as '50 packets'"
    )
    capture_db: int = Field(
        0, ge=0, le=100, description="dB by which the stronger of two signals is decoded; 0: never"
    )
    attempts: int = Field(7, ge=2, le=255, description="how often a frame is sent at most")
    rts_threshold_bytes: RtsThresholdBytes = Field(
        "none", alias="rts_threshold",
        description="RTS and CTS precede longer frames to one radio: '0 bytes' all; or none",
    )  # fmt: skip
    long_attempts: int = Field(
        4, ge=2, le=255, description="how often a frame that RTS and CTS precede is sent at most"
    )


class Routing(Settings):
    """Who finds the ways through the network; which keys a protocol has, :data:`ROUTING_KEYS` says.

    Those of another than its own say nothing. They are refused where a study has that protocol
    alone, and may stand where it goes from one to the other
    (:mod:`testbed.study_checks.networks`).
    """

    protocol: RoutingProtocol = Field(description="aodv, batman-adv or babel")
    link_breaks: LinkBreaks = Field(
        "link-layer",
        description="of aodv, link-layer: a frame was not acknowledged; or hello messages",
    )
    constants: Constants = Field(
        "rfc3561", description="of aodv, rfc3561, or ns-2.35 for that simulator's"
    )
