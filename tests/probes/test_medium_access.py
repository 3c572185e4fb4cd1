"""Who may send when: one hand-made exchange for each rule of contention.

IEEE 802.11-1999, 9.2.5. With ``SURE`` no backoff takes time; where one is drawn, either the same
exchange without the disturbance tells it, or many are held against their window: of 100 even draws
from 0 to W, all lie in the lower half once in 2^100 times.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.radio.driven_medium import (
    ANSWER,
    DIFS,
    EIFS,
    SIFS,
    SLOT,
    SURE,
    Drove,
    data_us,
    drive,
    frame,
    to_all_us,
)

SEEDS = range(20)


def draws_fill(slots: list[float], window: int) -> None:
    """Assert that these are draws from 0 to the window, and from no smaller one."""
    assert len(slots) >= 100
    assert all(one == int(one) for one in slots)
    assert 0 <= min(slots) <= window / 8
    assert window / 2 < max(slots) <= window


@pytest.mark.parametrize("seed", SEEDS)
def test_frame_that_finds_the_medium_idle_is_sent_at_once(
    built: Any, tmp_path: Path, seed: int
) -> None:
    ran = drive(built, tmp_path, [0, 100], [frame(1000, 0, -1, 100)], seed=seed)
    # 192 + 104 * 8 = 1024.
    assert ran.what() == [("broadcast", 0, 1000, 2024, "")]


@pytest.mark.parametrize(
    ("after_us", "begins_us"), [(0, DIFS), (49, DIFS), (50, 50), (51, 51)], ids=str
)
def test_idle_means_for_difs(built: Any, tmp_path: Path, after_us: int, begins_us: int) -> None:
    """Radio 1 is handed a frame so long after the end of another's, 192 + 104 * 8 = 1024."""
    lines = [frame(1000, 0, -1, 100), frame(2024 + after_us, 1, -1, 100)]
    ran = drive(built, tmp_path, [0, 100], lines, **SURE)
    assert ran.begins(1) == [2024 + begins_us]


def test_backoffs_after_a_busy_medium_are_of_the_first_window(built: Any, tmp_path: Path) -> None:
    """Radio 1 is handed a frame while 0 sends, 200 times: DIFS and 0 to 31 slots after its end."""
    times = range(1000, 200 * 10_000, 10_000)
    lines = [line for at in times for line in (frame(at, 0, -1, 100), frame(at + 9, 1, -1, 100))]
    ran = drive(built, tmp_path, [0, 100], lines)
    pairs = zip(ran.sent(0), ran.sent(1), strict=True)
    draws_fill([(second["begin"] - first["end"] - DIFS) / SLOT for first, second in pairs], 31)


@pytest.mark.parametrize(
    ("to", "at_m", "after_us", "quiet_us"),
    [(-1, 200, 2024 + 9, 2024 + DIFS), (-1, 400, 2024 + 200, 2024 + EIFS),
     (-2, 200, 1608 + 200, 1608 + SIFS + ANSWER + DIFS),
     (-2, 200, 1608 + 330, 1608 + SIFS + ANSWER + DIFS)],
    ids=["in DIFS", "in EIFS", "in NAV", "in DIFS after NAV"],
)  # fmt: skip
def test_who_comes_before_the_medium_counts_as_idle_backs_off(
    built: Any, tmp_path: Path, to: int, at_m: int, after_us: int, quiet_us: int
) -> None:
    """Radio 0 sends to all, 1024, or to one that is not there, 608; then 1 is handed a frame."""
    times = range(0, 200 * 50_000, 50_000)
    lines = [
        line
        for at in times
        for line in (frame(at + 1000, 0, to, 100), frame(at + after_us, 1, -1, 100))
    ]
    ran = drive(built, tmp_path, [0, at_m], lines, retry_limit=1)
    begins = zip(times, ran.begins(1), strict=True)
    draws_fill([(begin - at - quiet_us) / SLOT for at, begin in begins], 31)


@pytest.mark.parametrize("to", [-1, 1], ids=["to all", "acknowledged"])
def test_backoff_follows_every_frame(built: Any, tmp_path: Path, to: int) -> None:
    """Two frames handed in together, and a third once no backoff can still last: at once."""
    lines = [
        line
        for at in range(1000, 200 * 10_000, 10_000)
        for line in (frame(at, 0, to, 100), frame(at, 0, to, 100), frame(at + 8000, 0, to, 100))
    ]
    ran = drive(built, tmp_path, [0, 100], lines)
    lasts = to_all_us(100) if to < 0 else data_us(100) + SIFS + ANSWER
    sent = ran.begins(0)
    draws_fill(
        [(second - first - lasts - DIFS) / SLOT for first, second in zip(
            sent[::3], sent[1::3], strict=True
        )], 31,
    )  # fmt: skip
    assert sent[2::3] == [at + 8000 for at in range(1000, 200 * 10_000, 10_000)]


