"""A guest is root inside, and still reaches nothing of the host but its own cell folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

Script = Callable[..., Path]

pytestmark = pytest.mark.lab


def test_only_the_cell_folder_is_written(script: Script, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    folder = script(
        f"""
        echo mine > /cell/mine
        for place in /etc/hostname /usr/bin/x /gt/code/x /gt/kernel/linux {outside}; do
            (echo changed > $place) 2>/dev/null && echo $place >> /cell/written
        done
        exit 0
        """
    )
    assert (folder / "mine").read_text() == "mine\n"
    assert outside.read_text() == "untouched"
    written = folder / "written"
    assert not written.exists(), f"the guest could write {written.read_text()}"


@pytest.mark.parametrize("way", ["/", "../..", "/cell/../../.."])
def test_a_second_hostfs_mount_shows_the_sandbox_only(
    script: Script, tmp_path: Path, way: str
) -> None:
    # Guest root may mount any folder the kernel's own process can see; that must be the image.
    secret = tmp_path / "secret"
    secret.write_text("host file")
    folder = script(
        f"""
        mkdir /tmp/host
        mount -t hostfs none /tmp/host -o hostfs={way} || mount -t hostfs none /tmp/host -o {way}
        ls /tmp/host > /cell/seen
        cat /tmp/host{secret} > /cell/stolen 2>/dev/null
        (echo x > /tmp/host/etc/changed) 2>/dev/null && echo yes > /cell/changed
        exit 0
        """
    )
    assert (folder / "stolen").read_text() == ""
    assert not (folder / "changed").exists()
    home_entries = {entry.name for entry in Path("/").iterdir()} - {"cell", "gt"}
    image_only = {"cell", "gt"}
    seen = set((folder / "seen").read_text().split())
    assert image_only <= seen, f"mounted something else: {sorted(seen)}"
    assert not (seen - home_entries - image_only - {"lib64", "media"}), sorted(seen)


def test_no_network_of_the_host(script: Script) -> None:
    folder = script("cat /proc/net/dev > /cell/devices; ip route > /cell/routes; exit 0")
    devices = {
        line.split(":")[0].strip()
        for line in (folder / "devices").read_text().splitlines()
        if ":" in line
    }
    assert devices - {"lo", "ifb0", "ifb1", "dummy0"} == set()
    assert (folder / "routes").read_text() == ""


def test_what_the_guest_writes_is_ours(script: Script) -> None:
    folder = script("echo x > /cell/file; exit 0")
    assert (folder / "file").stat().st_uid == os.getuid()
    assert not (folder / "file").stat().st_mode & 0o6000
