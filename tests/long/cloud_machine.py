"""A machine makes itself one for a lab with ansible/cloud-init, from this checkout's last commit.

    .venv/bin/python -m pytest tests/long/cloud_machine.py [-k trixie]

Takes half an hour for each release: what is emulated without KVM is slow. Its own are the time
server, which is this machine, and the keys by which it is looked at; the rest is as the docs'
command has it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.labs.stock.distributions import UBUNTU_MIRROR
from testbed.labs.virtual import virtual_lab
from testbed.machine import carried
from tests.support.machines import disk, machine, time_server
from tests.support.machines.machine import Machine

ROOT = Path(__file__).parents[2]
CLOUD_INIT = ROOT / "ansible" / "cloud-init"
RELEASES = ("trixie", "noble")
TIMEOUT_S = 3600.0
#: What cloud images have besides: without lsb_release cloud-init names no release to apt.
PACKAGES = ("cloud-init", "e2fsprogs", "locales", "lsb-release")
#: The console is root's, so its login is started here.
MASKED = tuple(one for one in machine.MASKED if not one.startswith("serial-getty"))


def told(folder: Path, time_port: int) -> Path:
    """Return a copy of what the machine is told, with a time server and with ssh's keys kept."""
    shutil.copytree(CLOUD_INIT, folder)
    text = (folder / "user-data").read_text()
    play = "ansible/playbooks/lab_machine.yml]"
    servers = f"""-e, '{{"time_sync_servers": ["10.0.2.2 port {time_port}"]}}']"""
    assert text.count(play) == 1
    text = text.replace(play, f"{play[:-1]}, {servers}")
    (folder / "user-data").write_text(f"{text}ssh_deletekeys: false\n")
    return folder


@pytest.fixture(scope="module", params=RELEASES)
def fresh(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    if request.param == "noble" and UBUNTU_MIRROR not in os.environ:
        pytest.skip(f"no mirror of Ubuntu is known: {UBUNTU_MIRROR} is not set")
    with time_server.serving() as port:
        place = told(tmp_path_factory.mktemp("cloud") / "cidata", port)
        devices = [
            "-drive", f"driver=vvfat,dir={place},label=cidata,read-only=on,if=virtio",
            "-virtfs", f"local,path={ROOT},mount_tag=groundtruth,security_model=none,readonly=on",
        ]  # fmt: skip
        with machine.booted(
            request.param, lambda _what, _done: None,
            packages=PACKAGES, devices=devices, masked=MASKED, boot_timeout_s=TIMEOUT_S,
        ) as one:  # fmt: skip
            yield one


@pytest.mark.timeout(2 * TIMEOUT_S)
def test_it_provisions_itself(fresh: Machine) -> None:
    done = fresh.run("cloud-init status --wait --long", timeout_s=TIMEOUT_S)
    log = fresh.check("cat /var/log/cloud-init-output.log")
    assert "status: done" in done.stdout, done.stdout + log
    assert "failed=0" in log
    assert "sch_netem" in fresh.check("cat /etc/modules-load.d/groundtruth.conf")
    assert "mmdebstrap" in fresh.check("cat /var/lib/groundtruth-machine/packages")
    assert fresh.check("git -C /root/groundtruth status --short") == ""
    assert fresh.check("hostname").strip() == "groundtruth-lab"
    assert "-bash" in fresh.check("ps -t ttyS0 -o args=").splitlines()


def doctor(one: Machine) -> subprocess.CompletedProcess[str]:
    return one.run(
        f"cd /root/groundtruth && PIP_CERT={disk.CERTIFICATES} make doctor LAB=host",
        timeout_s=TIMEOUT_S,
    )


@pytest.mark.timeout(2 * TIMEOUT_S)
def test_the_lab_can_run_there(fresh: Machine, tmp_path: Path) -> None:
    says = doctor(fresh)
    if fresh.release == "noble":
        # Ubuntu has no mirror of Debian, of whose packages the image is made: it is carried there.
        assert re.findall(r"^NO .*", says.stdout, re.MULTILINE) == ["NO  apt: no source of Debian"]
        assert "groundtruth lab import FILE" in says.stdout
        lab = virtual_lab.ensure("7.3", lambda _what, _done: None)
        carried.pack(lab.parts(), tmp_path / "lab.tar.gz", lambda _what, _done: None)
        with (tmp_path / "lab.tar.gz").open("rb") as file:
            subprocess.run([*fresh.ssh, "cat >/root/lab.tar.gz"], stdin=file, check=True)
        fresh.check(
            "cd /root/groundtruth && .venv/bin/groundtruth lab import /root/lab.tar.gz",
            timeout_s=TIMEOUT_S,
        )
        says = doctor(fresh)
    assert says.returncode == 0, says.stdout + says.stderr
    assert "the host lab can run here" in says.stdout
