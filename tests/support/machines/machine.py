"""A fresh machine, booted by QEMU without KVM, and reached by ssh from this machine only.

Invariants: the disk in the cache is never written, what the machine writes is gone with it; QEMU
ends with the block, and with the process that booted it, however that ends. It ends too when the
machine goes down, also to restart: :meth:`Machine.boot_again` is then what a boot loader would be.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.errors import RunError
from testbed.labs.stock import emulator
from testbed.machine import cache, scratch
from testbed.machine.process import GUARD, BuildReport, end_group, output_of, tail
from tests.support.machines import disk
from tests.support.runs.clusters import free_port

BOOT_TIMEOUT_S = 600.0
DOWN_TIMEOUT_S = 300.0
COPY_TIMEOUT_S = 300.0
LOOK_S = 0.2
GUARD_S = 30.0
MEMORY_BYTES = 4 << 30
CPUS = 2
#: The name ssh and Ansible know a machine by, whatever its port.
NAME = "machine"
PREFIX = ".booted-"
CONSOLE = "console.log"
READY = re.compile(rb"(Started|Listening on) .*OpenBSD Secure Shell")
#: What costs an emulated machine many seconds and is of no use to who comes by ssh.
MASKED = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "e2scrub_reap.service", "getty@tty1.service",
    "modprobe@drm.service", "modprobe@efi_pstore.service", "serial-getty@ttyS0.service",
    "systemd-binfmt.service", "systemd-network-generator.service",
    "systemd-networkd-persistent-storage.service", "systemd-udev-load-credentials.service",
)  # fmt: skip
UNUSED_MODULES = (
    "aesni_intel", "cfg80211", "crc32_pclmul", "crct10dif_pclmul", "drm", "evdev",
    "ghash_clmulni_intel", "iTCO_wdt", "kvm", "kvm_amd", "lpc_ich", "pcspkr", "sha1_ssse3",
    "sha256_ssse3", "sha512_ssse3", "vmw_vmci",
)  # fmt: skip
KERNEL_WORDS = (
    "root=LABEL=root", "rw", "console=ttyS0", "systemd.show_status=1", "mitigations=off",
    f"module_blacklist={','.join(UNUSED_MODULES)}",
)  # fmt: skip
LIBRARIES = "usr/lib/x86_64-linux-gnu"
#: Copied for each boot. The kernel and its first root are the newest that the disk has.
DISK, KERNEL, INITRD = "disk.img", "vmlinuz", "initrd"


@dataclass(frozen=True)
class Share:
    """A folder of this machine that the other one has in the same place."""

    folder: Path
    writable: bool = False


@dataclass
class Machine:
    """A machine that answers to ssh; ``switch_on`` starts its QEMU."""

    release: str
    folder: Path
    switch_on: Callable[[], subprocess.Popen[bytes]]
    process: subprocess.Popen[bytes]

    @property
    def ssh(self) -> list[str]:
        """Return the command that runs what follows it, as root of the machine."""
        return ["ssh", "-F", str(self.folder / "ssh_config"), NAME]

    @property
    def console(self) -> Path:
        """Return the file with all that the machine said on its serial line."""
        return self.folder / CONSOLE

    @property
    def inventory(self) -> Path:
        """Return an inventory for Ansible with this machine."""
        return self.folder / "inventory"

    def run(
        self, command: str, *, timeout_s: float = 120.0, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a shell command as root of the machine; its status is for the caller to look at."""
        return subprocess.run(
            [*self.ssh, command],
            input=stdin, capture_output=True, text=True, timeout=timeout_s, check=False,
        )  # fmt: skip

    def check(self, command: str, *, timeout_s: float = 120.0, stdin: str = "") -> str:
        """Run a command as :meth:`run` does; return its output, raise where it fails."""
        done = self.run(command, timeout_s=timeout_s, stdin=stdin)
        if done.returncode != 0:
            raise RunError(
                f"{command} failed", where=f"machine with {self.release}", wanted="status 0",
                got=f"{done.returncode}: {done.stderr.strip()[-2000:]}",
            )  # fmt: skip
        return done.stdout

    def disconnect(self) -> None:
        """End the connection all commands share; the next begins another, and a new session.

        A handshake costs an emulated machine seconds.
        """
        subprocess.run([*self.ssh[:-1], "-q", "-O", "exit", NAME], check=False)

    def boot_again(self) -> None:
        """Wait until the machine has gone down; boot it with the newest kernel it has, as GRUB.

        Folders that it shared are not mounted again.

        Raises:
            RunError: it did not go down, or not get as far as its ssh server, in time.
        """
        try:
            self.process.wait(timeout=DOWN_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise RunError(
                "the machine did not go down",
                wanted=f"its end within {DOWN_TIMEOUT_S:.0f} s", got=tail(self.console),
            ) from None  # fmt: skip
        self.disconnect()
        disk.extract_newest_kernel(self.folder / DISK, self.folder / KERNEL, self.folder / INITRD)
        said_bytes = self.console.stat().st_size
        self.process = self.switch_on()
        _await_ready(self, BOOT_TIMEOUT_S, said_bytes)


@contextlib.contextmanager
def booted(
    release: str,
    report: BuildReport,
    *,
    shares: Sequence[Share] = (),
    memory_bytes: int = MEMORY_BYTES,
    cpus: int = CPUS,
    packages: Sequence[str] = (),
    devices: Sequence[str] = (),
    masked: Sequence[str] = MASKED,
    boot_timeout_s: float = BOOT_TIMEOUT_S,
) -> Iterator[Machine]:
    """Boot a fresh machine for the block, making its disk first if needed.

    Args:
        release: bookworm, trixie or noble.
        report: told how far the disk's making is.
        shares: folders of this machine, mounted in the same place.
        memory_bytes: of the machine.
        cpus: of the machine.
        packages: installed besides what a fresh machine has.
        devices: more arguments for QEMU.
        masked: units that are not started.
        boot_timeout_s: within which its ssh server runs.

    Raises:
        RunError: it did not get as far as its ssh server in time.
        UnsupportedError: it cannot be made here.
    """
    place = disk.ensure(disk.named(release), report, packages)
    qemu = emulator.ensure(report)
    with scratch.scratch(cache.root(), PREFIX) as folder, contextlib.ExitStack() as held:
        port = free_port()
        _write_keys(folder, port, (place / "host_key.pub").read_text())
        files = [str(place / name) for name in (DISK, KERNEL, INITRD)]
        output_of(["cp", *files, str(folder)], timeout_s=COPY_TIMEOUT_S)
        words = [*KERNEL_WORDS, *(f"systemd.mask={one}" for one in masked)]
        argv = _command(qemu, folder, port, words, memory_bytes, cpus)
        for number, share in enumerate(shares):
            argv += _shared(f"share{number}", share)
        argv += devices

        def switch_on() -> subprocess.Popen[bytes]:
            return held.enter_context(_guarded(argv, folder))

        machine = Machine(release, folder, switch_on, switch_on())
        _await_ready(machine, boot_timeout_s)
        held.callback(machine.disconnect)
        for number, share in enumerate(shares):
            _mount(machine, f"share{number}", share)
        yield machine


def _write_keys(folder: Path, port: int, host_key: str) -> None:
    """Write a key for this machine alone, and what ssh and Ansible need to know of it."""
    key = folder / "key"
    output_of(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "one boot", "-f", str(key)])
    (folder / "known_hosts").write_text(f"{NAME} {host_key}")
    lines = {
        "HostName": "127.0.0.1", "HostKeyAlias": NAME, "Port": port, "User": "root",
        "IdentityFile": key, "IdentitiesOnly": "yes", "PreferredAuthentications": "publickey",
        "UserKnownHostsFile": folder / "known_hosts", "StrictHostKeyChecking": "yes",
        "ControlMaster": "auto", "ControlPath": folder / "control", "ControlPersist": "yes",
        "ConnectTimeout": 60, "ServerAliveInterval": 30,
    }  # fmt: skip
    text = "".join(f"\t{name} {value}\n" for name, value in lines.items())
    (folder / "ssh_config").write_text(f"Host {NAME}\n{text}")
    (folder / "inventory").write_text(
        f"[all]\n{NAME} ansible_user=root ansible_ssh_args=''"
        f" ansible_ssh_common_args='-F {folder}/ssh_config'\n"
    )


