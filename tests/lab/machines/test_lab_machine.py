"""The playbook on a Debian in a folder: it installs once, and all of it is taken back.

The Debian is a copy of the lab's image, which has Ansible, with mounts and processes of its own.
It has no kernel of its own: what loads modules is tried in ``tests/long/lab_machine.py``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from testbed.labs.booted import image
from testbed.labs.confinement import host_tools
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.machine.process import namespaces
from tests.support.machines.disk import CERTIFICATES

ANSIBLE = Path(__file__).parents[3] / "ansible"
TIMEOUT_S = 240.0
PROXIES = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
#: As cloud-init's: it names no HOME.
ENVIRONMENT = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
    "ANSIBLE_NOCOLOR": "1", "ANSIBLE_PYTHON_INTERPRETER": "/usr/bin/python3", **PROXIES,
}  # fmt: skip
#: In a folder, $1: a machine's mounts, then the command that follows.
ENTER = """
cd "$1"; shift
mount --rbind /dev dev
mount -t proc proc proc
for place in run tmp; do mount -t tmpfs -o mode=1777 tmpfs $place; done
mount --bind "$ANSIBLE" mnt
exec chroot . "$@"
"""
#: What is no part of the machine's state: caches, logs, copies of a state before, Ansible's own.
PASSING = re.compile(
    r"var/(cache|log|lib/apt)/|-$|-old$|var/lib/dpkg/statoverride$|root/[.]ansible/"
)


#: Where what belongs to a kernel lies.
KERNELS = ("boot/", "usr/lib/modules", "etc/apt/sources.list.d/", "var/lib/groundtruth-machine")


@dataclass(frozen=True)
class Recap:
    """What Ansible says at the end."""

    status: int
    changed: int
    said: str


@dataclass(frozen=True)
class Machine:
    """A Debian in a folder."""

    root: Path

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run a command as the machine's root."""
        first, *rest = namespaces()
        return subprocess.run(
            [first, "--kill-child", *rest, "sh", "-euc", ENTER, "enter", str(self.root), *argv],
            env={**ENVIRONMENT, "ANSIBLE": str(ANSIBLE)},
            capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip

    def play(self, name: str, *options: str, user: str = "root", **extra: object) -> Recap:
        """Run a playbook on the machine itself."""
        limit = min(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        # The kernel that runs is not the machine's, and may be any.
        words = f"time_sync_required=false open_files_limit={limit} recent_kernel_least=3.2"
        done = self.run(
            "runuser", "-u", user, "--", "env", f"ANSIBLE_HOME=/tmp/{user}",
            "ansible-playbook", "-i", "localhost,", "-c", "local", f"/mnt/playbooks/{name}",
            "--skip-tags", "kernel_sctp", "-e", words, "-e", json.dumps(extra), *options,
        )  # fmt: skip
        said = done.stdout + done.stderr
        found = re.search(r"^localhost .*changed=(\d+)", said, re.MULTILINE)
        assert found, said
        return Recap(done.returncode, int(found[1]), said)

    def state(self) -> dict[str, str]:
        """Return what its files are, by name."""
        found = {}
        for folder, folders, files in os.walk(self.root):
            for name in files + folders:
                path = Path(folder, name)
                place = str(path.relative_to(self.root))
                if not PASSING.search(f"{place}/" if path.is_dir() else place):
                    found[place] = _digest(path)
        return found


def _digest(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"


@pytest.fixture(scope="module")
def machine(lab: VirtualLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with apt's sources and this machine's proxies and certificates."""
    del lab  # has built the image
    built = image.built()
    assert built is not None
    root = tmp_path_factory.mktemp("machine") / "root"
    subprocess.run(["cp", "-a", str(built), str(root)], check=True, timeout=TIMEOUT_S)
    mirrors = host_tools.mirrors()
    (root / "etc/apt/sources.list").write_text("\n".join([*image.sources(mirrors), ""]))
    (root / "etc/apt/apt.conf.d/20proxy").write_text(
        "".join(f"{option.rstrip(';')};\n" for option in mirrors.apt_options)
    )
    for file in (Path("/etc/resolv.conf"), Path("/etc/hosts"), CERTIFICATES):
        if file.is_file():
            (root / file.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, root / file.relative_to("/"))
    # No service is started in a folder.
    no_services = root / "usr/sbin/policy-rc.d"
    no_services.write_text("#!/bin/sh\nexit 101\n")
    no_services.chmod(0o755)
    yield Machine(root)
    shutil.rmtree(root)


@pytest.mark.timeout(900)
def test_a_fresh_machine_becomes_one_for_a_lab_and_fresh_again(machine: Machine) -> None:
    before = machine.state()

    checked = machine.play("lab_machine.yml", "--check")
    assert checked.status == 0, checked.said
    assert checked.changed > 0
    assert machine.state() == before

    # A play fails while it installs; before the next, somebody installs one of its packages.
    spoilt = machine.root / "etc/apt/apt.conf.d/99spoilt"
    spoilt.write_text('DPkg::Pre-Install-Pkgs { "echo the disk is on fire >&2; false"; };\n')
    failed = machine.play("lab_machine.yml")
    spoilt.unlink()
    assert failed.status != 0
    assert "the disk is on fire" in failed.said
    assert "df -h" in failed.said
    assert machine.run("apt-get", "install", "--yes", "sensible-utils").returncode == 0
    theirs = machine.state()

    made = machine.play("lab_machine.yml")
    assert made.status == 0, made.said
    assert machine.run("dpkg", "--status", "bubblewrap", "git", "chrony").returncode == 0

    again = machine.play("lab_machine.yml")
    assert (again.status, again.changed) == (0, 0), again.said

    assert machine.run("dpkg", "--purge", "bubblewrap").returncode == 0
    refused = machine.play("lab_machine.yml", "--tags", "verify")
    assert refused.status != 0
    assert "not installed: bubblewrap" in refused.said

    undone = machine.play("lab_machine_undo.yml")
    assert undone.status == 0, undone.said
    after = machine.state()
    theirs = {name: of for name, of in theirs.items() if "lib/groundtruth-machine" not in name}
    assert after == theirs
    assert "usr/bin/sensible-editor" in after


def installed(machine: Machine) -> set[str]:
    """Return the names of the packages that are there, whole or in part."""
    said = machine.run(
        "dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n"
    ).stdout
    return {line.split()[0] for line in said.splitlines() if "not-installed" not in line}


#: Installs what needs the distribution's own kernel, as every Debian has it, without that kernel.
OF_OWN_KERNEL = """
mkdir -p /tmp/own/DEBIAN
cat >/tmp/own/DEBIAN/control <<END
Package: linux-image-amd64
Source: linux-signed-amd64 (6.1)
Version: 6.1
Architecture: amd64
Maintainer: nobody <nobody@localhost>
Description: the newest kernel
END
dpkg-deb --build /tmp/own /tmp/own.deb
dpkg --install /tmp/own.deb
"""


@pytest.mark.timeout(600)
def test_a_newer_kernel_is_installed_beside_the_old_one_and_goes_again(machine: Machine) -> None:
    """As on Debian 12, but that its backports are Debian 13's, and nothing boots in a folder."""
    machine.run("sh", "-euc", OF_OWN_KERNEL).check_returncode()
    before, packages = machine.state(), installed(machine)
    only = ("--tags", "suitable_machine,recent_kernel")
    wanted = {"recent_kernel_least": "999.0", "recent_kernel_codename": "trixie"}

    checked = machine.play("lab_machine.yml", *only, "--check", **wanted)
    assert (checked.status, checked.changed) == (0, 1), checked.said
    assert machine.state() == before

    for _ in range(2):
        made = machine.play("lab_machine.yml", *only, **wanted)
        assert made.status != 0
        said = " ".join(made.said.split())
        assert f"a newer kernel is installed and {os.uname().release} still runs. Restart" in said
        assert made.said.count("fatal:") == 1
        assert len(list((machine.root / "boot").glob("vmlinuz-*"))) == 1
        # Nothing comes to need it, so it can go again.
        own = machine.run("dpkg-query", "--show", "--showformat=${Version}", "linux-image-amd64")
        assert own.stdout == "6.1"

    assert installed(machine) > packages
    undone = machine.play("lab_machine_undo.yml")
    assert undone.status == 0, undone.said
    # What apt renewed for it stays renewed.
    assert installed(machine) == packages
    after = machine.state()
    assert after["etc/apt/sources.list"] == before["etc/apt/sources.list"]
    assert {name for name in after if name.startswith(KERNELS)} == {
        name for name in before if name.startswith(KERNELS)
    }
    assert machine.play("lab_machine_undo.yml").changed == 0
    machine.run("dpkg", "--purge", "linux-image-amd64").check_returncode()


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (
            {"suitable_machine_releases": ["plan9 4"]},
            "this machine has debian 13, wanted one of: plan9 4",
        ),
        ({"suitable_machine_free_mib": 10**9}, "apt-get clean"),
        (
            {"suitable_machine_home_mib": 10**9, "suitable_machine_record": "/none"},
            "qemu-img resize",
        ),
        ({"recent_kernel_least": "999.0"}, "Boot the newest kernel that the distribution has"),
        ({"time_sync_required": True, "time_sync_tries": 1}, "let UDP port 123 out?"),
    ],
    ids=["distribution", "space for packages", "space for a lab", "kernel", "clock"],
)
def test_what_is_not_as_it_must_be_is_said(
    machine: Machine, extra: dict[str, Any], said: str
) -> None:
    before = machine.state()
    refused = machine.play(
        "lab_machine.yml", "--tags", "suitable_machine,recent_kernel,time_sync", **extra
    )
    assert refused.status != 0
    assert said in " ".join(refused.said.split())
    assert refused.said.count("fatal:") == 1
    assert machine.state() == before


def test_who_is_not_root_is_told_how_to_be(machine: Machine) -> None:
    refused = machine.play("lab_machine.yml", user="nobody")
    assert refused.status != 0
    assert "--ask-become-pass" in refused.said
