"""ACK, CTS, tries and the quiet kept for others: one hand-made exchange for each rule.

IEEE 802.11-1999, 9.2.5.3 to 9.2.8. No backoff takes time here, so every time is worked out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.radio.driven_medium import (
    ANSWER,
    DIFS,
    RTS,
    SIFS,
    SURE,
    data_us,
    drive,
    frame,
    to_all_us,
)  # fmt: skip

ALWAYS: dict[str, Any] = {**SURE, "rts_threshold_bytes": 0}


@pytest.mark.parametrize(
    ("rate_bps", "answer_us"), [(1_000_000, 304), (2_000_000, 248), (11_000_000, 202.182)]
)
def test_acknowledgement_comes_after_sifs_at_the_basic_rate(
    built: Any, tmp_path: Path, rate_bps: int, answer_us: float
) -> None:
    """14 bytes: 192 + 112 = 304 at 1 Mbit/s, 192 + 56 at 2, 192 + 10.1818... at 11."""
    ran = drive(built, tmp_path, [0, 100], [frame(1000, 0, 1, 100)], ack_rate_bps=rate_bps)
    data, ack = ran.air
    # 192 + 104 * 4 = 608.
    assert ran.what()[0] == ("data", 0, 1000, 1608, "delivered")
    assert (data["rate_bps"], data["bytes"]) == (2_000_000, 104)
    assert (ack["kind"], ack["from"], ack["to"], ack["begin"]) == ("ack", 1, 0, 1618)
    assert (ack["rate_bps"], ack["bytes"], ack["outcome"]) == (rate_bps, 14, "delivered")
    assert ack["end"] == pytest.approx(1618 + answer_us, abs=0.001)
    assert ran.heard_back() == [
        ("delivered", 0, 1, 1608, None), ("acked", 0, 0, ack["end"], 1),
    ]  # fmt: skip


@pytest.mark.parametrize("rts", [False, True], ids=["ACK", "CTS"])
@pytest.mark.parametrize(("rate_bps", "answer_us"), [(1_000_000, 304), (2_000_000, 248)])
def test_answer_is_waited_for_sifs_and_its_own_length(
    built: Any, tmp_path: Path, rate_bps: int, answer_us: int, rts: bool
) -> None:
    """Then DIFS, and the next try; the kernel is told when the seventh has not been answered."""
    options = {**(ALWAYS if rts else SURE), "ack_rate_bps": rate_bps}
    ran = drive(built, tmp_path, [0, 100], [frame(1000, 0, -2, 100)], **options)
    # An RTS is 192 + 160 = 352 at 1 Mbit/s, 192 + 80 at 2; the frame 608.
    lasts = {True: {304: 352, 248: 272}[answer_us], False: 608}[rts]
    step = lasts + SIFS + answer_us + DIFS
    assert ran.begins(0) == [1000 + number * step for number in range(7)]
    assert {row["end"] - row["begin"] for row in ran.air} == {lasts}
    assert ran.heard_back() == [("done", 0, 0, 1000 + 7 * step - DIFS, 7)]


@pytest.mark.parametrize(
    ("threshold", "tries"), [(3000, ["data"] * 3), (104, ["data"] * 3), (103, ["rts"] * 3)]
)
def test_frames_without_rts_and_rts_without_cts_end_with_the_short_limit(
    built: Any, tmp_path: Path, threshold: int, tries: list[str]
) -> None:
    """A frame of 104 bytes with its checksum to nobody; the long limit is another."""
    ran = drive(
        built, tmp_path, [0, 100], [frame(1000, 0, -2, 100)], **SURE,
        rts_threshold_bytes=threshold, retry_limit=3, long_retry_limit=5,
    )  # fmt: skip
    assert [row["kind"] for row in ran.air] == tries


@pytest.mark.parametrize(("short", "long"), [(7, 4), (2, 3)])
def test_frames_after_rts_end_with_the_long_limit(
    built: Any, tmp_path: Path, short: int, long: int
) -> None:
    """Radio 2, out of 0's hearing and 280 m from 1, sends into each of the frames.

    RTS, CTS and frame begin 0, 362 and 676 after each other's first and the frame lasts
    192 + 2004 * 4 = 8208: the next RTS is 676 + 8208 + 364 = 9248 after the one before.
    """
    times = [1000 + number * 9248 for number in range(long)]
    lines = [frame(1000, 0, 1, 2000), *[frame(at + 5000, 2, -1, 24) for at in times]]
    ran = drive(
        built, tmp_path, [0, 200, 480], lines, sense_m=300, retry_limit=short,
        long_retry_limit=long, **ALWAYS,
    )  # fmt: skip
    expected = []
    for at in times:
        expected += [
            ("rts", 0, at, at + 352, "delivered"), ("cts", 1, at + 362, at + 666, "delivered"),
            ("data", 0, at + 676, at + 8884, "collided"),
        ]  # fmt: skip
    assert [row for row in ran.what() if row[1] != 2] == expected
    assert [one for one in ran.heard_back() if one[1] == 0] == [
        ("done", 0, 0, times[-1] + 8884 + SIFS + ANSWER, long)
    ]


def test_frame_whose_acknowledgement_was_lost_is_given_to_the_kernel_once(
    built: Any, tmp_path: Path
) -> None:
    """Radio 2, 280 m from 0 and 480 from 1, begins with 0 and sends for longer than 0's ACK lasts.

    Both waited for radio 3's frame to all, which ends at 1000 + 192 + 104 * 8 = 2024. From 2074
    radio 0 sends 608 and radio 2, to all, 192 + 504 * 8 = 4224: to 2682 and 6298. The ACK, from
    2692 to 2996, is lost at 0, which tries again DIFS after 2's end.
    """
    lines = [frame(1000, 3, -1, 100), frame(1100, 0, 1, 100), frame(1100, 2, -1, 500)]
    ran = drive(built, tmp_path, [0, 200, -280, -140], lines, sense_m=300, **SURE)
    assert ran.what() == [
        ("broadcast", 3, 1000, 2024, ""),
        ("data", 0, 2074, 2682, "delivered"), ("ack", 1, 2692, 2996, "collided"),
        ("broadcast", 2, 2074, 6298, ""),
        ("data", 0, 6348, 6956, "duplicate"), ("ack", 1, 6966, 7270, "delivered"),
    ]  # fmt: skip
    assert [row["try"] for row in ran.sent(0)] == [1, 2]
    assert [one for one in ran.heard_back() if one[1] == 1] == [
        ("delivered", 1, 1, 2682, None), ("acked", 1, 0, 7270, 2),
    ]  # fmt: skip
    assert (ran.totals["taken_in"][1], ran.totals["acks_due"][1]) == (1, 2)


def test_next_frame_to_the_same_radio_is_no_duplicate(built: Any, tmp_path: Path) -> None:
    lines = [frame(1000, 0, 1, 100), frame(9000, 0, 1, 100)]
    ran = drive(built, tmp_path, [0, 100], lines, **SURE)
    assert [row["outcome"] for row in ran.sent(0)] == ["delivered"] * 2
    assert [one["frame"] for one in ran.told if one["event"] == "delivered"] == [0, 1]


def test_acknowledgement_is_sent_into_a_medium_that_is_busy(built: Any, tmp_path: Path) -> None:
    """Radio 2, 280 m from 1, begins 5 us after 0's frame has ended: 1's ACK is not put off."""
    lines = [frame(1000, 0, 1, 100), frame(1613, 2, -1, 100)]
    ran = drive(built, tmp_path, [0, 200, 480], lines, sense_m=300, **SURE)
    assert ran.begins(2) == [1613]
    assert ran.what()[1] == ("ack", 1, 1618, 1922, "delivered")


def test_frame_overheard_keeps_quiet_for_its_acknowledgement(built: Any, tmp_path: Path) -> None:
    """Radio 2 does not hear 1's ACK: it begins DIFS after that would have ended, at 1922."""
    lines = [frame(1000, 0, 1, 100), frame(1100, 2, -1, 100), frame(1700, 3, -1, 100)]
    ran = drive(built, tmp_path, [0, 200, -200, -480], lines, sense_m=250, **SURE)
    assert ran.begins(2) == [1608 + SIFS + ANSWER + DIFS]
    assert ran.begins(3) == [1700], "it did not hear the frame"