def _command(
    qemu: Path,
    folder: Path,
    port: int,
    kernel_words: Sequence[str],
    memory_bytes: int,
    cpus: int,
) -> list[str]:
    """Return the command line of QEMU, run by the loader that it was unpacked with."""
    key = (folder / "key.pub").read_text().strip()
    words = f'{" ".join(kernel_words)} "systemd.set_credential=ssh.authorized_keys.root:{key}"'
    return [
        str(qemu / "usr/lib64/ld-linux-x86-64.so.2"), "--library-path", str(qemu / LIBRARIES),
        str(qemu / emulator.PROGRAM[1:]),
        "-L", str(qemu / "usr/share/qemu"), "-L", str(qemu / "usr/share/seabios"),
        "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio",
        "-machine", "q35,i8042=off,sata=off,smbus=off,usb=off,vmport=off",
        "-accel", "tcg,thread=multi", "-cpu", "max,la57=off,svm=off",
        "-smp", str(cpus), "-m", f"{memory_bytes >> 20}M",
        "-kernel", str(folder / KERNEL), "-initrd", str(folder / INITRD), "-append", words,
        "-drive", f"file={folder / DISK},if=virtio,format=raw,cache=unsafe",
        "-netdev", f"user,id=ssh,hostfwd=tcp:127.0.0.1:{port}-:22",
        "-device", "virtio-net-pci,netdev=ssh,romfile=",
        "-device", "virtio-rng-pci",
    ]  # fmt: skip


