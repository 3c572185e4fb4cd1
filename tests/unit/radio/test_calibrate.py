"""Transmissions measured and held against the DCF; what is off is refused."""

from __future__ import annotations

import pytest

from mininet_topos.radio.calibrate import (
    Measured,
    check_hidden,
    check_hidden_rts,
    check_one_sender,
    check_saturated,
    data_frames,
    measure,
)
from mininet_topos.radio.dcf_theory import Dcf, saturated
from mininet_topos.radio.hidden_rts import simulate_rts
from mininet_topos.radio.hidden_terminals import simulate
from model.errors import RunError

LINES = """begin_ns\tend_ns\tkind\tfrom\tto\ttry\trate_bps\tbytes\toutcome
0\t10\tdata\t0\t1\t1\t2000000\t1068\tcollided
20\t500000000\tdata\t0\t1\t2\t2000000\t1068\tdelivered
500000001\t500000005\trts\t0\t1\t1\t1000000\t20\tcollided
500000010\t500000020\tack\t1\t0\t1\t1000000\t14\tdelivered
500000030\t600000000\tdata\t0\t1\t1\t2000000\t90\tdelivered
""".splitlines()


def test_rates_are_of_what_ended_in_the_span() -> None:
    got = measure(data_frames(LINES, 1000), 0, 1_000_000_000)
    assert got == Measured(frame_bytes=1068, attempts_per_s=2, delivered_per_s=1)
    assert got.goodput_bps(1000) == 8000
    asked = measure(data_frames(LINES, 0, "rts"), 0, 1_000_000_000)
    assert asked == Measured(frame_bytes=20, attempts_per_s=1, delivered_per_s=0)
    with pytest.raises(RunError, match="nothing was sent"):
        measure(data_frames(LINES, 1000), 600_000_000, 1_000_000_000)


def test_one_sender_of_another_slot_is_refused() -> None:
    # 8000 bits each 5122 us: 195.236 a second. With slots of 9 us: 8000 bits each 4951.5 us.
    right = Measured(frame_bytes=1064, attempts_per_s=195.2, delivered_per_s=195.2)
    check_one_sender(Dcf(), right, 1000)
    wrong = Measured(frame_bytes=1064, attempts_per_s=202, delivered_per_s=1e6 / 4951.5)
    with pytest.raises(RunError, match="goodput over one hop is off"):
        check_one_sender(Dcf(), wrong, 1000)


def test_cell_of_five_is_refused_six_per_cent_off() -> None:
    wanted = saturated(Dcf(), 5, 1064, 1000).goodput_bps / 8000
    check_saturated(
        Dcf(), 5, Measured(frame_bytes=1064, attempts_per_s=1, delivered_per_s=wanted * 1.04), 1000
    )
    with pytest.raises(RunError, match="with 5 stations is off"):
        check_saturated(
            Dcf(), 5, Measured(frame_bytes=1064, attempts_per_s=1, delivered_per_s=wanted * 0.94),
            1000,
        )  # fmt: skip


def test_hidden_terminals_lose_most_of_what_they_send() -> None:
    found = simulate(Dcf(), 1064, 100, seed=3)
    assert 0 < found.delivered_per_s < 0.6 * found.attempts_per_s
    # Short frames have a smaller vulnerable time, so more of them arrive.
    short = simulate(Dcf(), 64, 100, seed=3)
    fraction = found.delivered_per_s / found.attempts_per_s
    assert short.delivered_per_s / short.attempts_per_s > fraction
    again = simulate(Dcf(), 1064, 600, seed=4)
    check_hidden(
        Dcf(),
        Measured(
            frame_bytes=1064,
            attempts_per_s=again.attempts_per_s,
            delivered_per_s=again.delivered_per_s,
        ),
    )


def test_hidden_terminals_with_rts_lose_next_to_no_frame() -> None:
    dcf = Dcf(rts=True)
    found = simulate_rts(dcf, 1064, 100, seed=3)
    assert 0.99 * found.attempts_per_s < found.delivered_per_s <= found.attempts_per_s
    assert found.attempts_per_s < 0.9 * found.rts_per_s
    without = simulate(Dcf(), 1064, 100, seed=3)
    assert found.delivered_per_s > 3 * without.delivered_per_s
    # Never more than one station alone: an exchange of 5488 us and its shortest wait.
    assert found.delivered_per_s < 1e6 / 5488


def test_hidden_terminals_with_rts_are_refused_where_one_of_three_is_off() -> None:
    again = simulate_rts(Dcf(rts=True), 1064, 300, seed=4)

    def judged(rts: float, frames: float, delivered: float) -> None:
        check_hidden_rts(
            Dcf(rts=True),
            Measured(frame_bytes=1064, attempts_per_s=frames, delivered_per_s=delivered),
            Measured(frame_bytes=20, attempts_per_s=rts, delivered_per_s=frames),
        )

    right = (again.rts_per_s, again.attempts_per_s, again.delivered_per_s)
    judged(*right)
    for at, what in enumerate(("RTS of", "frames of", "deliveries of")):
        wrong = list(right)
        wrong[at] *= 1.2
        with pytest.raises(RunError, match=f"{what} hidden terminals"):
            judged(*wrong)
