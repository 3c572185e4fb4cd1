"""Fresh machines of tests with a systemd of their own, on this machine's kernel and network.

Each is a disk's files in namespaces of its own but for the network, with a control group that its
systemd has for itself; it is reached by ssh at a port of the loopback. Needs root and cgroup2.
Invariant: none of them can set the clock, the network, modules or the machine's power, whatever is
installed there; all of it is gone with the block.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.machine.process import output_of
from tests.support.machines import disk
from tests.support.runs.clusters import free_port

BOOT_TIMEOUT_S = 300.0
COPY_TIMEOUT_S = 600.0
#: Of the machine's clock, network, modules and power; units that want one are not started.
NOT_GIVEN = "-sys_time,-net_admin,-sys_module,-sys_boot"
#: What is this machine's, or asks for what there is not.
MASKED = (
    "console-getty.service", "dev-hugepages.mount", "getty.target", "systemd-binfmt.service",
    "systemd-modules-load.service", "systemd-networkd.service", "systemd-networkd.socket",
    "systemd-resolved.service", "systemd-sysctl.service", "systemd-timesyncd.service",
    "systemd-udev-trigger.service", "systemd-udevd-control.socket",
    "systemd-udevd-kernel.socket", "systemd-udevd.service",
)  # fmt: skip
#: In namespaces, in the machine's root: its mounts and devices, then its systemd.
ENTER = """
mount --make-rprivate /
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
for place in dev run; do mount -t tmpfs -o mode=755 tmpfs $place; done
mknod -m 666 dev/null c 1 3
mknod -m 666 dev/zero c 1 5
mknod -m 666 dev/full c 1 7
mknod -m 666 dev/random c 1 8
mknod -m 666 dev/urandom c 1 9
mknod -m 666 dev/tty c 5 0
mkdir dev/pts dev/shm .old
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for place in dev/shm tmp; do mount -t tmpfs -o mode=1777 tmpfs $place; done
hostname "$2"
pivot_root . .old
cd /
umount -l /.old
rmdir /.old
exec env -i container=tests PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
  setpriv --bounding-set "$3" /lib/systemd/systemd --log-target=console --log-level=warning
"""


@dataclass(frozen=True, kw_only=True)
class Contained:
    """A machine that answers to ssh."""

    name: str
    root: Path
    port: int
    folder: Path

    @property
    def variables(self) -> dict[str, object]:
        """Return how Ansible reaches it, as root."""
        return {
            "ansible_host": "127.0.0.1", "ansible_port": self.port, "ansible_user": "root",
            "ansible_ssh_private_key_file": str(self.folder / "key"),
            "ansible_ssh_common_args": f"-o UserKnownHostsFile={self.folder}/known_hosts",
        }  # fmt: skip

    def run(self, command: str, timeout_s: float = 120.0) -> subprocess.CompletedProcess[str]:
        """Run a shell command as its root; the status is for the caller to look at."""
        words = ["-n", "-i", str(self.folder / "key"), "-p", str(self.port)]
        words += ["-o", f"UserKnownHostsFile={self.folder}/known_hosts", "-o", "BatchMode=yes"]
        return subprocess.run(
            ["ssh", *words, "root@127.0.0.1", command],
            capture_output=True, text=True, timeout=timeout_s, check=False,
        )  # fmt: skip


@contextlib.contextmanager
def booted(release: str, names: Sequence[str], folder: Path) -> Iterator[list[Contained]]:
    """Boot a machine of each of these names; ``folder`` is for their files, and is kept."""
    image = disk.ensure(disk.named(release), lambda _what, _done: None)
    output_of(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")])
    host_key = " ".join((image / "host_key.pub").read_text().split()[:2])
    machines = [
        Contained(name=name, root=folder / name, port=free_port(), folder=folder) for name in names
    ]
    (folder / "known_hosts").write_text(
        "".join(f"[127.0.0.1]:{one.port} {host_key}\n" for one in machines)
    )
    with contextlib.ExitStack() as held:
        for one in machines:
            one.root.mkdir()
            held.callback(shutil.rmtree, one.root)
            output_of(
                ["/sbin/debugfs", "-R", f"rdump / {one.root}", str(image / "disk.img")],
                COPY_TIMEOUT_S,
            )  # fmt: skip
            _write(one)
            held.enter_context(_running(one))
        for one in machines:
            _await(one)
        yield machines


def _write(one: Contained) -> None:
    """Give a machine its name, this machine's name server, its ssh port and a key."""
    etc = one.root / "etc"
    (etc / "hostname").write_text(f"{one.name}\n")
    (etc / "hosts").write_text(f"127.0.0.1 localhost {one.name}\n")
    (etc / "resolv.conf").unlink(missing_ok=True)
    shutil.copy("/etc/resolv.conf", etc / "resolv.conf")
    (etc / "ssh/sshd_config.d/tests.conf").write_text(
        f"Port {one.port}\nListenAddress 127.0.0.1\nPermitRootLogin yes\n"
    )
    keys = one.root / "root/.ssh"
    keys.mkdir(mode=0o700, exist_ok=True)
    shutil.copy(one.folder / "key.pub", keys / "authorized_keys")
    for unit in MASKED:
        (etc / "systemd/system" / unit).unlink(missing_ok=True)
        (etc / "systemd/system" / unit).symlink_to("/dev/null")


@contextlib.contextmanager
def _running(one: Contained) -> Iterator[None]:
    """Run its systemd for the block, in a control group that is gone afterwards."""
    group = _groups() / f"groundtruth-tests-{os.getpid()}-{one.name}"
    group.mkdir()
    enter = f"echo $$ >{group}/cgroup.procs; exec unshare --mount --pid --uts --ipc --cgroup"
    enter += ' --fork --kill-child sh -euc "$0" "$@"'
    with contextlib.ExitStack() as held, (one.folder / f"{one.name}.console").open("wb") as said:
        held.callback(_remove_groups, group)
        child = subprocess.Popen(
            ["sh", "-euc", enter, ENTER, "enter", str(one.root), one.name, NOT_GIVEN],
            stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
        )  # fmt: skip
        held.callback(child.wait)
        held.callback(child.kill)  # what runs in it dies with it
        yield


def _groups() -> Path:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(place)
    raise AssertionError("no cgroup2 is mounted")


def _remove_groups(group: Path) -> None:
    """Remove a control group and those in it, once the last of its processes is gone."""
    deadline_s = time.monotonic() + BOOT_TIMEOUT_S
    while "populated 1" in (group / "cgroup.events").read_text():
        assert time.monotonic() < deadline_s, f"processes are left in {group}"
        time.sleep(0.1)
    for place, _, _ in os.walk(group, topdown=False):
        Path(place).rmdir()


def _await(one: Contained) -> None:
    deadline_s = time.monotonic() + BOOT_TIMEOUT_S
    while one.run("systemctl is-system-running --wait").stdout.strip() != "running":
        said = (one.folder / f"{one.name}.console").read_text(errors="replace")
        assert time.monotonic() < deadline_s, said[-2000:]
        time.sleep(0.5)
