"""The kernel's own packetdrill scripts, repeated while both cores are busy: not a byte differs.

    GROUNDTRUTH_PACKETDRILL=DIR python -m pytest tests/long/packetdrill_repeats.py

DIR is packetdrill's source, which is in no package. ``GROUNDTRUTH_PACKETDRILL_REPEATS`` (20) is how
often, ``GROUNDTRUTH_PACKETDRILL_SCRIPTS`` (all) how many of the scripts, ``..._KERNEL`` (7.3) on
which kernel. Some minutes a round.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.packetdrill import kernel, scripts

pytestmark = pytest.mark.timeout(8 * 3600)
NAME = "GROUNDTRUTH_PACKETDRILL"
REPEATS = int(os.environ.get(f"{NAME}_REPEATS", "20"))
KERNEL = os.environ.get(f"{NAME}_KERNEL", "7.3")
#: So many scripts pass at the least.
LEAST_PASSING = 30


@pytest.fixture
def busy_cores() -> Iterator[None]:
    """Keep every core busy with something else."""
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def chosen(tmp_path: Path) -> Path:
    """Return a folder with the first scripts of the kernel's, all with their helpers."""
    files = kernel.own_scripts(kernel.ensure(KERNEL, lambda _what, _done: None))
    names = [one.name for one in scripts.of_kernel(files).scripts]
    left_out = set(names[int(os.environ.get(f"{NAME}_SCRIPTS", len(names))) :])
    folder = tmp_path / "chosen"
    folder.mkdir()
    for name, content in files.items():
        if name not in left_out:
            (folder / name).write_bytes(content)
    return folder


def run(source: str, folder: Path, data_dir: Path) -> list[dict[str, Any]]:
    """Run the scripts by the command; return the records of all cases."""
    done = subprocess.run(
        [
            sys.executable, "-m", "testbed", "packetdrill", "--with", source, "--kernel", KERNEL,
            "--pcap", "--data-dir", str(data_dir), str(folder),
        ],
        check=False, timeout=4 * 3600,
    )  # fmt: skip
    assert done.returncode in (0, 1)
    (made,) = data_dir.glob("*-packetdrill")
    cases: list[dict[str, Any]] = json.loads((made / "packetdrill.json").read_text())["cases"]
    return cases


@pytest.mark.usefixtures("busy_cores")
def test_no_verdict_output_or_packet_differs(tmp_path: Path) -> None:
    source = os.environ[NAME]
    folder = chosen(tmp_path)
    first = run(source, folder, tmp_path / "first")
    whole = {one["script"]: True for one in first}
    for one in first:
        whole[one["script"]] &= one["passed"]
        assert all(one["sha256"].values()), one
    assert sum(whole.values()) >= LEAST_PASSING
    for number in range(1, REPEATS):
        again = run(source, folder, tmp_path / f"again-{number}")
        assert again == first
