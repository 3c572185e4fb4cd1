"""A fresh Debian or Ubuntu on a disk: its own signed kernel, systemd, Python and an ssh server.

A finished entry in the cache holds ``disk.img`` (ext4, sparse), ``vmlinuz``, ``initrd`` and
``host_key.pub``. What is no part of a fresh installation: an address on QEMU's network, this
machine's proxies and certificates, and a first boot file system with two drivers only.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from model.errors import RunError, StudyError
from testbed.labs.booted import debian
from testbed.labs.confinement import host_tools
from testbed.labs.stock.distributions import ubuntu_mirror
from testbed.machine import cache
from testbed.machine.process import BuildReport, Watch, namespaces, output_of, run_logged

PACKAGES = (
    "ca-certificates", "dbus", "initramfs-tools", "iproute2", "kmod", "libpam-systemd",
    "openssh-server", "python3", "sudo", "systemd-sysv", "udev", "zstd",
)  # fmt: skip
DISK_BYTES = 12 << 30
BUILD_BYTES = 2_500_000_000
BUILD_TIMEOUT_S = 1200.0
LOG_LINES = 16
#: Raised when this file changes what is made of the same inputs.
RECIPE = "2"
#: What QEMU's network gives a machine, without asking for it.
NETWORK = "[Match]\nType=ether\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\n"
BOOT_MODULES = "virtio_pci\nvirtio_blk\next4\n"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


@dataclass(frozen=True)
class Release:
    """A release of a distribution, the package of the kernel it boots, and what else it needs."""

    name: str
    kernel: str
    components: str = "main"
    packages: tuple[str, ...] = ()


RELEASES = {
    one.name: one
    for one in (
        Release("bookworm", "linux-image-amd64"),
        Release("trixie", "linux-image-amd64"),
        # The kernel of Ubuntu's images for virtual machines, with the fewest modules.
        # A minimal Ubuntu, unlike Debian, has no apt.
        Release("noble", "linux-image-virtual", "main universe", ("apt",)),
    )
}


def named(name: str) -> Release:
    """Return that release; raise :class:`StudyError` where it is none of ours."""
    if name not in RELEASES:
        raise StudyError("no such release", wanted=" ".join(sorted(RELEASES)), got=name)
    return RELEASES[name]


def ensure(release: Release, report: BuildReport, packages: Sequence[str] = ()) -> Path:
    """Return the folder with the disk, making it first if needed; ``packages`` are installed too.

    Raises:
        UnsupportedError: this machine's apt knows no mirror of that distribution.
    """
    sources, options = _archive(release)
    wanted = sorted({*PACKAGES, release.kernel, *release.packages, *packages})
    certificates = CERTIFICATES.read_bytes() if CERTIFICATES.is_file() else b""
    key = cache.digest_of(
        RECIPE, NETWORK, BOOT_MODULES, str(DISK_BYTES), *wanted, *sources, *options, certificates
    )

    def build(folder: Path) -> None:
        _build(folder, release, report, wanted, sources, options)

    return cache.entry(f"machine-{release.name}", key, build)


def extract_newest_kernel(image: Path, kernel: Path, initrd: Path) -> None:
    """Write the newest kernel in a disk's /boot, and its first root, to two files beside the disk.

    Raises:
        RunError: there is none; or the disk cannot be read.
    """
    with tempfile.TemporaryDirectory(dir=image.parent) as place:
        output_of(["/sbin/debugfs", "-R", f"rdump /boot {place}", str(image)])
        found = max(
            Path(place, "boot").glob("vmlinuz-*"),
            key=lambda one: debian.number(one.name), default=None,
        )  # fmt: skip
        if found is None:
            raise RunError("no kernel is on the disk", where=str(image), wanted="/boot/vmlinuz-*")
        found.with_name(found.name.replace("vmlinuz", "initrd.img")).replace(initrd)
        found.replace(kernel)


def _archive(release: Release) -> tuple[list[str], tuple[str, ...]]:
    """Return the lines of apt's sources, and apt's options, of a machine of that release."""
    if release.name != "noble":
        mirrors = host_tools.mirrors()
        lines = [f"{release.name} main", f"{release.name}-updates main"]
        sources = [f"deb {mirrors.main} {line}" for line in lines]
        if mirrors.security:
            sources.append(f"deb {mirrors.security} {release.name}-security main")
        return sources, mirrors.apt_options
    mirror = ubuntu_mirror()
    options = "[signed-by=/usr/share/keyrings/ubuntu-archive-keyring.gpg]"
    suites = (f"noble{suffix}" for suffix in ("", "-updates", "-security"))
    sources = [f"deb {options} {mirror} {suite} {release.components}" for suite in suites]
    return sources, host_tools.mirrors().apt_options


def _build(
    folder: Path,
    release: Release,
    report: BuildReport,
    packages: Sequence[str],
    sources: Sequence[str],
    options: Sequence[str],
) -> None:
    cache.need_space(folder, BUILD_BYTES, f"a machine with {release.name}")
    mmdebstrap = host_tools.find(host_tools.MMDEBSTRAP)
    what = f"a fresh {release.name}"
    environment = {
        **os.environ,
        "TMPDIR": str(folder),
        "PATH": f"{mmdebstrap.parent}:/usr/sbin:/sbin:{os.environ.get('PATH', '')}",
    }
    within = namespaces()
    bootstrap = [
        str(mmdebstrap), "--mode=root", "--variant=minbase", "--format=tar",
        f"--include={','.join(packages)}",
        '--aptopt=APT::Install-Recommends "false"', '--aptopt=Acquire::Languages "none"',
        "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*",
        "--dpkgopt=path-exclude=/usr/share/locale/*",
        *(f"--aptopt={option}" for option in options),
        f"--essential-hook={_before_the_kernel()}",
        f"--customize-hook={_as_installed(release, options)}",
        release.name, str(folder / "root.tar"), *sources,
    ]  # fmt: skip
    run_logged(
        bootstrap,
        log=folder / "build.log", what=what, timeout_s=BUILD_TIMEOUT_S, env=environment,
        within=within, watch=Watch(what=what, expected_lines=LOG_LINES, report=report),
    )  # fmt: skip
    run_logged(
        ["sh", "-euc", _to_disk(), "to-disk", str(folder), str(DISK_BYTES >> 20)],
        log=folder / "build.log", what=f"the disk of {what}", timeout_s=BUILD_TIMEOUT_S,
        env=environment, within=within,
    )  # fmt: skip


def _write(text: str, place: str) -> str:
    """Return a hook's command that writes a file into the root."""
    return f'mkdir -p "$1{Path(place).parent}"; printf %s {shlex.quote(text)} >"$1{place}"; '


