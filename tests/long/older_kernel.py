"""Linux 6.1 runs a study as newer kernels do: losses as foretold, all telemetry, every cell counts.

    python -m pytest tests/long/older_kernel.py

Some minutes: it builds Linux 6.1, and once more with what its netem needs.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from model import run_folder
from testbed.command.cli import command_status

pytestmark = pytest.mark.timeout(3600)
NAME = "6.1+netem-seed"


def test_random_losses_are_those_of_the_seed(tmp_path: Path) -> None:
    words = ["run", "wireless", "--kernel", "6.1", "--reps", "2", "--at", "loss=1%", "--scale",
             "0.1", "--no-sensitivity", "-D", str(tmp_path)]  # fmt: skip
    assert command_status(words) == 0
    cells = list((tmp_path / "latest").glob("cells/*"))
    assert len(cells) == 3
    for folder in cells:
        checks = json.loads((folder / run_folder.VERIFY).read_text())["checks"]
        assert all(check["agrees"] for check in checks)
        cell = json.loads((folder / run_folder.CELL).read_text())
        assert cell["lab"]["kernel"] == NAME
        assert cell["lab"]["kernel_package"].endswith(" +netem-seed")
        release = json.loads((folder / run_folder.ENV).read_text())["kernel_release"]
        assert release.startswith("6.1.")
        assert "-patched-" in release
        if cell["purpose"] != "measure":
            assert {check["check"] for check in checks} >= {"loss forward", "rtt"}
            continue
        audit = pl.read_parquet(folder / run_folder.AUDIT_TABLE)
        assert audit["closes"].all()
        congestion = pl.read_parquet(folder / run_folder.CONGESTION_TABLE)
        assert {"tcp", "sctp"} == set(congestion["protocol"])
        drops = pl.read_parquet(folder / run_folder.DROPS_TABLE)
        assert drops.height > 0
        assert set(drops["event"]) == {"kfree_skb"}
