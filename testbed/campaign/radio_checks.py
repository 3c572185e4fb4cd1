"""What a calibrating cell's radios did, compared with what the DCF yields by calculation.

Invariant: a value outside the margin of :mod:`mininet_topos.radio.calibrate` disagrees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from collectors.raw.files import read_as, read_text, whole
from mininet_topos.radio import calibrate
from mininet_topos.radio.dcf_theory import Dcf, one_sender_bps, saturated
from model import run_folder, units
from model.ad_hoc import AdHoc, RadioSettings
from model.check import Check
from model.errors import ParseError, RunError

CALIBRATION = "raw/calibration.json"


def read(folder: Path, network: AdHoc) -> list[Check]:
    """Return the comparisons of a finished calibrating cell.

    Raises:
        ParseError: a raw file is missing or not what a lab writes.
    """
    asked = read_as(folder / CALIBRATION, _asked)
    frames = folder / run_folder.FRAMES
    try:
        sent = list(calibrate.data_frames(read_text(frames).splitlines(), asked["payload_bytes"]))
        return compared(sent, asked, network.radio)
    except (ValueError, RunError) as error:
        raise ParseError("not what a medium writes", where=str(frames), got=str(error)) from error


def _asked(value: Mapping[str, Any]) -> dict[str, Any]:
    names = ("payload_bytes", "alone", "from_ns", "to_ns")
    return {**{name: whole(value[name]) for name in names},
            "sharing": [whole(one) for one in value["sharing"]]}  # fmt: skip


def compared(
    sent: Sequence[calibrate.Sent], asked: Mapping[str, Any], radio: RadioSettings
) -> list[Check]:
    """Return one sender's goodput, and that of stations in one cell, each beside its theory.

    Raises:
        RunError: one of them sent nothing.
    """
    payload_bytes, sharing = asked["payload_bytes"], asked["sharing"]

    def measured(senders: Sequence[int]) -> calibrate.Measured:
        own = (one for one in sent if one.sender in senders)
        return calibrate.measure(own, asked["from_ns"], asked["to_ns"])

    alone, together = measured([asked["alone"]]), measured(sharing)
    wanted_bps = one_sender_bps(dcf(radio, alone.frame_bytes), alone.frame_bytes, payload_bytes)
    theory = saturated(
        dcf(radio, together.frame_bytes), len(sharing), together.frame_bytes, payload_bytes
    )
    return [
        _check("one sender", wanted_bps, alone.goodput_bps(payload_bytes),
               calibrate.ONE_SENDER_FRAC),
        _check(f"{len(sharing)} stations in one cell", theory.goodput_bps,
               together.goodput_bps(payload_bytes), calibrate.SATURATED_FRAC),
    ]  # fmt: skip


def dcf(radio: RadioSettings, frame_bytes: int) -> Dcf:
    """Return the DCF of radios that send frames of so many bytes, with RTS where they use it."""
    threshold_bytes = radio.rts_threshold_bytes
    return Dcf(
        retry_limit=radio.retry_limit, long_retry_limit=radio.long_retry_limit,
        rts=threshold_bytes is not None and frame_bytes > threshold_bytes,
        data_rate_bps=radio.rate_bps, ack_rate_bps=radio.basic_rate_bps,
    )  # fmt: skip


def _check(where: str, wanted_bps: float, got_bps: float, margin_frac: float) -> Check:
    wanted = units.format_rate(wanted_bps, digits=6)
    return Check(
        check="goodput over one hop", where=where,
        wanted=f"{wanted}, within {units.format_frac(margin_frac)}",
        got=units.format_rate(got_bps, digits=6),
        agrees=abs(got_bps - wanted_bps) <= margin_frac * wanted_bps,
    )  # fmt: skip
