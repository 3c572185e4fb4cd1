"""Settings as readers are shown them."""

from __future__ import annotations

import pytest

from model.run_files.quantity import KBIT_PER_S, Quantity
from reports.measures.quantities import interval, setting


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("loss_frac", 0.008, "0.8 %"),
        ("rate_bps", 16_000, "16 kbit/s"),
        ("rate_bps", 99_500, "99.5 kbit/s"),
        ("rate_bps", 200_000, "0.2 Mbit/s"),
        ("max_mps", 5.0, "5 m/s"),
        ("width_mm", 1_000_000, "1000 m"),
        ("pause_s", 0.5, "0.5 s"),
        ("protocol", "tcp", "tcp"),
    ],
)
def test_a_setting_has_its_unit(name: str, value: float | str, shown: str) -> None:
    assert setting(name, value) == shown


@pytest.mark.parametrize(
    ("bounds", "shown"),
    [
        ((-0.4, 23.6), "-0.4 to 24"),
        ((-7.2, 0.04), "-7 to 0.04"),
        ((-0.4, 0.02), "-0.4 to 0.02"),
        ((-0.6, 0.6), "-1 to 1"),
        ((0.4, 23.6), "0 to 24"),
        ((0.0, 23.6), "0 to 24"),
        ((-23.6, 0.0), "-24 to 0"),
        ((-1e-9, 23.6), "0 to 24"),
    ],
)
def test_an_interval_about_zero_shows_it(bounds: tuple[float, float], shown: str) -> None:
    assert interval(bounds, Quantity("bit/s", 1, 0)) == shown


def test_the_scale_counts() -> None:
    assert interval((-4.0, 23_600.0), KBIT_PER_S) == "-0.004 to 23.6"
