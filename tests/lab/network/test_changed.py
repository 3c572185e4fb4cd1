"""What is changed while flows run fails the cell, whatever it is; what is not does not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from model.cell import Cell, Limits, cell_json
from model.errors import RunError
from testbed.labs.booted.booting import AGENT, Boot
from testbed.labs.virtual.virtual_lab import VirtualLab

Change = Callable[[str], None]


@pytest.fixture
def changed(wireless: Callable[..., Cell], lab: VirtualLab, tmp_path: Path) -> Change:
    """Run a short cell of one flow while a command changes something of a node's network."""

    def run(command: str) -> None:
        cell = wireless(duration_s=20.0)
        (tmp_path / "cell.json").write_text(cell_json(cell))
        # Time zero is 8 s after the boot.
        script = f"(sleep 15; {command}) &\nexec {' '.join(AGENT)}\n"
        (tmp_path / "run.sh").write_text(script)
        boot = Boot(
            seed=1,
            limits=Limits(wall_s=100.0, virtual_s=600.0),
            program=("/bin/sh", "/cell/run.sh"),
        )
        lab.boot(boot, tmp_path, threading.Event())

    return run


def on(node: str, command: str) -> str:
    return f"nsenter --net=/run/netns/{node} {command}"


def channel(change: str) -> str:
    return on("r2", f"tc qdisc change dev ifb-bottleneck root handle 1: netem {change}")


def shaper(change: str) -> str:
    return on("r1", f"tc qdisc change dev r1-bottleneck root handle 10: netem {change}")


def test_a_cell_that_nobody_touches_ends_well(changed: Change) -> None:
    changed("true")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            on("dst1", "ip route change default via 10.2.1.1 quickack 0"),
            "dst1: routes after the flows",
        ),
        (on("src1", "ip route add 10.9.0.0/16 via 10.1.1.1"), "src1: routes after the flows"),
        (shaper("limit 10 rate 2970000bit -14"), "r1:r1-bottleneck 10:: shaper after the flows"),
        (shaper("limit 11 rate 3000000bit -14"), "r1:r1-bottleneck 10:: shaper after the flows"),
        (
            channel("limit 3458 delay 250ms loss random 1.2% seed 5"),
            "r2:ifb-bottleneck 1:: channel after the flows",
        ),
        (
            on("src2", "sh -c 'echo 0 > /proc/sys/net/ipv4/tcp_sack'"),
            r"src2: sysctls after the flows .*tcp_sack = 1; now net\.ipv4\.tcp_sack = 0",
        ),
        (on("r1", "ethtool -K r1-src1 sg on"), "r1: offloads of r1-src1 after the flows"),
        (
            on("r2", "tc filter add dev r2-dst1 egress pref 7 protocol all matchall action ok"),
            "r2: filters after the flows",
        ),
        (
            on("r1", "ip neighbor change 10.0.0.2 dev r1-bottleneck lladdr 02:00:00:00:00:02"
                     " nud reachable"),
            "r1: neighbours after the flows",
        ),
        (on("src1", "ip rule add from 10.1.1.2 lookup 99"), "src1: rules after the flows"),
    ],
)  # fmt: skip
def test_a_change_while_flows_run_fails_the_cell(
    changed: Change, command: str, message: str
) -> None:
    with pytest.raises(RunError, match=f"phase read the network back again: {message}"):
        changed(command)