def _shared(name: str, share: Share) -> list[str]:
    rights = "" if share.writable else ",readonly=on"
    return [
        "-fsdev", f"local,id={name},path={share.folder},security_model=none{rights}",
        "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}",
    ]  # fmt: skip


def _mount(machine: Machine, name: str, share: Share) -> None:
    # Nobody else changes what is read only, so it may be remembered.
    rights = "rw" if share.writable else "ro,cache=loose"
    place = shlex.quote(str(share.folder))
    options = f"trans=virtio,version=9p2000.L,msize=524288,{rights}"
    machine.check(f"mkdir -p {place} && mount -t 9p -o {options} {name} {place}")


@contextlib.contextmanager
def _guarded(argv: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run QEMU for the block; its guard ends it with this process too."""
    watched, lifeline = os.pipe()
    with contextlib.ExitStack() as held, (folder / CONSOLE).open("ab") as out:
        held.callback(os.close, lifeline)
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), str(watched), *argv],
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
            start_new_session=True, pass_fds=[watched],
        )  # fmt: skip
        os.close(watched)
        try:
            yield child
        finally:
            held.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=GUARD_S)
            end_group(child)


def _await_ready(machine: Machine, timeout_s: float, said_bytes: int = 0) -> None:
    """Wait until systemd says that the ssh server runs, after what was said before."""
    deadline_s = time.monotonic() + timeout_s
    while not READY.search(machine.console.read_bytes(), said_bytes):
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = machine.process.wait(timeout=LOOK_S)
            raise RunError(f"the machine ended with status {status}", got=tail(machine.console))
        if time.monotonic() > deadline_s:
            raise RunError(
                "the machine did not boot",
                wanted=f"an ssh server within {timeout_s:.0f} s", got=tail(machine.console),
            )  # fmt: skip
