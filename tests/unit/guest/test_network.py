"""What a run says of the lab it ran in."""

from __future__ import annotations

import time

import pytest

from testbed.guest.build_network import TOOLS, packages, tick_hz
from tests.support.recorded import text


def test_recorded_package_versions() -> None:
    status = text("dpkg-1.22/status")
    assert packages(status, ("iproute2", "libsctp1")) == {
        "iproute2": "6.15.0-1",
        "libsctp1": "1.0.21+dfsg-1",
    }
    assert list(packages(status, TOOLS)) == ["iperf3", "iproute2", "libsctp1", "python3.13"]
    assert packages(status, ()) == {}
    assert packages("", TOOLS) == {}


@pytest.mark.parametrize(
    ("tick_s", "hz"), [(0.01, 100), (0.004, 250), (0.003333333, 300), (0.001, 1000)]
)
def test_the_timer_frequency_of_every_kernel_there_is(
    tick_s: float, hz: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "clock_getres", lambda _clock: tick_s)
    assert tick_hz() == hz
