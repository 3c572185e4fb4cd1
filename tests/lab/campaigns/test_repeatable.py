"""One seed fixes a run to the byte, capture included, whatever else the machine does."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import threading
from collections.abc import Callable
from pathlib import Path

from model.cell import Cell
from testbed.campaign import digests
from testbed.campaign.run_cell import execute
from testbed.labs.virtual.virtual_lab import VirtualLab


def _burn(stop: threading.Event) -> None:
    while not stop.is_set():
        sum(range(10_000))


def _run(cell: Cell, folder: Path, lab: VirtualLab) -> dict[str, str]:
    execute(cell, folder, lab, threading.Event())
    return digests.of_cell(folder)


def test_three_runs_are_the_same_to_the_byte_also_under_load(
    wireless: Callable[..., Cell], lab: VirtualLab, tmp_path: Path
) -> None:
    cell = wireless(duration_s=60.0, pcap=True)
    first = _run(cell, tmp_path / "first", lab)
    assert {"raw/pcap/r1.pcap.gz", "raw/pcap/r2.pcap.gz", "tables/packets.parquet"} <= set(first)
    assert {"tables/flows.parquet", "tables/audit.parquet", "audit.json"} <= set(first)
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    load = [context.Process(target=_burn, args=(stop,), daemon=True) for _ in range(4)]
    for process in load:
        process.start()
    try:
        second = _run(cell, tmp_path / "second", lab)
    finally:
        stop.set()
        for process in load:
            process.join(timeout=30)
    third = _run(cell, tmp_path / "third", lab)
    assert digests.differences(first, second) == []
    assert digests.differences(first, third) == []


def test_an_older_kernel_runs_on_any_processor_and_repeats_to_the_byte(
    wireless: Callable[..., Cell], tracing: VirtualLab, tmp_path: Path
) -> None:
    # Its processes' registers are more than it has room for where the processor has AMX.
    cell = wireless(duration_s=60.0, pcap=True, lab=tracing.describe())
    first = _run(cell, tmp_path / "first", tracing)
    assert digests.differences(first, _run(cell, tmp_path / "second", tracing)) == []
    env = json.loads((tmp_path / "first" / "env.json").read_text())
    assert env["kernel_release"].startswith("6.12.")


def test_another_seed_gives_another_run(
    wireless: Callable[..., Cell], lab: VirtualLab, tmp_path: Path
) -> None:
    cell = wireless(duration_s=60.0, pcap=True)
    one = _run(cell, tmp_path / "one", lab)
    two = _run(dataclasses.replace(cell, seed=2), tmp_path / "two", lab)
    assert one["raw/pcap/r1.pcap.gz"] != two["raw/pcap/r1.pcap.gz"]
    assert one["tables/flows.parquet"] != two["tables/flows.parquet"]


def test_no_default_depends_on_how_much_memory_was_free(
    wireless: Callable[..., Cell], lab: VirtualLab, tmp_path: Path
) -> None:
    _run(wireless(duration_s=5.0), tmp_path / "one", lab)
    found = json.loads((tmp_path / "one" / "env.json").read_text())["sysctls"]
    assert {node: values["net.ipv4.tcp_rmem"] for node, values in found.items()} == {
        "src1": "4096 131072 6291456",
        "dst1": "4096 131072 6291456",
    }
    assert found["src1"]["net.ipv4.tcp_wmem"] == "4096 16384 4194304"