def test_frame_that_comes_during_the_backoff_after_another_waits_for_its_rest(
    built: Any, tmp_path: Path
) -> None:
    """Handed in 1 to 701 us after the end of a frame: DIFS and what was drawn then, not anew."""
    for seed in SEEDS:
        together = [frame(1000, 0, -1, 100), frame(1000, 0, -1, 100)]
        due = drive(built, tmp_path, [0, 100], together, seed=seed).begins(0)[1]
        for after_us in (1, 101, 401, 701):
            lines = [frame(1000, 0, -1, 100), frame(2024 + after_us, 0, -1, 100)]
            ran = drive(built, tmp_path, [0, 100], lines, seed=seed)
            assert ran.begins(0)[1] == max(due, 2024 + after_us)


@pytest.mark.parametrize("seed", SEEDS)
def test_backoff_stands_still_and_goes_on_with_its_rest(
    built: Any, tmp_path: Path, seed: int
) -> None:
    """Radio 1 backs off; 2, out of 0's hearing, sends 7 us into the sixth slot of that.

    0 sends from 1000 to 2024, so slots begin at 2024 + 50 = 2074. 2 begins at 2074 + 5 * 20 + 7 =
    2181: five whole slots are over, the sixth counts again in full, after 2's end and DIFS.
    """
    places, sent = [0.0, 200.0, 400.0], [frame(1000, 0, -1, 100), frame(1100, 1, -1, 100)]
    alone = drive(built, tmp_path, places, sent, seed=seed, sense_m=300)
    slots = (alone.begins(1)[0] - 2074) / SLOT
    lines = [*sent, frame(2181, 2, -1, 200)]
    ran = drive(built, tmp_path, places, lines, seed=seed, sense_m=300)
    # 192 + 204 * 8 = 1824: to 4005.
    assert ran.begins(2) == ([2181] if slots > 5 else ran.begins(2))
    expected = 4005 + DIFS + (slots - 5) * SLOT if slots > 5 else 2074 + slots * SLOT
    assert ran.begins(1) == [expected]


def waits(ran: Drove) -> list[list[float]]:
    """Return the slots before each further try of each frame to nobody."""
    found: list[list[float]] = []
    for before, after in pairwise(ran.sent(0)):
        slots = (after["begin"] - before["end"] - EIFS) / SLOT
        if after["try"] == 1:
            continue
        if after["try"] == 2:
            found.append([])
        found[-1].append(slots)
    return found


@pytest.mark.parametrize("rts", [{}, {"rts_threshold_bytes": 0}], ids=["frames", "RTS"])
def test_window_doubles_at_each_try_up_to_the_largest(
    built: Any, tmp_path: Path, rts: dict[str, Any]
) -> None:
    """100 frames to nobody, nine tries each: windows 63, 127, 255, 511, 1023 and ever 1023."""
    lines = [frame(1000 + i * 1_000_000, 0, -2, 100) for i in range(100)]
    ran = drive(built, tmp_path, [0, 100], lines, retry_limit=9, **rts)
    assert len(ran.air) == 900
    for slots, window in zip(
        zip(*waits(ran), strict=True), (63, 127, 255, 511, 1023, 1023, 1023, 1023), strict=True
    ):
        draws_fill(list(slots), window)


def test_backoff_is_drawn_from_none_to_the_whole_window(built: Any, tmp_path: Path) -> None:
    """Windows 3, 7, 7 from a first one of 1 up to 7: each of their values is seen, no other."""
    lines = [frame(1000 + i * 1_000_000, 0, -2, 100) for i in range(200)]
    ran = drive(built, tmp_path, [0, 100], lines, retry_limit=4, cw_min=1, cw_max=7)
    seen = [set(slots) for slots in zip(*waits(ran), strict=True)]
    assert seen == [set(range(4)), set(range(8)), set(range(8))]


