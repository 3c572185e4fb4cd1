"""A flow that begins at another time than it was asked to is told from the raw files alone."""

from __future__ import annotations

import dataclasses
import json
import shutil
import threading
from pathlib import Path

import pytest

from collectors.audit import starts
from model import run_folder
from model.cell import Cell, Flow
from model.errors import ParseError, VerifyError
from testbed.campaign.run_cell import execute
from tests.support.fake_lab import FakeLab, write_measured
from tests.support.recorded import DATA, wireless_cell

CELL = wireless_cell()
TCP, SCTP = CELL.flows
EPOCH_NS = 4_000_000_000


def verdicts(folder: Path, *flows: Flow) -> list[tuple[str, str, bool | None]]:
    cell = dataclasses.replace(CELL, flows=flows)
    return [(c.where, c.got, c.agrees) for c in starts.read_checks(folder, cell)]


def test_recorded_starts(tmp_path: Path) -> None:
    write_measured(tmp_path)
    assert verdicts(tmp_path, TCP, SCTP) == [
        ("agent", "before it", True),
        ("flow T", "0.000000 s", True),
        ("flow S", "0.000001 s", True),
    ]


@pytest.mark.parametrize(
    ("late_ns", "agrees"), [(140_000, True), (141_000, False), (100 * 10**9, False)]
)
def test_a_probe_that_began_late(tmp_path: Path, late_ns: int, agrees: bool) -> None:
    write_measured(tmp_path)
    path = tmp_path / "raw" / "flows" / "S.sender.jsonl"
    path.write_text(path.read_text().replace("4000001024", str(EPOCH_NS + late_ns)))
    assert verdicts(tmp_path, TCP, SCTP)[2] == ("flow S", f"{late_ns / 1e9:.6f} s", agrees)


def test_of_a_probe_that_never_connected_nobody_can_tell(tmp_path: Path) -> None:
    write_measured(tmp_path)
    path = tmp_path / "raw" / "flows" / "S.sender.jsonl"
    rest = [line for line in path.read_text().splitlines() if '"connected"' not in line]
    path.write_text("\n".join(rest) + "\n")
    assert verdicts(tmp_path, TCP, SCTP)[2] == ("flow S", "never", False)
    last = json.loads(rest[-1])
    assert last["event"] == "totals"
    rest[-1] = json.dumps(last | {"end": starts.UNCONNECTED})
    path.write_text("\n".join(rest) + "\n")
    assert verdicts(tmp_path, TCP, SCTP)[2] == ("flow S", "never connected: cannot tell", None)


def test_a_probe_that_began_too_early(tmp_path: Path) -> None:
    write_measured(tmp_path)
    late = dataclasses.replace(TCP, start_s=0.5)
    # In order of time, so that what came in the wrong order shows.
    assert verdicts(tmp_path, late, SCTP)[1:] == [
        ("flow S", "0.000001 s", True), ("flow T", "0.000000 s", False),
    ]  # fmt: skip


@pytest.mark.parametrize(("sent_ns", "got"), [(EPOCH_NS + 512, True), (None, False)])
def test_udp_by_its_first_packet(tmp_path: Path, sent_ns: int | None, got: bool) -> None:
    write_measured(tmp_path)
    path = tmp_path / "raw" / "flows" / "T.sender.jsonl"
    path.write_text(json.dumps({"event": "totals", "first_send_t_ns": sent_ns}) + "\n")
    udp = dataclasses.replace(TCP, protocol="udp", rate_bps=8000)
    assert verdicts(tmp_path, udp)[1] == ("flow T", "0.000001 s" if got else "never", got)


@pytest.mark.parametrize(
    ("rows", "got", "agrees"),
    [
        ([{"flow": "T", "started_ns": EPOCH_NS + 5 * 10**9}], "5.000000 s", True),
        ([{"flow": "T", "started_ns": EPOCH_NS + 105 * 10**9}], "105.000000 s", False),
        ([], "never", False),
    ],
)
def test_another_generator_by_its_agent(
    tmp_path: Path, rows: list[dict[str, object]], got: str, agrees: bool
) -> None:
    write_measured(tmp_path)
    (tmp_path / run_folder.STARTS).write_text(json.dumps(rows))
    iperf3 = dataclasses.replace(TCP, generator="iperf3", start_s=5.0)
    assert verdicts(tmp_path, iperf3)[1] == ("flow T", got, agrees)


def test_an_agent_that_was_not_ready_in_time(tmp_path: Path) -> None:
    write_measured(tmp_path)
    (tmp_path / run_folder.EPOCH).write_text(json.dumps({"epoch_ns": EPOCH_NS, "late_ns": 10**8}))
    assert verdicts(tmp_path)[0] == ("agent", "0.100000 s late", False)


def test_what_is_no_list_of_starts_is_named(tmp_path: Path) -> None:
    write_measured(tmp_path)
    (tmp_path / run_folder.STARTS).write_text('[{"flow": "T"}]')
    with pytest.raises(ParseError, match=r"starts\.json"):
        verdicts(tmp_path, TCP)


def test_a_late_start_fails_the_cell(tmp_path: Path) -> None:
    def late(cell: Cell, folder: Path) -> None:
        write_measured(folder)
        shutil.copy(DATA / "probes-0.1.0" / "tcp_send.jsonl", folder / "raw/flows/T.sender.jsonl")
        path = folder / "raw" / "flows" / "S.sender.jsonl"
        path.write_text(path.read_text().replace("4000001024", "104000001024"))

    folder = tmp_path / "cell"
    with pytest.raises(
        VerifyError,
        match=r"cell cell, flow S: start is not as asked: wanted 0\.000000 s within 0\.14 ms, got"
        r" 100\.000001 s",
    ):
        execute(CELL, folder, FakeLab(late), threading.Event())
    assert not (folder / run_folder.DONE).exists()
    checks = json.loads((folder / run_folder.VERIFY).read_text())["checks"]
    assert [check["agrees"] for check in checks if check["check"] == "start"] == [True, False]
