"""What a radio makes of signals: ranges, collisions, capture, EIFS; a hand-made exchange each.

No backoff takes time here, so every time is worked out. 100 bytes to all are 192 + 104 * 8 = 1024.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.radio.driven_medium import DIFS, EIFS, SURE, drive, frame

CROSSOVER_M = 86.1424


@pytest.mark.parametrize(
    ("at_m", "outcome", "waits_us"),
    [(250, "delivered", None), (251, "out_of_range", EIFS), (550, "out_of_range", EIFS),
     (551, "out_of_range", 0)],
)  # fmt: skip
def test_ranges_of_decoding_and_of_sensing(
    built: Any, tmp_path: Path, at_m: int, outcome: str, waits_us: int | None
) -> None:
    """Radio 1 is sent a frame, 608, and handed one meanwhile: what it senses it waits for."""
    lines = [frame(1000, 0, 1, 100), frame(1100, 1, -1, 100)]
    ran = drive(built, tmp_path, [0, at_m], lines, retry_limit=1, **SURE)
    assert ran.sent(0)[0]["outcome"] == outcome
    begin = {None: 1922 + DIFS, EIFS: 1608 + EIFS, 0: 1100}[waits_us]
    assert ran.begins(1)[-1] == begin


@pytest.mark.parametrize("rate_bps", [1_000_000, 11_000_000])
@pytest.mark.parametrize(("at_m", "waits_us"), [(200, DIFS), (400, 364)])
def test_eifs_follows_what_could_not_be_decoded(
    built: Any, tmp_path: Path, at_m: int, waits_us: int, rate_bps: int
) -> None:
    """SIFS 10, an ACK at 1 Mbit/s, whatever the basic rate is, 304, and DIFS 50."""
    lines = [frame(1000, 0, -1, 100), frame(1100, 1, -1, 100)]
    ran = drive(built, tmp_path, [0, at_m], lines, ack_rate_bps=rate_bps, **SURE)
    assert ran.begins(1) == [2024 + waits_us]


@pytest.mark.parametrize(("after_us", "waits_us"), [(363, 364), (364, 364), (365, 365)])
def test_eifs_holds_for_a_frame_that_comes_later(
    built: Any, tmp_path: Path, after_us: int, waits_us: int
) -> None:
    lines = [frame(1000, 0, -1, 100), frame(2024 + after_us, 1, -1, 100)]
    assert drive(built, tmp_path, [0, 400], lines, **SURE).begins(1) == [2024 + waits_us]


def test_eifs_follows_a_collision(built: Any, tmp_path: Path) -> None:
    """0 and 2 do not hear each other; radio 1, between them, waits from the end of the later."""
    lines = [frame(1000, 0, -1, 100), frame(1500, 2, -1, 100), frame(1600, 1, -1, 100)]
    ran = drive(built, tmp_path, [0, 200, 400], lines, sense_m=300, **SURE)
    assert ran.begins(1) == [2524 + EIFS]
    assert ran.totals["group_delivered"] == [0, 2, 0]


def test_eifs_ends_with_a_frame_that_is_decoded(built: Any, tmp_path: Path) -> None:
    """Radio 1 hears 0 from 400 m, then 2, which did not, from 200 m: DIFS after 2's end."""
    lines = [frame(1000, 0, -1, 100), frame(1100, 1, -1, 100), frame(2100, 2, -1, 100)]
    ran = drive(built, tmp_path, [400, 0, -200], lines, **SURE)
    assert ran.begins(2) == [2100]
    assert ran.begins(1) == [3124 + DIFS]


