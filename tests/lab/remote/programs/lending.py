"""Lend interfaces of a network of its own and give them back, also after being killed at any step.

In a network namespace with two veth pairs and what rests on a third, as root of it. The first
argument is a folder.
"""

from __future__ import annotations

import difflib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from model.errors import UnsupportedError
from testbed.labs.remote.on_machine import features, interfaces, links

FOLDER = Path(sys.argv[1])
WANTED = [
    ("eth1", "src1", "src1-eth0"), ("eth2", "src1", "src1-eth1"), ("upper3", "src1", "src1-eth2"),
]  # fmt: skip
MANAGEMENT = "192.0.2.1"
#: As somebody has set it up who uses it as well.
SET_UP = """
ip link set lo up
for i in 1 2 3; do ip link add eth$i type veth peer name peer$i; ip link set peer$i up; done
ip link set eth1 up mtu 1400
ip link add link eth3 name upper3 type macvlan
ip link set eth3 up
ip address add 10.1.0.1/24 dev eth1
ip address add 10.9.0.1 peer 10.9.0.2/32 dev eth1
ip route add 10.77.0.1 dev eth1 scope link
ip route add 10.5.0.0/16 via 10.77.0.1 metric 5
ip neighbor add 10.1.0.7 lladdr 02:00:00:00:00:07 dev eth1 nud permanent
echo 1 >/proc/sys/net/ipv4/conf/eth1/accept_local
if [ -e /proc/sys/net/ipv6 ]; then
  ip address add fd00::1/64 dev eth1 nodad
  ip route add fd01::/64 via fd00::9
fi
"""
LOOK = """
for each in eth1 eth2 eth3 upper3; do
  ip -d address show dev $each; ip neighbor show nud permanent dev $each; tc qdisc show dev $each
  for v in -4 -6; do ip $v route show table all dev $each; done
  for each in /proc/sys/net/ipv4/conf/$each/*; do echo $each $(cat $each); done
done
"""


def shell(text: str) -> str:
    """Run a shell script; return what it said."""
    return subprocess.run(["sh", "-ec", text], capture_output=True, text=True, check=True).stdout


def look() -> str:
    """Return all of the interfaces but what passes or the kernel gives: carriers, link-locals."""
    time.sleep(0.05)
    lines = shell(LOOK).replace(" linkdown", "").splitlines()
    for each in ("eth1", "eth2", "eth3", "upper3"):
        lines += [f"{each} {name} {one}" for name, one in features.read(each).items()]
    return "\n".join(line.partition(" valid_lft")[0] for line in lines if "fe80::" not in line)


def killed_after(commands: int) -> bool:
    """Lend and give back in a process that is killed before one of its commands; say whether."""
    child = os.fork()
    if child == 0:
        left = [commands]
        run = interfaces.run

        def counted(argv: list[str]) -> str:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return run(argv)

        interfaces.run = counted
        links.lend(WANTED, FOLDER, MANAGEMENT)
        links.give_back(FOLDER, lambda _line: None)
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0


def refused(interface: str, reached_at: str = MANAGEMENT) -> str:
    """Return why an interface may not be taken."""
    try:
        interfaces.check(interface, reached_at)
    except UnsupportedError as error:
        return str(error.got)
    return "nothing"


def check(when: str) -> None:
    """Say what is not as before, and end, if anything is not."""
    wrong = list(difflib.unified_diff(before.splitlines(), look().splitlines(), n=0))
    wrong += [f"a holder: {held}" for held in links.holders()]
    wrong += [f"a file: {path.name}" for path in FOLDER.iterdir()]
    if wrong:
        sys.exit("\n".join([when, *wrong]))


def say(*words: object) -> None:
    """Say a line."""
    sys.stdout.write(" | ".join(map(str, words)) + "\n")


shell(SET_UP)
# Bits of one kind differ, and packets are merged below what is lent.
features.want("eth1", {"tx-tcp6-segmentation": False, "rx-gro": True})
features.want("eth3", {"rx-gro": True})
before = look()
held = links.lend(WANTED, FOLDER, MANAGEMENT)
assert [set(macs) for _, macs in held.values()] == [{"src1-eth0", "src1-eth1", "src1-eth2"}]
assert [path.name for path in Path("/sys/class/net").glob("eth*")] == ["eth3"]
assert not features.read("eth3")["rx-gro"].on
links.give_back(FOLDER, lambda _line: None)
check("lent and given back")
steps = 0
while killed_after(steps):
    links.give_back(FOLDER, lambda _line: None)
    check(f"killed before command {steps}")
    steps += 1
assert steps > 20, steps
for name, address in (("eth1", "10.1.0.1"), ("lo", MANAGEMENT), ("eth1", "")):
    say(name, refused(name, address))
shell("ip route add 10.6.0.0/16 nexthop via 10.1.0.7 nexthop dev eth3")
say("eth1", refused("eth1"))
shell("ip route del 10.6.0.0/16; ip route add default via 10.1.0.7")
say("eth1", refused("eth1"))
shell("ip link add link eth2 name upper type macvlan")
say("eth2", refused("eth2"))
