"""The remote lab's clocks against clocks that are really of their own.

    python -m pytest tests/long/remote_clocks.py

Namespaces have one date and one rate with their kernel. So two machines, each a Debian in QEMU with
a date and a rate of its own, are asked for their time as those of a cell are, while packets pass
between them and are captured on both; and while one of them changes its rate. Some seven minutes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import shlex
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from model.units import NS_PER_S
from testbed.labs.booted import image
from testbed.labs.remote import retold
from testbed.labs.remote.clocks import Clock, Shift
from testbed.labs.remote.connections import connected
from testbed.labs.remote.inventory import Machine as Named
from testbed.labs.remote.remote_lab import PROPERTIES
from testbed.labs.remote.running_cell import RunningCell
from tests.support.machines import machine
from tests.support.machines.machine import Machine, Share
from tests.support.recorded import wireless_cell

#: The second machine's date, and by how much its clock is fast; 10 ms of it are so many us.
DATE, FAST = "2031-05-06T07:08:09", 5e-3
TICK_US, FAST_TICK_US = 10_000, 10_050
SET_RATE = """
import ctypes, struct
timex = bytearray(256)
struct.pack_into("I", timex, 0, 0x4000)
struct.pack_into("q", timex, 88, {tick_us})
assert ctypes.CDLL(None).adjtimex((ctypes.c_char * 256).from_buffer(timex)) >= 0
"""
#: Both ways a packet is so long on its way: between what is captured and the cable.
DELAY_NS, PACKETS, EVERY_S = 50_000_000, 1000, 0.05
#: What two emulated network cards and their drivers may add to the quickest of a window's packets.
CARDS_NS = 3_000_000
WINDOW = 200
#: So long a clock has each of two rates.
RATE_S = 30
NAMES = ("one", "other")
YEAR_NS = 365 * 86400 * NS_PER_S
CABLE = """
set -e
until cable=$(grep -l 52:54:00:00:00 /sys/class/net/*/address); do sleep 0.2; done
cable=$(basename $(dirname $cable))
ip link add link $cable name experiment type vlan id 10
ip address add 198.51.100.{number}/24 dev experiment
tc qdisc add dev $cable root netem delay {delay_ns}ns limit 1000
ip link set $cable up
ip link set experiment up
ip neighbor add 198.51.100.{other} lladdr 52:54:00:00:00:0{other} dev experiment nud permanent
nohup timeout 300 chroot {image} tcpdump -Z root -U -s 96 --time-stamp-precision=nano \\
  -i experiment -w - udp port 9 >/root/capture 2>/root/tcpdump.said </dev/null &
"""
SEND = """
import socket, struct, time
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("198.51.100.{number}", 9))
for number in range({packets}):
    one.sendto(struct.pack("!I", number), ("198.51.100.{other}", 9))
    time.sleep({every_s})
"""


@contextlib.contextmanager
def two_machines(folder: Path) -> Iterator[tuple[Machine, Machine]]:
    """Boot two with a cable between them, the second with another date; both see the folder."""
    root = image.built()
    assert root is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"

    def booted(number: int, cable: str, *more: str) -> contextlib.AbstractContextManager[Machine]:
        return machine.booted(
            "trixie", lambda _what, _done: None, memory_bytes=768 << 20, cpus=1,
            shares=[Share(root), Share(folder)],
            devices=[
                "-device", "pcie-root-port,id=socket-of-cable,chassis=1,slot=1",
                "-netdev", f"socket,id=cable,{cable}={place}",
                "-monitor", f"unix:{folder}/{number},server=on,wait=off", *more,
            ],
        )  # fmt: skip

    with booted(1, "listen") as one, booted(2, "connect", "-rtc", f"base={DATE}") as other:
        for number, each in enumerate((one, other), 1):
            plug_in(each, number, folder, root)
        yield one, other


def plug_in(one: Machine, number: int, folder: Path, root: Path) -> None:
    """Give a machine its end of the cable, with a delay, and capture what passes before it."""
    # What sets up any network card stops: this one gets no address of the other's.
    one.check("systemctl stop systemd-networkd.socket systemd-networkd systemd-timesyncd; true")
    with socket.socket(socket.AF_UNIX) as monitor:
        monitor.connect(str(folder / str(number)))
        mac = f"52:54:00:00:00:0{number}"
        words = f"device_add virtio-net-pci,netdev=cable,bus=socket-of-cable,mac={mac},romfile=\n"
        monitor.sendall(words.encode())
        time.sleep(1)
    one.check(
        CABLE.format(
            number=number, other=3 - number, delay_ns=DELAY_NS, image=root,
        )
    )  # fmt: skip


@pytest.fixture(scope="module")
def machines(folder: Path) -> Iterator[tuple[Machine, Machine]]:
    with two_machines(folder) as both:
        set_rate(both[1], FAST_TICK_US)
        yield both


def set_rate(one: Machine, tick_us: int) -> None:
    """Let a machine's clock, date and all, run at another rate from now on."""
    one.check("python3 -", stdin=SET_RATE.format(tick_us=tick_us))


@contextlib.contextmanager
def asked(machines: tuple[Machine, Machine], folder: Path) -> Iterator[RunningCell]:
    """Ask both clocks as a cell's are asked before it."""
    named = [
        Named(
            name=name, address=machine.NAME, port=None, user="", key="",
            arguments=("-F", str(one.folder / "ssh_config")), python="/usr/bin/python3", links={},
        )
        for name, one in zip(NAMES, machines, strict=True)
    ]  # fmt: skip
    with connected(named, str(folder), folder, threading.Event()) as connections:
        run = RunningCell(
            cell=wireless_cell(), connections=connections, console=io.StringIO(),
            deadline_s=time.monotonic() + 600,
        )  # fmt: skip
        run.clocks()
        yield run


def ask_while(run: RunningCell, what: str, goes_on: Callable[[], bool]) -> None:
    """Ask both clocks as a cell's are asked as long as it runs."""
    while goes_on():
        run._ask_clocks_in_time()
        if said := run.connections.hear(run.deadline_s, what):
            run._heed(said)
    run._hear_clocks()


def before(until_s: float) -> Callable[[], bool]:
    """Return what tells whether it is before a time."""
    return lambda: time.monotonic() < until_s


def let_packets_pass(run: RunningCell, machines: tuple[Machine, Machine]) -> None:
    """Send both ways at once."""
    sending = []
    for number, one in enumerate(machines, 1):
        program = SEND.format(number=number, other=3 - number, packets=PACKETS, every_s=EVERY_S)
        sending.append(subprocess.Popen([*one.ssh, f"python3 -c {shlex.quote(program)}"]))
    ask_while(run, "packets pass", lambda: any(child.poll() is None for child in sending))
    assert [child.returncode for child in sending] == [0, 0]


def seen(content: bytes) -> dict[tuple[int, int], int]:
    """Return when each packet was captured, by its sender and its number, in ns since 1970."""
    found, at = {}, retold.PCAP_HEAD_BYTES
    while at < len(content):
        seconds, rest_ns, kept, _ = retold.RECORD.unpack_from(content, at)
        packet = content[at + retold.RECORD.size :][:kept]
        (number,) = struct.unpack_from("!I", packet, 42)
        found[packet[29], number] = seconds * NS_PER_S + rest_ns
        at += retold.RECORD.size + kept
    return found


def off_ns(captures: tuple[bytes, bytes], clocks: tuple[Clock, Clock]) -> list[int]:
    """Return by how much the quickest packet of each window and way was later than the delay."""
    shifts = [Shift(of=one, to=clocks[0]) for one in clocks]
    times = [
        seen(retold.capture(content, shift.realtime_ns))
        for content, shift in zip(captures, shifts, strict=True)
    ]
    found = []
    for sender, (here, there) in enumerate((times, times[::-1]), 1):
        for first in range(0, PACKETS, WINDOW):
            delays = [
                there[sender, number] - here[sender, number]
                for number in range(first, first + WINDOW)
            ]
            found.append(min(delays) - DELAY_NS)
    return found


def captured(one: Machine) -> bytes:
    """Return what a machine captured, the packets that were still on their way included."""
    one.check(
        "sleep 1; pkill -INT -x tcpdump; while pgrep -x tcpdump >/dev/null; do sleep 0.1; done"
    )
    done = subprocess.run([*one.ssh, "cat", "/root/capture"], capture_output=True, check=True)
    return done.stdout


@pytest.mark.timeout(1800)
def test_delays_between_two_clocks_are_those_of_the_path(
    machines: tuple[Machine, Machine], folder: Path
) -> None:
    """Machines with a date and a rate of their own, told apart by nothing but their answers."""
    with asked(machines, folder) as run:
        let_packets_pass(run, machines)
        one, other = run.clocks().values()
    captures = (captured(machines[0]), captured(machines[1]))
    assert other.ahead_ns + other.offset_ns - one.ahead_ns - one.offset_ns > YEAR_NS
    assert other.drift - one.drift == pytest.approx(FAST, rel=0.2)
    within_ns = one.within_ns + other.within_ns
    late = off_ns(captures, (one, other))
    assert all(-within_ns <= each <= within_ns + CARDS_NS for each in late), (late, within_ns)
    # It would be seen: the same without the drift that was found.
    still = dataclasses.replace(other, drift=one.drift)
    assert max(map(abs, off_ns(captures, (one, still)))) > within_ns + 5 * CARDS_NS


@pytest.mark.timeout(600)
def test_a_clock_whose_rate_changes_is_not_known_well_enough(
    machines: tuple[Machine, Machine], folder: Path
) -> None:
    """In the middle of a minute: no line is nearer to it than a quarter of what that makes."""
    set_rate(machines[1], FAST_TICK_US)
    with asked(machines, folder) as run:
        for tick_us in (FAST_TICK_US, TICK_US):
            set_rate(machines[1], tick_us)
            ask_while(run, "a clock runs", before(time.monotonic() + RATE_S))
        one, other = run.clocks().values()
    bent_ns = FAST * RATE_S * NS_PER_S / 4
    assert one.within_ns + other.within_ns > bent_ns > PROPERTIES.tolerances.delay_s * NS_PER_S
