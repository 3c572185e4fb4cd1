"""Settings as readers are shown them."""

from __future__ import annotations

import pytest

from reports.measures.quantities import setting


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