def test_rts_overheard_keeps_quiet_to_the_end_of_the_acknowledgement(
    built: Any, tmp_path: Path
) -> None:
    """Also where no CTS and no frame follow: it asked for three SIFS, both answers and 4208."""
    lines = [frame(1000, 0, -2, 1000), frame(1400, 1, -1, 100)]
    ran = drive(built, tmp_path, [0, 100], lines, retry_limit=1, **ALWAYS)
    assert data_us(1000) == 4208
    assert ran.begins(1) == [1000 + RTS + 3 * SIFS + 2 * ANSWER + 4208 + DIFS]


def test_cts_overheard_keeps_quiet_to_the_end_of_the_acknowledgement(
    built: Any, tmp_path: Path
) -> None:
    """Radio 1 hears 2's CTS and not what 0 sends; 2 leaves after it, so there is no ACK to hear.

    RTS to 1352, CTS to 1666, the frame to 1676 + 8208 = 9884, its ACK would last to 10198.
    """
    lines = [frame(1000, 0, 2, 2000), frame(1800, 1, -1, 100)]
    ran = drive(
        built, tmp_path, [0, 400, 200], lines, leaves_us=1670, sense_m=300, long_retry_limit=1,
        **ALWAYS,
    )  # fmt: skip
    assert [(row["kind"], row["outcome"]) for row in ran.sent(0)[:2]] == [
        ("rts", "delivered"), ("data", "out_of_range"),
    ]  # fmt: skip
    assert ran.begins(1) == [10198 + DIFS]


