"""What a fresh machine of tests is restarted with: the newest kernel on its disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.errors import RunError
from testbed.machine.process import output_of
from tests.support.machines import disk


def made(folder: Path, *releases: str) -> Path:
    """Make a disk with these kernels."""
    boot = folder / "root" / "boot"
    boot.mkdir(parents=True)
    for release in releases:
        (boot / f"vmlinuz-{release}").write_text(f"kernel {release}")
        (boot / f"initrd.img-{release}").write_text(f"first root {release}")
    image = folder / "disk.img"
    output_of(["/sbin/mke2fs", "-q", "-t", "ext4", "-d", str(folder / "root"), str(image), "8M"])
    return image


def test_the_newest_kernel_is_taken(tmp_path: Path) -> None:
    image = made(tmp_path, "6.1.0-9-amd64", "6.12.9+deb12-amd64", "6.1.0-56-amd64")
    disk.extract_newest_kernel(image, tmp_path / "vmlinuz", tmp_path / "initrd")
    assert (tmp_path / "vmlinuz").read_text() == "kernel 6.12.9+deb12-amd64"
    assert (tmp_path / "initrd").read_text() == "first root 6.12.9+deb12-amd64"


def test_a_disk_without_a_kernel_is_named(tmp_path: Path) -> None:
    image = made(tmp_path)
    with pytest.raises(RunError, match=r"disk\.img: no kernel is on the disk"):
        disk.extract_newest_kernel(image, tmp_path / "vmlinuz", tmp_path / "initrd")
