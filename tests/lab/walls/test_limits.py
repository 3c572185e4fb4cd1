"""What a guest takes of the host has an end, and an error that names it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from model import run_folder
from model.errors import RunError
from testbed.labs.confinement.allowance import LEAST, MIB
from testbed.labs.confinement.supervise import KEPT_BYTES
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support import as_user

Script = Callable[..., Path]


def disk_bytes(folder: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def test_disk_in_one_file(script: Script, tmp_path: Path) -> None:
    with pytest.raises(
        RunError,
        match=r"wrote too much into its folder: wanted at most 268\.4 MB, got 26.* or more",
    ):
        script("dd if=/dev/zero of=/cell/big bs=1M count=3000; exit 0")
    assert disk_bytes(tmp_path) < 2 * LEAST.disk_bytes


def test_disk_in_many_files(script: Script, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"wrote too much into its folder: wanted at most 268\.4 MB"):
        script(
            "i=0; while [ $i -lt 100 ]; do"
            " dd if=/dev/zero of=/cell/f$i bs=1M count=30; i=$((i+1)); done; sleep 500"
        )
    assert disk_bytes(tmp_path) < 3 * LEAST.disk_bytes


def test_disk_in_files_that_have_no_name_any_more(script: Script) -> None:
    with pytest.raises(RunError, match=r"wrote too much into its folder: wanted at most 268\.4 MB"):
        script(
            'for fd in 3 4 5 6 7 8 9; do eval "exec $fd>/cell/x$fd"; rm /cell/x$fd;'
            " dd if=/dev/zero bs=1M count=200 >&$fd; done; sleep 500"
        )


def test_a_sparse_file_cannot_be_larger_than_a_full_one(script: Script) -> None:
    folder = script("truncate -s 4T /cell/hole; exit 0")
    assert (folder / "hole").stat().st_size <= LEAST.file_bytes


@pytest.mark.parametrize(
    "text",
    [
        "i=0; while :; do echo > /cell/$i; i=$((i+1)); done",
        "cd /cell; while :; do mkdir d && cd d; done",
    ],
    ids=["files", "depth"],
)
def test_files_and_folders(script: Script, text: str) -> None:
    with pytest.raises(RunError, match="too many files or folders: wanted at most 1000, 16 fold"):
        script(text)


def test_the_console(script: Script, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"said too much on its console: wanted at most 8\.4 MB"):
        script("echo 'lab: phase talking'; yes abcdefghijklmnopqrstuvwxyz")
    console = (tmp_path / run_folder.CONSOLE).read_text()
    assert "lab: phase talking" in console[:1000]
    assert "bytes left out]" in console
    assert len(console) < 2 * KEPT_BYTES + 100


def test_processes(script: Script) -> None:
    with pytest.raises(
        RunError, match="the lab ran out of processes: wanted at most 256 on the host"
    ):
        script("i=0; while [ $i -lt 400 ]; do sleep 500 & i=$((i+1)); done; exit 0")


def counted_already() -> int:
    """Return how many processes and threads a limit counts before a lab starts.

    An ordinary user's counts all that the user runs; a lab that root starts has a user of its own.
    """
    found = 0
    for place in Path("/proc").glob("[0-9]*") if os.geteuid() != 0 else ():
        with contextlib.suppress(OSError):
            if place.stat().st_uid == os.geteuid():
                found += len(list((place / "task").iterdir()))
    return found


def test_a_machine_that_grants_less_than_a_lab_may_take(
    script: Script, labs_left: Callable[[], dict[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = VirtualLab.command

    def within(limits: list[str]) -> None:
        monkeypatch.setattr(
            VirtualLab, "command", lambda *args: ["prlimit", *limits, *command(*args)]
        )

    # A user's limit counts the last lab's processes too, which may take a moment to be gone.
    assert labs_left() == {}
    within(["--nofile=200:200", f"--nproc={counted_already() + 200}"])
    script("sleep 1; exit 0", name="enough")
    for limit, value, what in (("nofile", 40, "open files"), ("nproc", 30, "processes")):
        assert labs_left() == {}
        within([f"--{limit}={value + counted_already() * (limit == 'nproc')}"])
        with pytest.raises(RunError, match=f"the lab ran out of {what}: wanted at most"):
            script("for i in $(seq 100); do sleep 5 & done; wait; exit 0", name=what)


def test_memory_beside_the_kernels_own(script: Script) -> None:
    folder = script(
        """
        mkdir /tmp/host
        for place in /tmp /gt /run; do
            mount -t hostfs none /tmp/host -o hostfs=$place || continue
            dd if=/dev/zero of=/tmp/host/filled bs=64k count=64000
            stat -c %s /tmp/host/filled >> /cell/sizes
            rm /tmp/host/filled; umount /tmp/host
        done
        exit 0
        """
    )
    sizes = [int(line) for line in (folder / "sizes").read_text().split()]
    assert sizes, "none could be filled"
    assert max(sizes) <= MIB


def test_a_cell_within_its_limits_is_not_disturbed(script: Script) -> None:
    folder = script(
        "dd if=/dev/zero of=/cell/most bs=1M count=200\n"
        "i=0; while [ $i -lt 150 ]; do sleep 5 & i=$((i+1)); done; wait\n"
        "i=0; while [ $i -lt 20000 ]; do echo a line of some bytes; i=$((i+1)); done\n"
        "exit 0",
    )
    assert (folder / "most").stat().st_size == 200 * MIB


def test_all_of_this_as_an_ordinary_user(lab: VirtualLab) -> None:
    if os.geteuid() != 0:
        return  # all of this is
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp=/mnt/home/pytest"]
    done = as_user.run(lab, [*words, "-k", "not ordinary", "tests/lab/walls/test_limits.py"])
    assert done.returncode == 0, done.stdout
    assert " skipped" not in done.stdout