def _before_the_kernel() -> str:
    """Return the hook that says what the kernel's package puts into its first file system."""
    return _write("MODULES=list\n", "/etc/initramfs-tools/conf.d/modules") + _write(
        BOOT_MODULES, "/etc/initramfs-tools/modules"
    )


def _as_installed(release: Release, options: Sequence[str]) -> str:
    """Return the hook that does what an installer does besides packages."""
    lines = "".join(f"{option.rstrip(';')};\n" for option in options)
    text = 'rm -f "$1/etc/apt/apt.conf.d/99mmdebstrap" "$1/etc/dpkg/dpkg.cfg.d/99mmdebstrap"; '
    text += _write(lines, "/etc/apt/apt.conf.d/20proxy")
    text += _write(NETWORK, "/etc/systemd/network/80-wired.network")
    text += _write("nameserver 10.0.2.3\n", "/etc/resolv.conf.new")
    text += 'mv "$1/etc/resolv.conf.new" "$1/etc/resolv.conf"; '
    text += _write(f"{release.name}\n", "/etc/hostname")
    text += _write(f"127.0.0.1 localhost\n127.0.1.1 {release.name}\n", "/etc/hosts")
    text += 'chroot "$1" systemctl enable systemd-networkd.service; '
    if CERTIFICATES.is_file():
        text += f'cp -L {CERTIFICATES} "$1{CERTIFICATES}"; '
    return text


def _to_disk() -> str:
    """Return the script that makes a disk of the archive, in folder $1, of $2 MiB; no mount."""
    return """
cd "$1"
mkdir root
tar --extract --preserve-permissions --numeric-owner --exclude='./dev/*' --file root.tar -C root
touch root/etc/.updated root/var/.updated
cp root/boot/vmlinuz-* vmlinuz
cp root/boot/initrd.img-* initrd
cp root/etc/ssh/ssh_host_ed25519_key.pub host_key.pub
mke2fs -q -t ext4 -L root -d root disk.img "$2M"
chmod 0644 vmlinuz initrd disk.img
rm -rf root root.tar
"""