@pytest.mark.parametrize("apart_m", [200, 400, -400], ids=["decodable", "sensed", "turned round"])
def test_two_that_sent_at_once_wait_equally_long(built: Any, tmp_path: Path, apart_m: int) -> None:
    """Both wait for radio 2, begin at 2024 + 50 and end at 3098: who sends has received nothing.

    So each goes on DIFS later, with its second frame.
    """
    lines = [frame(1000, 2, -1, 100)]
    lines += [frame(1100, radio, -1, 100) for radio in (0, 1, 0, 1)]
    places = [0, apart_m, apart_m / 2]
    ran = drive(built, tmp_path, places, lines, **SURE)
    assert ran.begins(0) == ran.begins(1) == [2074, 3098 + DIFS]


@pytest.mark.parametrize("longer", [0, 1])
def test_who_stops_first_waits_for_difs_after_the_other(
    built: Any, tmp_path: Path, longer: int
) -> None:
    """Of two that began at 2074, 400 m apart, one sends 1024, the other 192 + 204 * 8 = 1824."""
    lines = [frame(1000, 2, -1, 100)]
    lines += [frame(1100, radio, -1, 200 if radio == longer else 100) for radio in (0, 1)]
    lines.append(frame(1100, 1 - longer, -1, 100))
    ran = drive(built, tmp_path, [0, 400, 200], lines, **SURE)
    assert ran.begins(1 - longer) == [2074, 2074 + 1824 + DIFS]


def test_acknowledgement_sent_into_a_noise_makes_it_no_failed_reception(
    built: Any, tmp_path: Path
) -> None:
    """Radio 1 sends its ACK from 1618 to 1922, while 2, 280 m away, sends from 1613 to 2637."""
    lines = [frame(1000, 0, 1, 100), frame(1613, 2, -1, 100), frame(1700, 1, -1, 100)]
    ran = drive(built, tmp_path, [0, 200, 480], lines, sense_m=300, **SURE)
    assert ran.begins(1) == [1618, 2637 + DIFS]


@pytest.mark.parametrize("near_first", [True, False])
def test_who_decodes_one_of_two_that_end_together_waits_for_difs(
    built: Any, tmp_path: Path, near_first: bool
) -> None:
    """A near radio at 50 m and a far one at 400 send from 2074 to 3098, after a common third.

    Radio 2 decodes the near one, by capture, whichever has the lower number.
    """
    places = [0, 450] if near_first else [450, 0]
    lines = [frame(1000, 3, -1, 100), frame(1100, 0, -1, 100), frame(1100, 1, -1, 100)]
    lines.append(frame(2500, 2, -1, 100))
    ran = drive(built, tmp_path, [*places, 50, 225], lines, capture_ratio=10, **SURE)
    near = 0 if near_first else 1
    assert ran.begins(0) == ran.begins(1) == [2074]
    assert ("delivered", 1 + near, 2, 3098, None) in ran.heard_back()
    assert ran.begins(2) == [3098 + DIFS]


def test_hidden_terminals_collide_and_others_wait(built: Any, tmp_path: Path) -> None:
    """0 and 2 are 400 m apart: beyond 300 m neither senses the other, within 550 m both do."""
    lines = [frame(1000, 0, 1, 100), frame(1100, 2, 1, 100)]
    hidden = drive(built, tmp_path, [0, 200, 400], lines, sense_m=300, retry_limit=1, **SURE)
    assert hidden.what() == [
        ("data", 0, 1000, 1608, "collided"), ("data", 2, 1100, 1708, "collided"),
    ]  # fmt: skip
    assert [one[0] for one in hidden.heard_back()] == ["done", "done"]
    sensed = drive(built, tmp_path, [0, 200, 400], lines, sense_m=400, retry_limit=1, **SURE)
    # 2 hears 0 as noise; then 1's ACK, to 1922, which it decodes.
    assert sensed.what() == [
        ("data", 0, 1000, 1608, "delivered"), ("ack", 1, 1618, 1922, "delivered"),
        ("data", 2, 1972, 2580, "delivered"), ("ack", 1, 2590, 2894, "delivered"),
    ]  # fmt: skip


