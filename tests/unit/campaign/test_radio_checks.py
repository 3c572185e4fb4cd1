"""A calibrating cell's radios beside the DCF's theory: hand-made transmissions."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from mininet_topos.radio.calibrate import Sent
from mininet_topos.radio.dcf_theory import Dcf, one_sender_bps, saturated
from model import run_folder
from model.errors import ParseError, RunError
from testbed.campaign import radio_checks
from tests.support.ad_hoc_study import network

NETWORK = network()
S = 1_000_000_000
PAYLOAD_BYTES, FRAME_BYTES = 1000, 1064
ASKED: dict[str, Any] = {
    "payload_bytes": PAYLOAD_BYTES, "alone": 0, "sharing": [3, 4, 5], "from_ns": 10 * S,
    "to_ns": 20 * S,
}  # fmt: skip
DCF = Dcf(retry_limit=7, data_rate_bps=2_000_000, ack_rate_bps=1_000_000)
#: Of 2 Mbit/s by hand: 192 us and 1064 bytes, 10 us, 192 us and 14 bytes at 1 Mbit/s, 50 us, and
#: 15.5 slots of 20 us.
EACH_NS = 192_000 + 4_256_000 + 10_000 + 192_000 + 112_000 + 50_000 + 310_000
HEAD = "begin_ns\tend_ns\tkind\tfrom\tto\ttry\trate_bps\tbytes\toutcome\n"


def frames(sender: int, every_ns: float, outcome: str = "delivered") -> list[Sent]:
    """Return transmissions from 5 s to 25 s, one after the other."""
    count = round(20 * S / every_ns)
    ends = [round(5 * S + (number + 1) * every_ns) for number in range(count)]
    return [
        Sent(begin_ns=end - 4_448_000, end_ns=end, sender=sender, frame_bytes=FRAME_BYTES,
             outcome=outcome)
        for end in ends
    ]  # fmt: skip


def each_of_three_ns() -> float:
    """Return the time between two frames of one of three stations, as Bianchi's model has it."""
    return 3 * PAYLOAD_BYTES * 8 * S / saturated(DCF, 3, FRAME_BYTES, PAYLOAD_BYTES).goodput_bps


def right() -> list[Sent]:
    together = [one for sender in (3, 4, 5) for one in frames(sender, each_of_three_ns())]
    return [*frames(0, EACH_NS), *together]


def test_one_sender_by_hand() -> None:
    assert one_sender_bps(DCF, FRAME_BYTES, PAYLOAD_BYTES) == pytest.approx(8000 * S / EACH_NS)


def test_right_ones_agree() -> None:
    alone, together = radio_checks.compared(right(), ASKED, NETWORK.radio)
    assert (alone.check, alone.where) == ("goodput over one hop", "one sender")
    assert alone.wanted == "1.56189 Mbit/s, within 1 %"
    assert together.where == "3 stations in one cell"
    assert together.wanted.endswith("within 5 %")
    assert alone.agrees
    assert together.agrees


@pytest.mark.parametrize(
    ("alone_by", "together_by", "agree"),
    [
        (1.1, 1.0, [False, True]),
        (0.9, 1.0, [False, True]),
        (1.009, 1.0, [True, True]),
        (1.012, 1.0, [False, True]),
        (1.0, 1.1, [True, False]),
        (1.0, 1.04, [True, True]),
        (1.0, 1.06, [True, False]),
        (1.0, 0.94, [True, False]),
    ],
)
def test_a_slower_or_faster_sender_disagrees(
    alone_by: float, together_by: float, agree: list[bool]
) -> None:
    sent = frames(0, EACH_NS * alone_by)
    for sender in (3, 4, 5):
        sent += frames(sender, each_of_three_ns() * together_by)
    found = radio_checks.compared(sent, ASKED, NETWORK.radio)
    assert [check.agrees for check in found] == agree


def test_what_was_not_delivered_is_no_goodput() -> None:
    lost = [*right()[1000:], *frames(0, EACH_NS, "collided")[:1000]]
    alone, together = radio_checks.compared(lost, ASKED, NETWORK.radio)
    assert not alone.agrees
    assert together.agrees


def test_another_radio_has_another_theory() -> None:
    fast = network(("rate: 2 Mbit/s", "rate: 11 Mbit/s"))
    alone, together = radio_checks.compared(right(), ASKED, fast.radio)
    assert not alone.agrees
    assert not together.agrees


#: Of RTS and CTS by hand: 192 us and 20 bytes at 1 Mbit/s, 10 us, 192 us and 14 bytes, 10 us.
CLEARING_NS = 192_000 + 160_000 + 10_000 + 192_000 + 112_000 + 10_000


