"""The remote lab's interfaces on a machine where systemd-networkd looks after them.

    python -m pytest tests/long/remote_networkd.py

An interface lent to a namespace goes from networkd's sight and comes back as if plugged in, so what
gives it back and networkd set it up at once. A Debian in QEMU has a second network card, with a
static address and a route of networkd's. Some five minutes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.machines import machine
from tests.support.machines.machine import Machine, Share

MAC, TIMES = "52:54:00:00:00:01", 12
NETWORK = f"""
[Match]
MACAddress={MAC}
[Network]
Address=198.51.100.1/24
Address=2001:db8::1/64
IPv6AcceptRA=no
[Route]
Destination=203.0.113.0/24
Gateway=198.51.100.9
"""
#: Lend it and give it back, as a cell does, after so many seconds; print what it is like then.
STAY = """
import json, pathlib, sys, time
from testbed.labs.remote.on_machine import interfaces, links
interface, stay_s = sys.argv[1], float(sys.argv[2])
folder = pathlib.Path("/root/journal")
folder.mkdir(exist_ok=True)
before = interfaces.state(interface)
links.lend([(interface, "src1", "src1-eth0")], folder, "192.0.2.1")
time.sleep(stay_s)
links.give_back(folder, lambda what: None)
time.sleep(5)
print(json.dumps([before, interfaces.state(interface), sorted(map(str, folder.iterdir()))]))
"""


@pytest.fixture(scope="module")
def one(folder: Path) -> Iterator[Machine]:
    with machine.booted(
        "trixie", lambda _what, _done: None, memory_bytes=768 << 20, cpus=1,
        shares=[Share(folder)],
        devices=[
            "-netdev", "user,id=cable,restrict=on",
            "-device", f"virtio-net-pci,netdev=cable,mac={MAC},romfile=",
        ],
    ) as booted:  # fmt: skip
        booted.check("cat >/etc/systemd/network/05-cable.network", stdin=NETWORK)
        booted.check("networkctl reload && sleep 10")
        yield booted


def interface(one: Machine) -> str:
    links: list[dict[str, Any]] = json.loads(one.check("ip -j link show"))
    (name,) = [str(link["ifname"]) for link in links if link["address"] == MAC]
    return name


@pytest.mark.parametrize("stay_s", [i / 10 for i in range(TIMES)])
def test_networkd_and_the_lab_leave_an_interface_as_it_was(
    one: Machine, folder: Path, stay_s: float
) -> None:
    name = interface(one)
    done = one.check(f"cd {folder}/lib && python3 - {name} {stay_s}", stdin=STAY)
    before, after, left = json.loads(done)
    assert after == before
    assert left == []
    assert any("198.51.100.1/24" in words for words in before["addresses"])
    assert any("203.0.113.0/24 via 198.51.100.9" in route for route in before["routes"])
    assert "configured" in one.check(f"networkctl status {name}")