def test_window_is_the_first_again_after_a_frame_that_was_given_up(
    built: Any, tmp_path: Path
) -> None:
    """Frames to nobody in pairs: the second's first try follows the first's seventh."""
    lines = [frame(1000 + i // 2 * 1_000_000, 0, -2, 100) for i in range(200)]
    ran = drive(built, tmp_path, [0, 100], lines)
    sent = ran.sent(0)
    assert [row["try"] for row in sent] == [1, 2, 3, 4, 5, 6, 7] * 200
    gaps = [
        (sent[i + 7]["begin"] - sent[i + 6]["end"] - EIFS) / SLOT for i in range(0, len(sent), 14)
    ]
    draws_fill(gaps, 31)


def test_window_is_the_first_again_after_an_acknowledgement(built: Any, tmp_path: Path) -> None:
    """Radio 2, which 0 does not hear, sends to all for 192 + 2304 * 8 = 18 624: 0's tries collide.

    They fail once in 608 + 364 + a backoff, so several do; then one is acknowledged.
    """
    lines = [
        line
        for at in range(1000, 120 * 400_000, 400_000)
        for line in (frame(at, 2, -1, 2300), *[frame(at + 100, 0, 1, 100)] * 2)
    ]
    ran = drive(built, tmp_path, [0, 200, 400], lines, sense_m=300, retry_limit=99)
    slots = []
    for ack, after in pairwise([row for row in ran.air if row["kind"] != "broadcast"]):
        if ack["kind"] == "ack" and ack["outcome"] == "delivered" and after["begin"] < (
            ack["end"] + 100_000
        ):  # fmt: skip
            slots.append((after["begin"] - ack["end"] - DIFS) / SLOT)
    tries = [one["tries"] for one in ran.told if one["event"] == "acked"]
    assert min(tries[::2]) >= 3
    assert len(slots) == 120
    draws_fill(slots, 31)


def test_cts_leaves_the_window_as_it_is(built: Any, tmp_path: Path) -> None:
    """Radio 2, 280 m from 1, disturbs RTS, and frames after their CTS: the window goes on to grow.

    After a frame without ACK and f RTS without CTS it is 32 * 2^(f + 1) - 1, not 63.
    """
    lines = [frame(1000 + i * 3000, 2, -1, 150) for i in range(600)]
    lines[1:1] = [frame(1000 + i, 0, 1, 1000) for i in range(30)]
    ran = drive(
        built, tmp_path, [0, 200, 480], sorted(lines, key=lambda line: int(line.split()[1])),
        sense_m=300, rts_threshold_bytes=0, retry_limit=99, long_retry_limit=99,
    )  # fmt: skip
    failed, beyond = 0, 0
    sent = ran.sent(0)
    for row, after in pairwise(sent):
        if row["kind"] == "data" and row["outcome"] == "delivered":
            failed = 0
        elif row["outcome"] != "delivered":
            failed += 1
            slots = (after["begin"] - row["end"] - EIFS) / SLOT
            assert 0 <= slots <= min(1023, 32 * 2**failed - 1)
            beyond += row["kind"] == "data" and failed > 1 and slots > 63
    assert beyond >= 5


def test_last_frames_in_are_dropped_when_the_queue_is_full(built: Any, tmp_path: Path) -> None:
    """One is sent and three wait: of six the last two go, and the kernel is told at once."""
    lines = [frame(1000, 0, -1, 100) for _ in range(6)]
    ran = drive(built, tmp_path, [0, 100], lines, queue_frames=3, **SURE)
    # 1024 and DIFS each: ends at 2024, 3098, 4172, 5246.
    assert [one for one in ran.heard_back() if one[0] == "done"] == [
        ("done", 4, 0, 1000, 0), ("done", 5, 0, 1000, 0),
        *[("done", number, 0, 2024 + number * 1074, 1) for number in range(4)],
    ]  # fmt: skip
    assert ran.totals["dropped_full"] == [2, 0]


def test_frames_to_all_are_sent_once_even_if_they_collide(built: Any, tmp_path: Path) -> None:
    """0 and 2 do not hear each other; what both send reaches 1 damaged, and is not repeated."""
    lines = [frame(1000, 0, -1, 100), frame(1500, 2, -1, 100)]
    ran = drive(built, tmp_path, [0, 200, 400], lines, sense_m=300)
    assert ran.what() == [("broadcast", 0, 1000, 2024, ""), ("broadcast", 2, 1500, 2524, "")]
    assert ran.heard_back() == [("done", 0, 0, 2024, 1), ("done", 1, 2, 2524, 1)]
    assert (ran.totals["group_collided"], ran.totals["acks_due"]) == ([1, 0, 1], [0, 0, 0])
