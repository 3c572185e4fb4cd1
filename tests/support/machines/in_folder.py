"""A Debian in a folder: a copy of the lab's image, which has Ansible, with what tests do there.

It has mounts and processes of its own, and no kernel.
"""

from __future__ import annotations

import contextlib
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

from testbed.labs.booted import image
from testbed.labs.confinement import host_tools
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


@contextlib.contextmanager
def debian(root: Path) -> Iterator[Machine]:
    """Give a machine with apt's sources and this machine's proxies and certificates.

    The lab's image has been built; ``root`` is not there yet, and is removed afterwards.
    """
    built = image.built()
    assert built is not None
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
    try:
        yield Machine(root)
    finally:
        shutil.rmtree(root)
