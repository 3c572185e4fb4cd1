"""The host lab on a machine of its own: the same cells as in the virtual lab, the same findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from model import run_folder
from testbed.command.cli import command_status
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support.machines import quick

STUDY, KERNEL = "anatomy", "6.12"


@pytest.fixture(scope="module")
def ran(tracing: VirtualLab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a study on such a machine."""
    folder = tmp_path_factory.mktemp("machine")
    quick.run(
        tracing, folder,
        f"$PYTHON -m testbed run {STUDY} --lab host --reps 1 --no-sensitivity -D $OUT/results\n"
        "$PYTHON -m testbed clean --lab host\n",
    )  # fmt: skip
    return folder / "results" / "latest"


def cells(run: Path) -> list[Path]:
    return sorted((run / "cells").iterdir())


def value(path: Path) -> Any:
    return json.loads(path.read_text())


def test_each_cell_is_finished_and_says_whose_kernel_it_had(ran: Path) -> None:
    assert len(cells(ran)) == 6
    for cell in cells(ran):
        assert run_folder.is_done(cell)
        environment = value(cell / "env.json")
        assert environment["clock"] == "real"
        lab = environment["lab"]
        assert (lab["name"], lab["kernel"], lab["machine"]) == ("host", KERNEL, "UML")
        assert lab["kernel_package"].startswith(environment["kernel_release"])


def test_each_cell_says_that_the_machine_kept_up(ran: Path) -> None:
    for cell in cells(ran):
        checks = value(cell / "verify.json")["checks"]
        of_machine = {c["check"]: c["agrees"] for c in checks if c["where"] == "the machine"}
        captured = {"netem in time": True} if (cell / run_folder.PACKETS_TABLE).exists() else {}
        assert of_machine == {
            "timers in time": True,
            "longest stall": True,
            "processor time taken by others": True,
            "waiting for a processor": None,  # this kernel does not tell
            **captured,
        }
        assert not [check for check in checks if check["agrees"] is False]


def test_captures_say_whether_netem_was_in_time(ran: Path) -> None:
    measuring = [cell for cell in cells(ran) if value(cell / "cell.json")["purpose"] == "measure"]
    assert measuring
    assert all((cell / run_folder.PACKETS_TABLE).exists() for cell in measuring)


def test_stock_mininet_made_the_networks(ran: Path) -> None:
    for cell in cells(ran):
        lines = [json.loads(line) for line in (cell / "commands.jsonl").read_text().splitlines()]
        no_ipv6 = [one["node"] for one in lines if "disable_ipv6" in " ".join(one["argv"])]
        # Of the two builders only its nodes are asked that; each once.
        assert sorted(no_ipv6) == sorted(["r1", "r2", "src1", "src2", "dst1"])


def test_claims_come_out_as_in_the_virtual_lab(ran: Path, tmp_path: Path) -> None:
    argv = ["run", STUDY, "--kernel", KERNEL, "--reps", "1", "--no-sensitivity", "-D"]
    assert command_status([*argv, str(tmp_path)]) == 0

    def verdicts(run: Path) -> dict[str, str]:
        return {one["text"]: one["verdict"] for one in value(run / "summary.json")["claims"]}

    assert verdicts(ran) == verdicts(tmp_path / "latest")
    assert len(set(verdicts(ran).values())) == 2
