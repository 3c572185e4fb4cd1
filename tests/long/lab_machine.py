"""The playbook makes a fresh machine a lab, changes nothing twice, and takes all of it back.

    .venv/bin/python -m pytest tests/long/lab_machine.py [-k trixie]

Takes minutes for each release: what is emulated without KVM is slow. Debian 12 gets another kernel,
and is restarted into it and, once it is taken back, into its own. Ubuntu needs the address of
a mirror (``tests/support/machines/disk.py``).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from testbed.labs.stock.distributions import UBUNTU_MIRROR
from tests.support.machines import disk, machine, time_server
from tests.support.machines.machine import Machine

ROOT = Path(__file__).parents[2]
PLAYBOOKS = ROOT / "ansible" / "playbooks"
PLAY_TIMEOUT_S = 3600.0
#: Modules that a cell's network is made of, and that a fresh machine has not loaded.
MODULES = {"sctp", "sch_netem", "ifb", "act_mirred", "cls_flower", "veth"}
#: The kernel's own sockets keep sctp until the next boot, and sctp what it needs.
STAYING = {"sctp", "ip6_udp_tunnel", "udp_tunnel", "libcrc32c"}
#: Whose own kernel is too old.
OF_OLD_KERNEL = "bookworm"
#: What a machine has of its own or was given: packages, modules, and settings with their contents.
LOOK = """
echo packages; dpkg-query --show --showformat='${Package} ${db:Status-Status}\n' | grep installed
echo modules; sed 's/ .*//' /proc/modules
echo settings
cd /etc
find apt/sources.list.d modules-load.d security chrony systemd passwd group \
    /var/lib/groundtruth-machine \
    -type f -exec sha256sum {} + -o -print 2>/dev/null || true
"""


@dataclass(frozen=True)
class Recap:
    """What Ansible says of a machine at the end."""

    status: int
    changed: int
    failed: int
    said: str


@pytest.fixture(scope="module", params=sorted(disk.RELEASES))
def fresh(request: pytest.FixtureRequest) -> Iterator[Machine]:
    if request.param == "noble" and UBUNTU_MIRROR not in os.environ:
        pytest.skip(f"no mirror of Ubuntu is known: {UBUNTU_MIRROR} is not set")
    with machine.booted(request.param, lambda _what, _done: None) as one:
        yield one


@pytest.fixture(scope="module")
def time_port() -> Iterator[int]:
    with time_server.serving() as port:
        yield port


def play(one: Machine, name: str, *options: str, **extra: object) -> Recap:
    """Run a playbook on the machine."""
    done = subprocess.run(
        [
            str(ROOT / ".venv/bin/ansible-playbook"), "-i", str(one.inventory),
            str(PLAYBOOKS / name), "-e", json.dumps(extra), *options,
        ],
        capture_output=True, text=True, timeout=PLAY_TIMEOUT_S, check=False,
        env={**os.environ, "ANSIBLE_HOME": str(one.folder / "ansible"), "ANSIBLE_NOCOLOR": "1"},
    )  # fmt: skip
    said = done.stdout + done.stderr
    found = re.search(rf"^{machine.NAME} .*changed=(\d+).*failed=(\d+)", said, re.MULTILINE)
    assert found, said
    return Recap(done.returncode, int(found[1]), int(found[2]), said)


def state(one: Machine) -> set[str]:
    """Return what a machine has, a line for each."""
    kind, lines = "", set()
    for line in one.check(LOOK).splitlines():
        if line in ("packages", "modules", "settings"):
            kind = line
        else:
            lines.add(f"{kind}: {line}")
    return lines


def play_over_restart(one: Machine, name: str, **extra: object) -> Recap:
    """Run a playbook that restarts the machine."""
    with ThreadPoolExecutor(1) as other:
        playing = other.submit(play, one, name, **extra)
        while one.process.poll() is None:
            assert not playing.done(), playing.result().said
            time.sleep(1.0)
        one.boot_again()
        return playing.result()


@pytest.mark.timeout(14400)
def test_a_fresh_machine_becomes_a_lab_and_fresh_again(fresh: Machine, time_port: int) -> None:
    servers = [f"10.0.2.2 port {time_port}"]  # this machine's loopback, as QEMU's network has it
    before = state(fresh)
    assert not {f"modules: {name}" for name in MODULES} & before

    said = play(fresh, "lab_machine.yml", "--check", time_sync_servers=servers)
    assert said.status == 0, said.said
    assert said.changed > 0
    assert state(fresh) == before

    if fresh.release == OF_OLD_KERNEL:
        old = fresh.check("uname -r")
        asked = play(
            fresh, "lab_machine.yml", time_sync_servers=servers, recent_kernel_restart=False
        )
        assert asked.status != 0
        assert "a newer kernel is installed" in asked.said, asked.said
        assert "Restart the machine" in asked.said
        made = play_over_restart(fresh, "lab_machine.yml", time_sync_servers=servers)
        assert fresh.check("uname -r") != old
    else:
        made = play(fresh, "lab_machine.yml", time_sync_servers=servers)
    assert made.status == 0, made.said
    assert {f"modules: {name}" for name in MODULES} <= state(fresh)
    fresh.disconnect()  # limits are a session's from its beginning
    assert fresh.check("ulimit -Sn").strip() == "65536"
    assert fresh.check("timedatectl show --property=NTPSynchronized --value").strip() == "yes"

    again = play(fresh, "lab_machine.yml", time_sync_servers=servers)
    assert (again.status, again.changed) == (0, 0), again.said

    fresh.check("mv /etc/modules-load.d/groundtruth.conf /root")
    refused = play(fresh, "lab_machine.yml", "--tags", "verify", time_sync_servers=servers)
    assert refused.status != 0
    assert "without --tags verify" in refused.said
    fresh.check("mv /root/groundtruth.conf /etc/modules-load.d")

    undone = play(fresh, "lab_machine_undo.yml")
    assert undone.status == 0, undone.said
    if fresh.release == OF_OLD_KERNEL:
        assert "is installed no more: restart the machine" in undone.said
        fresh.run("systemctl reboot")
        fresh.boot_again()
        assert fresh.check("uname -r") == old
    assert state(fresh) ^ before <= {f"modules: {name}" for name in STAYING}


@pytest.mark.parametrize(
    ("spoilt", "hint"),
    [
        ("known_hosts", "ssh-keygen -R"),
        ("key", "ssh-copy-id"),
        ("port", "ssh -v"),
    ],
)
def test_ssh_that_fails_says_what_to_do(
    fresh: Machine, tmp_path: Path, spoilt: str, hint: str
) -> None:
    config = (fresh.folder / "ssh_config").read_text()
    config = re.sub(r"\tControl\w+ .*\n", "", config)
    if spoilt == "port":
        config = re.sub(r"Port \d+", "Port 9", config)
    else:
        other = tmp_path / spoilt
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")],
            check=True, timeout=60,
        )  # fmt: skip
        if spoilt == "key":
            other = tmp_path / "other"
        else:
            other.write_text(f"{machine.NAME} {(tmp_path / 'other.pub').read_text()}")
        config = config.replace(str(fresh.folder / spoilt), str(other))
    (tmp_path / "ssh_config").write_text(config)
    inventory = fresh.inventory.read_text().replace(str(fresh.folder), str(tmp_path))
    (tmp_path / "inventory").write_text(inventory)
    recap = play(replace(fresh, folder=tmp_path), "lab_machine.yml")
    assert recap.status != 0
    assert hint in recap.said
