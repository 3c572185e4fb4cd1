"""The medium's rules without a kernel, under sanitizers: exchanges by hand, then loads at random.

Times are in microseconds. Each rule on its own: test_medium_access, _answers and _hearing.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from mininet_topos.radio.audit import mistakes
from tests.support.radio.driven_medium import (
    ANSWER,
    DIFS,
    RTS,
    SIFS,
    SLOT,
    US,
    data_us,
    drive,
    frame,
)


def test_exchange_with_rts_is_timed_as_the_standard_has_it(built: Any, tmp_path: Path) -> None:
    ran = drive(built, tmp_path, [0, 100], [frame(1000, 0, 1, 1000)], rts_threshold_bytes=0)
    at, expected = 1000, []
    for kind, sender, lasts in (
        ("rts", 0, RTS), ("cts", 1, ANSWER), ("data", 0, data_us(1000)), ("ack", 1, ANSWER),
    ):  # fmt: skip
        expected.append((kind, sender, at, at + lasts, "delivered"))
        at += lasts + SIFS
    assert [
        (row["kind"], row["from"], row["begin"], row["end"], row["outcome"]) for row in ran.air
    ] == expected
    assert [(one["event"], one["radio"]) for one in ran.told] == [("delivered", 1), ("acked", 0)]
    assert ran.told[1]["t_ns"] == (at - SIFS) * US
    assert mistakes(ran.totals) == []


@pytest.mark.parametrize(("frame_bytes", "preceded"), [(496, False), (497, True)])
def test_threshold_is_of_the_frame_with_its_checksum(
    built: Any, tmp_path: Path, frame_bytes: int, preceded: bool
) -> None:
    lines = [frame(1000, 0, 1, frame_bytes), frame(9000, 0, -1, 1000)]
    ran = drive(built, tmp_path, [0, 100], lines, rts_threshold_bytes=500)
    assert ("rts" in {row["kind"] for row in ran.air}) == preceded
    assert [row["kind"] for row in ran.air][-1] == "broadcast"


@pytest.mark.parametrize("at_m", [-200, 400], ids=["hears RTS only", "hears CTS only"])
def test_who_hears_rts_or_cts_is_quiet_to_the_end_of_the_ack(
    built: Any, tmp_path: Path, at_m: float
) -> None:
    """A third radio, out of the other's hearing, is handed a frame as the long one begins."""
    lines = [frame(1000, 0, 1, 2000), frame(1000 + RTS + ANSWER + 3 * SIFS, 2, -1, 100)]
    ran = drive(built, tmp_path, [0, 200, at_m], lines, rts_threshold_bytes=0, sense_m=300)
    (third,) = ran.sent(2)
    ack = next(row for row in ran.air if row["kind"] == "ack")
    waited = third["begin"] - ack["end"] - DIFS
    assert ack["outcome"] == "delivered"
    assert waited >= 0
    assert waited % SLOT == 0


def test_broadcast_that_is_heard_meanwhile_does_not_end_the_quiet(
    built: Any, tmp_path: Path
) -> None:
    """Radio 2 hears the CTS and not the frame; 3, which hears 2 alone, sends to all meanwhile."""
    clear = 1000 + RTS + ANSWER + 2 * SIFS
    lines = [frame(1000, 0, 1, 2000), frame(clear + 100, 3, -1, 100), frame(clear + 4000, 2, 1, 99)]
    ran = drive(built, tmp_path, [0, 200, 400, 640], lines, rts_threshold_bytes=1000, sense_m=300)
    (broadcast,) = ran.sent(3)
    ack = next(row for row in ran.air if row["kind"] == "ack" and row["to"] == 0)
    assert broadcast["end"] < clear + 4000 < ack["begin"]
    assert ran.totals["group_delivered"][3] == 1
    assert ran.sent(2)[0]["begin"] >= ack["end"] + DIFS


@pytest.mark.parametrize("apart", [False, True], ids=["one channel", "two channels"])
def test_two_radios_of_a_node_take_turns_on_one_channel(
    built: Any, tmp_path: Path, apart: bool
) -> None:
    """Radios 0 and 2 are of one node: while one sends the other hears it and waits."""
    lines = [frame(1000, 0, 1, 1000), frame(1100, 2, 3, 1000)]
    channels = [2412, 2412, 2437, 2437] if apart else None
    ran = drive(built, tmp_path, [0, 100], lines, channels, seconds=(0, 1))
    (first,), (second,) = ran.sent(0), ran.sent(2)
    ack = next(row for row in ran.air if row["kind"] == "ack" and row["from"] == 1)
    assert first["begin"] == 1000
    if apart:
        assert second["begin"] == 1100
    else:
        assert second["begin"] >= ack["end"] + DIFS
    assert (first["outcome"], second["outcome"]) == ("delivered", "delivered")
    assert mistakes(ran.totals) == []