@pytest.mark.parametrize(
    ("threshold", "rts"),
    [("0 bytes", True), ("1063 bytes", True), ("1064 bytes", False), ("none", False)],
)
def test_frames_longer_than_the_threshold_have_the_theory_of_rts(threshold: str, rts: bool) -> None:
    radio = network(("rate: 2 Mbit/s", f"rate: 2 Mbit/s, rts_threshold: {threshold}")).radio
    dcf = dataclasses.replace(DCF, rts=rts)
    assert radio_checks.dcf(radio, FRAME_BYTES) == dcf
    goodput_bps = saturated(dcf, 3, FRAME_BYTES, PAYLOAD_BYTES).goodput_bps
    alone_ns = EACH_NS + CLEARING_NS * rts
    sent = frames(0, alone_ns)
    for sender in (3, 4, 5):
        sent += frames(sender, 3 * PAYLOAD_BYTES * 8 * S / goodput_bps)
    found = radio_checks.compared(sent, ASKED, radio)
    assert [check.agrees for check in found] == [True, True]
    other = "none" if rts else "0 bytes"
    radio = network(("rate: 2 Mbit/s", f"rate: 2 Mbit/s, rts_threshold: {other}")).radio
    assert [check.agrees for check in radio_checks.compared(sent, ASKED, radio)] == [False, False]


def test_the_limits_are_the_radios() -> None:
    keys = "rate: 2 Mbit/s, attempts: 5, long_attempts: 2"
    dcf = radio_checks.dcf(network(("rate: 2 Mbit/s", keys)).radio, FRAME_BYTES)
    assert dcf == dataclasses.replace(DCF, retry_limit=5, long_retry_limit=2)


@pytest.mark.parametrize("silent", [[0], [3, 4, 5]])
def test_nothing_sent_is_told(silent: list[int]) -> None:
    sent = [one for one in right() if one.sender not in silent]
    with pytest.raises(RunError, match="nothing was sent"):
        radio_checks.compared(sent, ASKED, NETWORK.radio)


def test_what_was_sent_before_and_after_does_not_count() -> None:
    wanted = radio_checks.compared(right(), ASKED, NETWORK.radio)
    inside = [one for one in right() if 10 * S <= one.end_ns < 20 * S]
    assert radio_checks.compared(inside, ASKED, NETWORK.radio) == wanted


def left(folder: Path, sent: list[Sent], asked: object = None) -> Path:
    """Leave what a calibrating cell leaves."""
    (folder / "raw" / "radio").mkdir(parents=True)
    (folder / radio_checks.CALIBRATION).write_text(json.dumps(ASKED if asked is None else asked))
    lines = [
        f"{one.begin_ns}\t{one.end_ns}\tdata\t{one.sender}\t1\t1\t2000000\t{one.frame_bytes}"
        f"\t{one.outcome}\n"
        for one in sent
    ]
    beacon = "1024000768\t1024872768\tmanagement\t0\t-1\t1\t1000000\t85\t\n"
    (folder / run_folder.FRAMES).write_text(HEAD + beacon + "".join(lines))
    return folder


def test_a_cells_files(tmp_path: Path) -> None:
    found = radio_checks.read(left(tmp_path, right()), NETWORK)
    assert found == radio_checks.compared(right(), ASKED, NETWORK.radio)


def test_a_cell_that_sent_nothing(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match=r"not what a medium writes.*nothing was sent"):
        radio_checks.read(left(tmp_path, []), NETWORK)


@pytest.mark.parametrize("line", ["x\t1\tdata\t0\t1\t1\t2\t1064\tdelivered\n", "\t" * 8 + "\n"])
def test_a_damaged_list(tmp_path: Path, line: str) -> None:
    left(tmp_path, right())
    damaged = line.replace("\t\t\t", "\t1\tdata\t", 1)
    with (tmp_path / run_folder.FRAMES).open("a") as file:
        file.write(damaged)
    with pytest.raises(ParseError, match=r"frames\.tsv: not what a medium writes"):
        radio_checks.read(tmp_path, NETWORK)


@pytest.mark.parametrize(
    "damage",
    [{"alone": -1}, {"alone": "0"}, {"sharing": 3}, {"from_ns": None}, {"to_ns": 1.5},
     {"payload_bytes": True}],
)  # fmt: skip
def test_damaged_settings(tmp_path: Path, damage: dict[str, object]) -> None:
    left(tmp_path, right(), {**ASKED, **damage})
    with pytest.raises(ParseError, match=r"calibration\.json"):
        radio_checks.read(tmp_path, NETWORK)


@pytest.mark.parametrize("damage", [{"to_ns": 10 * S}, {"to_ns": 9 * S}, {"sharing": []}])
def test_settings_that_measure_nothing(tmp_path: Path, damage: dict[str, object]) -> None:
    left(tmp_path, right(), {**ASKED, **damage})
    with pytest.raises(ParseError, match="nothing was sent"):
        radio_checks.read(tmp_path, NETWORK)


@pytest.mark.parametrize("name", [radio_checks.CALIBRATION, run_folder.FRAMES])
def test_a_missing_file(tmp_path: Path, name: str) -> None:
    (left(tmp_path, right()) / name).unlink()
    with pytest.raises(ParseError):
        radio_checks.read(tmp_path, NETWORK)
