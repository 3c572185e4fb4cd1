"""What the DCF yields by calculation, against numbers worked by hand."""

from __future__ import annotations

import pytest

from mininet_topos.radio.dcf_theory import (
    Dcf,
    attempt_probability,
    one_sender_bps,
    saturated,
    solve,
    windows,
)


def test_air_times_are_those_of_the_long_preamble() -> None:
    dcf = Dcf()
    assert dcf.air_ns(1064, 2_000_000) == 192_000 + 1064 * 4_000
    assert dcf.ack_ns() == 192_000 + 112_000
    assert dcf.air_ns(1, 11_000_000) == 192_000 + 728  # 727.27, never shorter than it is


def test_one_sender_waits_half_a_window() -> None:
    # 192 + 4256 + 10 + 304 + 50 = 4812 us, and 15.5 slots of 20 us: 8000 bits in 5122 us.
    assert Dcf().exchange_ns(1064) == 4_812_000
    assert one_sender_bps(Dcf(), 1064, 1000) == pytest.approx(8000 / 5122e-6)


def test_windows_double_up_to_the_largest() -> None:
    assert windows(Dcf()) == [32, 64, 128, 256, 512, 1024, 1024]


def test_station_alone_sends_every_16_5th_slot() -> None:
    # 15.5 slots waited and one sent in: 2 / (W + 1) with W = 32, as Bianchi has it for p = 0.
    assert attempt_probability(Dcf(), 0) == pytest.approx(2 / 33)
    assert solve(Dcf(), 1)[1] == pytest.approx(0, abs=1e-12)


def test_two_tries_are_worked_by_hand() -> None:
    # p = 1/2: 1.5 transmissions; waited 15.5 + 31.5 / 2 = 31.25; 1.5 / 32.75.
    assert attempt_probability(Dcf(retry_limit=2), 0.5) == pytest.approx(1.5 / 32.75)


def test_fixed_point_is_one() -> None:
    tau, collides = solve(Dcf(), 10)
    assert collides == pytest.approx(1 - (1 - tau) ** 9)
    assert tau == pytest.approx(attempt_probability(Dcf(), collides))
    assert 0.25 < collides < 0.40


def test_one_station_in_a_cell_is_one_sender() -> None:
    alone = saturated(Dcf(), 1, 1064, 1000).goodput_bps
    assert alone == pytest.approx(one_sender_bps(Dcf(), 1064, 1000))


def test_more_stations_collide_more() -> None:
    found = [saturated(Dcf(), n, 1064, 1000).collision_probability for n in (2, 5, 10, 20)]
    assert found == sorted(found)
    assert found[0] > 0


def test_exchange_with_rts_is_longer_by_rts_cts_and_two_sifs() -> None:
    dcf = Dcf(rts=True)
    # 192 + 160, 192 + 112 and 2 x 10 us.
    assert (dcf.rts_ns(), dcf.clearing_ns(), Dcf().clearing_ns()) == (352_000, 676_000, 0)
    assert dcf.exchange_ns(1064) == 5_488_000
    # 8000 bits each 5488 us and 15.5 slots of 20 us.
    assert one_sender_bps(dcf, 1064, 1000) == pytest.approx(8000 / 5798e-6)


def test_collision_of_rts_is_short_whatever_the_frame() -> None:
    # 352 + 10 + 304 + 50 us.
    assert {Dcf(rts=True).collision_ns(size) for size in (64, 1064, 2000)} == {716_000}
    assert Dcf().collision_ns(1064) == Dcf().exchange_ns(1064)


def test_rts_pays_where_many_contend() -> None:
    def gain(stations: int) -> float:
        asked = saturated(Dcf(rts=True), stations, 1064, 1000).goodput_bps
        return asked / saturated(Dcf(), stations, 1064, 1000).goodput_bps

    assert gain(1) == pytest.approx(5122 / 5798)
    assert gain(1) < gain(5) < 1 < gain(20)
