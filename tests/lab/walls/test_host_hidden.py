"""Nothing of the host's files but their names and contents reaches a guest, so no bytes change."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import resource
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from model.cell import Cell, Limits
from testbed.campaign import digests
from testbed.campaign.run_cell import execute
from testbed.labs.booted import lab_code
from testbed.labs.booted.booting import Boot
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.machine import contents, trees

#: All a guest can ask of its files and its machine; unsorted, as folders give it.
LOOK = """
set -e
exec > /cell/seen
cd /
find /etc /usr/bin /usr/lib/python3.13 /usr/share /var/lib/dpkg /gt/code /cell \
  -printf '%p %y %m %n %U %G %s %b %i %D %A@ %T@ %C@ %l\n'
stat --format '%n %W %o %d' /usr /usr/bin/env /gt/code/init /cell
stat --file-system --format '%n %a %b %c %d %f %i %l %s %S' / /gt/code /cell
cat /proc/cpuinfo /proc/cmdline /proc/iomem /proc/mounts /proc/version /proc/self/auxv | od -c
uname -a
ulimit -a
env
"""


@pytest.fixture(scope="module", params=["memory", "disk"])
def copied(
    request: pytest.FixtureRequest, lab: VirtualLab, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[VirtualLab]:
    """The lab as ``cp -r`` copies it: new times, orders and inodes, no hard links, another umask.

    In memory it is another file system, too; on the disk all files were read and touched since.
    """
    place = Path("/dev/shm") if request.param == "memory" else tmp_path_factory.mktemp("copy")
    folder = place / f"groundtruth-test-{os.getpid()}"
    folder.mkdir()
    try:
        parts = {"image": lab.image.parent, "kernel": lab.kernel, "code": lab.code}
        for name, source in parts.items():
            subprocess.run(
                ["sh", "-c", 'umask 077; cp -r "$1" "$2"', "sh", str(source), str(folder / name)],
                check=True,
                timeout=300,
            )
        if request.param == "disk":
            for path in folder.rglob("*"):
                if path.is_file() and not path.is_symlink():
                    path.touch()
                    path.read_bytes()
        copy = dataclasses.replace(
            lab, image=folder / "image" / "root", kernel=folder / "kernel", code=folder / "code"
        )
        copy.check_whole(thorough=False)  # as before every run
        yield copy
    finally:
        trees.remove(folder)


def _digests(cell: Cell, folder: Path, lab: VirtualLab) -> dict[str, str]:
    execute(cell, folder, lab, threading.Event())
    return digests.of_cell(folder)


@pytest.fixture(scope="module")
def built(
    wireless: Callable[..., Cell], lab: VirtualLab, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Cell, dict[str, str]]:
    """A cell whose losses come from the kernel's random numbers, and its files' digests."""
    cell = wireless(duration_s=30.0, pcap=True)
    return cell, _digests(cell, tmp_path_factory.mktemp("built") / "cell", lab)


def test_a_copy_of_the_lab_gives_the_same_bytes(
    built: tuple[Cell, dict[str, str]], copied: VirtualLab, tmp_path: Path
) -> None:
    cell, first = built
    assert digests.differences(first, _digests(cell, tmp_path / "cell", copied)) == []


def _seen(lab: VirtualLab, folder: Path) -> str:
    """Return what a guest sees, besides its own bytes: a file of each kind it may leave, too."""
    folder.mkdir(parents=True)
    (folder / "run.sh").write_text(LOOK)
    boot = Boot(
        seed=1,
        limits=Limits(wall_s=120.0, virtual_s=600.0),
        program=("/bin/sh", "/cell/run.sh"),
    )
    lab.boot(boot, folder, threading.Event())
    return (folder / "seen").read_text()


def test_a_guest_sees_the_same_whatever_its_host_does_to_the_files(
    lab: VirtualLab, copied: VirtualLab, tmp_path: Path
) -> None:
    first = _seen(lab, tmp_path / "first")
    assert len(first.splitlines()) > 3000
    second = _seen(copied, Path(str(copied.code)).parent / "cell")
    differing = [
        pair
        for pair in zip(first.splitlines(), second.splitlines(), strict=True)
        if pair[0] != pair[1]
    ]
    assert differing[:5] == []


@contextlib.contextmanager
def _another_start() -> Iterator[None]:
    """Start processes for the block with another umask, other limits, fewer CPUs, another name."""
    limits = {resource.RLIMIT_NOFILE: 400, resource.RLIMIT_STACK: 1 << 20, resource.RLIMIT_CORE: 0}
    before = {what: resource.getrlimit(what) for what in limits}
    cpus, mask = os.sched_getaffinity(0), os.umask(0o077)
    try:
        for what, soft in limits.items():
            resource.setrlimit(what, (soft, before[what][1]))
        os.sched_setaffinity(0, {min(cpus)})
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LANG", "tr_TR.UTF-8")
            patch.setenv("TMPDIR", "/nonesuch")
            patch.setenv("GLIBC_TUNABLES", "glibc.malloc.check=1")
            patch.setenv("FILLER", "x" * 100_000)
            yield
    finally:
        os.umask(mask)
        os.sched_setaffinity(0, cpus)
        for what, pair in before.items():
            resource.setrlimit(what, pair)


def test_how_the_lab_was_started_changes_no_byte(
    built: tuple[Cell, dict[str, str]], lab: VirtualLab, tmp_path: Path
) -> None:
    cell, first = built
    with _another_start():
        second = _digests(cell, tmp_path / "a longer name of its folder" / "cell", lab)
    assert digests.differences(first, second) == []


def test_a_checkout_that_only_its_owner_may_read_gives_the_same_code(
    lab: VirtualLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, built = tmp_path / "project", tmp_path / "built"
    built.mkdir()
    for name in {Path(folder).parts[0] for folder in lab_code.FOLDERS}:
        shutil.copytree(
            lab_code.PROJECT / name, project / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    subprocess.run(["chmod", "-R", "go=", str(project)], check=True, timeout=60)
    monkeypatch.setattr(lab_code, "PROJECT", project)
    monkeypatch.setattr(lab_code, "GUEST", project / "testbed" / "labs" / "booted" / "boot")
    lab_code._build(built, lab.image)
    assert contents.digest(built) == contents.digest(lab.code)
