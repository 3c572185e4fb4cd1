"""What a run says of the lab it ran in."""

from __future__ import annotations

from testbed.guest.build_network import TOOLS, packages
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