@pytest.mark.parametrize("first_us", [1000, 1607])
def test_what_overlaps_at_all_collides(built: Any, tmp_path: Path, first_us: int) -> None:
    """Also a signal that is only sensed, for the last microsecond: 1 is 280 m from 2."""
    lines = [frame(1000, 0, 1, 100), frame(first_us, 2, -1, 100)]
    ran = drive(built, tmp_path, [0, 200, 480], lines, sense_m=300, retry_limit=1, **SURE)
    assert ran.sent(0)[0]["outcome"] == "collided"


def test_what_follows_without_a_gap_does_not_collide(built: Any, tmp_path: Path) -> None:
    lines = [frame(1000, 0, -1, 100), frame(2024, 2, -1, 100)]
    ran = drive(built, tmp_path, [0, 200, 400], lines, sense_m=300, **SURE)
    assert ran.begins(2) == [2024]
    assert [one[:3] for one in ran.heard_back() if one[0] == "delivered"] == [
        ("delivered", 0, 1), ("delivered", 1, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("capture_ratio", "outcome"), [(0, "collided"), (286, "delivered"), (287, "collided")]
)
def test_first_signal_survives_if_it_is_so_much_stronger(
    built: Any, tmp_path: Path, capture_ratio: int, outcome: str
) -> None:
    """0 is 50 m from 1, within the crossover, 2 is 270 m from it, beyond: powers go by

    1 / 50^2 = 4.0e-4 and 86.1424^2 / 270^4 = 1.3963e-6, 286.47 to 1.
    """
    assert 286 < 270**4 / 50**2 / CROSSOVER_M**2 < 287
    lines = [frame(1000, 0, 1, 100), frame(1100, 2, -1, 100)]
    ran = drive(
        built, tmp_path, [-50, 0, 270], lines, sense_m=300, capture_ratio=capture_ratio,
        retry_limit=1, **SURE,
    )  # fmt: skip
    assert ran.sent(0)[0]["outcome"] == outcome


def test_stronger_signal_that_comes_second_destroys_the_first_and_is_lost(
    built: Any, tmp_path: Path
) -> None:
    """2, 240 m from 1, is decoded when 0 begins, 70 m from it: 91 to 1 of a second is no help."""
    lines = [frame(1000, 2, -1, 100), frame(1100, 0, 1, 100)]
    ran = drive(
        built, tmp_path, [-70, 0, 240], lines, sense_m=300, capture_ratio=10, retry_limit=1, **SURE
    )
    assert ran.what()[0] == ("data", 0, 1100, 1708, "collided")
    assert ran.totals["group_collided"] == [0, 0, 1]


def test_stronger_signal_is_decoded_through_a_noise_that_came_first(
    built: Any, tmp_path: Path
) -> None:
    """The same with 2 at 270 m, which 1 cannot decode: there is nothing else to follow."""
    lines = [frame(1000, 2, -1, 100), frame(1100, 0, 1, 100)]
    for capture_ratio, outcome in ((10, "delivered"), (0, "collided")):
        ran = drive(
            built, tmp_path, [-50, 0, 270], lines, sense_m=300, capture_ratio=capture_ratio,
            retry_limit=1, **SURE,
        )  # fmt: skip
        assert ran.sent(0)[0]["outcome"] == outcome


def test_radio_that_sends_hears_nothing(built: Any, tmp_path: Path) -> None:
    """0 and 1 begin at 2074, each to the other: neither frame arrives, no ACK is owed."""
    lines = [frame(1000, 2, -1, 100), frame(1100, 0, 1, 100), frame(1100, 1, 0, 100)]
    ran = drive(built, tmp_path, [0, 100, 50], lines, retry_limit=1, capture_ratio=10, **SURE)
    assert [row[1:] for row in ran.what()[1:]] == [
        (0, 2074, 2682, "receiver_sending"), (1, 2074, 2682, "receiver_sending"),
    ]  # fmt: skip
    assert ran.totals["acks_due"] == [0, 0, 0]