def test_radio_that_keeps_quiet_gives_no_cts(built: Any, tmp_path: Path) -> None:
    """Radio 2 has 1's CTS; all seven RTS of 3, which hears 2 alone, come before 10198.

    The first at 2000, each 352 + 364 = 716 after the one before: the last ends at 6648.
    """
    lines = [frame(1000, 0, 1, 2000), frame(2000, 3, 2, 100)]
    ran = drive(built, tmp_path, [0, 200, 400, 640], lines, sense_m=300, **ALWAYS)
    assert ran.begins(3) == [2000 + number * 716 for number in range(7)]
    assert {row["outcome"] for row in ran.sent(3)} == {"delivered"}
    assert ran.sent(2) == []
    assert ran.totals["cts_refused"] == [0, 0, 7, 0]
    assert ("done", 1, 3, 6648 + SIFS + ANSWER, 7) in ran.heard_back()
    assert ("acked", 0, 0, 10198, 1) in ran.heard_back()


def test_cts_is_given_again_once_the_quiet_is_over(built: Any, tmp_path: Path) -> None:
    """The same, with tries enough.

    The twelfth RTS, from 2000 + 11 * 716 = 9876 to 10228, collides at 2 with 1's ACK, which ends at
    10198; the next ends at 10944 and is answered.
    """
    lines = [frame(1000, 0, 1, 2000), frame(2000, 3, 2, 100)]
    ran = drive(built, tmp_path, [0, 200, 400, 640], lines, sense_m=300, retry_limit=20, **ALWAYS)
    cts = ran.sent(2)[0]
    assert (cts["kind"], cts["begin"], cts["end"]) == ("cts", 10954, 10954 + ANSWER)
    assert [row["outcome"] for row in ran.sent(3)[:13]] == (
        ["delivered"] * 11 + ["collided", "delivered"]
    )
    assert ran.totals["cts_refused"] == [0, 0, 11, 0]


def test_count_of_rts_tries_begins_anew_after_a_cts(built: Any, tmp_path: Path) -> None:
    """Radio 2 disturbs an RTS, then the frame, then an RTS: two RTS in vain are never in a row.

    RTS from 1000, disturbed; next from 1716. Its frame begins at 1716 + 676 = 2392 and is
    disturbed; the next RTS begins at 1716 + 9248 = 10964 and is disturbed; then one at 11680.
    """
    lines = [frame(1000, 0, 1, 2000)]
    lines += [frame(at, 2, -1, 24) for at in (1100, 5000, 11064)]
    ran = drive(
        built, tmp_path, [0, 200, 480], lines, sense_m=300, retry_limit=2, long_retry_limit=4,
        **ALWAYS,
    )  # fmt: skip
    assert [(row["kind"], row["begin"], row["outcome"]) for row in ran.sent(0)] == [
        ("rts", 1000, "collided"), ("rts", 1716, "delivered"), ("data", 2392, "collided"),
        ("rts", 10964, "collided"), ("rts", 11680, "delivered"), ("data", 12356, "delivered"),
    ]  # fmt: skip
    assert to_all_us(24) == 416
    assert [one[0] for one in ran.heard_back() if one[1] == 0] == ["delivered", "acked"]