@pytest.mark.parametrize("capture_ratio", [0, 10])
@pytest.mark.parametrize("apart", [False, True], ids=["one channel", "two channels"])
def test_a_radio_that_sends_deafens_the_other_of_its_node(
    built: Any, tmp_path: Path, apart: bool, capture_ratio: int
) -> None:
    """Radios 0 and 3 are of one node: 1 sends to 3 in some of the instants in which 0 sends.

    On one channel both have waited for 2 each time, and some of their backoffs end in one slot; on
    two, 1 is given its frame while 0 sends.
    """
    unicast_us = 12_000 if apart else 2000
    lines = [
        frame(at_us + after_us, sender, to, 1000)
        for at_us in range(1000, 100 * 40_000, 40_000)
        for after_us, sender, to in ((0, 2, -1), (1000, 0, -1), (unicast_us, 1, 3))
    ]
    channels = [2412, 2437, 2412, 2437] if apart else None
    ran = drive(
        built, tmp_path, [0, 100, 200], lines, channels, seconds=(0,), capture_ratio=capture_ratio
    )
    broadcasts = ran.sent(0)
    met = [
        row["outcome"]
        for row in ran.sent(1)
        if any(row["begin"] < other["end"] and other["begin"] < row["end"] for other in broadcasts)
    ]
    assert len(met) >= 2
    assert set(met) == ({"delivered"} if apart else {"collided"})
    assert ran.totals["group_other_channel"][0] == (200 if apart else 0)
    assert ran.totals["acked"][1] == 100, "in the end all arrive"
    assert mistakes(ran.totals) == []


def test_rts_to_nobody_is_sent_seven_times_in_growing_windows(built: Any, tmp_path: Path) -> None:
    ran = drive(built, tmp_path, [0, 100], [frame(1000, 0, -2, 1000)], rts_threshold_bytes=0)
    assert [(row["kind"], row["try"], row["outcome"]) for row in ran.air] == [
        ("rts", number, "no_such_radio") for number in range(1, 8)
    ]
    for before, after, window in zip(
        ran.air, ran.air[1:], (63, 127, 255, 511, 1023, 1023), strict=False
    ):
        slots = (after["begin"] - before["end"] - SIFS - ANSWER - DIFS) / SLOT
        assert 0 <= slots <= window
        assert slots == int(slots)
    (told,) = ran.told
    assert (told["event"], told["tries"]) == ("done", 7)
    assert mistakes(ran.totals) == []


def test_kernel_is_told_of_the_tries_of_both_kinds(built: Any, tmp_path: Path) -> None:
    """Who leaves behind its CTS: the frame once, then RTS until there have been seven in a row."""
    away_us = 1000 + RTS + SIFS + ANSWER
    ran = drive(
        built, tmp_path, [0, 100], [frame(1000, 0, 1, 1000)], leaves_us=away_us,
        rts_threshold_bytes=0,
    )  # fmt: skip
    assert [(row["kind"], row["outcome"]) for row in ran.air] == [
        ("rts", "delivered"), ("cts", "delivered"), ("data", "out_of_range"),
        *[("rts", "out_of_range")] * 7,
    ]  # fmt: skip
    assert [(one["event"], one["tries"]) for one in ran.told] == [("done", 8)]
    assert mistakes(ran.totals) == []


def random_lines(draw: random.Random, radios: int) -> list[str]:
    at_us, lines = 0, []
    for _ in range(draw.randrange(50, 400)):
        at_us += draw.choice((0, 0, 1, 10, 50, 500, 5000))
        to = draw.choice([-2, -1, *range(radios)])
        sender = draw.choice([radio for radio in range(radios) if radio != to])
        lines.append(frame(at_us, sender, to, draw.choice((24, 60, 300, 1500, 2304))))
    return lines


@pytest.mark.parametrize("seed", range(40))
def test_loads_at_random_add_up(built: Any, tmp_path: Path, seed: int) -> None:
    """Whatever is handed in, every frame has one end, and all counters close; also cut off."""
    draw = random.Random(seed)
    radios = draw.randrange(2, 9)
    twins = seed % 3  # nodes with two radios
    x_m = [draw.uniform(0, 900) for _ in range(radios)][: max(twins, radios - twins)]
    seconds = tuple(range(radios - len(x_m)))
    channels = [draw.choice((2412, 2412, 2412, 2437)) for _ in range(radios)]
    settings = {
        "rts_threshold_bytes": draw.choice((0, 200, 1000, 3000)), "seed": seed,
        "capture_ratio": draw.choice((0, 10)), "queue_frames": draw.choice((1, 5, 50)),
        "retry_limit": draw.choice((1, 2, 7)), "long_retry_limit": draw.choice((1, 4)),
        "sense_m": draw.choice((250, 550)), "ack_rate_bps": draw.choice((1000000, 11000000)),
    }  # fmt: skip
    lines = random_lines(draw, radios)
    ran = drive(built, tmp_path, x_m, lines, channels, seconds=seconds, **settings)
    assert mistakes(ran.totals) == []
    ends = [one["frame"] for one in ran.told if one["event"] in ("acked", "done")]
    assert sorted(ends) == list(range(len(lines)))
    delivered = [(one["frame"], one["radio"]) for one in ran.told if one["event"] == "delivered"]
    assert len(set(delivered)) == len(delivered)
    assert sum(ran.totals["waiting_at_end"]) == 0
    cut_us = draw.randrange(1, int(lines[-1].split()[1]) // US + 20_000)
    kept = [line for line in lines if int(line.split()[1]) <= cut_us * US]
    kept.append(f"end {cut_us * US}")
    cut = drive(built, tmp_path, x_m, kept, channels, seconds=seconds, **settings)
    assert mistakes(cut.totals) == []
