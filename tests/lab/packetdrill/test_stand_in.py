"""Scripts in the lab through the command, with a program of our own in packetdrill's place.

It has packetdrill's command line and does what its script says: passes, fails, hangs, crashes,
takes the kernel with it. What the lab makes of each is asked here; packetdrill itself, which is in
no package, is asked by ``tests/long/packetdrill_repeats.py``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lab.packetdrill.conftest import ONCE, STAND_IN, Run


def test_a_script_is_told_what_the_kernels_runner_says_and_ticks_pass(run_one: Run) -> None:
    found = run_one("tick\noptions\n")
    assert (found.passed, found.said) == (True, "")
    # Ten edges of a clock of 100 Hz: the wait for them ends, where nothing takes time.
    assert found.virtual_s is not None
    assert 0.09 < found.virtual_s < 0.11


def test_a_program_that_is_linked_statically_is_not(
    command: Callable[..., Path], tmp_path: Path
) -> None:
    source = tmp_path / "static"
    shutil.copytree(STAND_IN, source)
    makefile = (source / "Makefile.Linux").read_text()
    (source / "Makefile.Linux").write_text(makefile.rstrip() + " -lrt -static\n")
    (tmp_path / "a.pkt").write_text(f"{ONCE}tick\n")
    command(tmp_path / "a.pkt", name="r", failing=False, source=source)


def test_a_failure_is_told_with_its_line(run_one: Run) -> None:
    found = run_one("packets 1\nfail not as expected\n")
    assert (found.passed, found.said) == (False, "a.pkt:3: not as expected")


def test_a_hang_ends_at_the_labs_own_limit(run_one: Run) -> None:
    found = run_one("sleep 100000\n", virtual_limit_s=30.0)
    assert found.said == "did not end within 30 s of the lab's time"
    assert found.virtual_s == pytest.approx(30.0, abs=0.01)


def test_what_computes_for_ever_ends_at_the_wall_limit(run_one: Run) -> None:
    found = run_one("spin\n", wall_limit_s=20.0)
    assert found.said.startswith("phase script: the lab did not end: wanted within 20 s")


def test_a_crash_is_told_with_its_signal(run_one: Run) -> None:
    assert run_one("crash\n").said == "packetdrill was killed by signal 11"


def test_a_panic_is_that_cases_failure(run_one: Run) -> None:
    found = run_one(
        "run echo 1 >/proc/sys/vm/overcommit_memory; "
        "python3 -c 'x = bytearray(2**30); x[::4096] = b\"x\" * (2**30 // 4096)'\n"
    )
    assert found.said.startswith("phase script: the lab ran out of memory: wanted at most 256 MiB")


def test_a_script_that_ends_the_kernel_fails(run_one: Run) -> None:
    said = run_one("reboot\n").said
    assert said.startswith("phase script: ")
    assert "reboot: Restarting system" in said


def test_of_much_output_the_beginning_and_the_end_are_kept(run_one: Run, tmp_path: Path) -> None:
    found = run_one("say 1000000\n", tmp_path)
    kept = (tmp_path / found.case.place / "stdout").read_text().splitlines()
    assert found.passed
    assert (int(kept[0]), int(kept[-1])) == (0, 999_999)
    assert "[99737856 bytes left out]" in kept


def test_a_file_that_no_case_leaves_fails_it_unopened(run_one: Run) -> None:
    said = run_one("run touch /cell/foreign\n").said
    assert said.startswith("'foreign': the lab left what no cell leaves")


def test_a_folder_in_the_place_of_a_result_fails_the_case(run_one: Run) -> None:
    found = run_one("run mkdir /cell/stdout\n")
    assert (found.passed, found.sha256["stdout"]) == (False, "")


def test_a_folder_of_results_and_what_is_told(
    command: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad\n.pkt").write_text(f"{ONCE}packets 3\nfail it\n")
    (tmp_path / "good.pkt").write_text(f"{ONCE}options\n")
    folder = command(tmp_path, name="results", form="ktap", failing=True)
    record: dict[str, Any] = json.loads((folder / "packetdrill.json").read_text())
    version = record["lab"]["kernel_package"]
    ran = f"  # packetdrill on Linux {version}, 250 Hz, virtual time"
    assert capsys.readouterr().out.splitlines() == [
        "KTAP version 1", "1..2",
        "  KTAP version 1", f"  # Subtest: {tmp_path}/bad .pkt", "  1..1", ran,
        "  # .pkt:3: it", "  not ok 1 ipv4",
        f"not ok 1 {tmp_path}/bad .pkt",
        "  KTAP version 1", f"  # Subtest: {tmp_path}/good.pkt", "  1..1", ran, "  ok 1 ipv4",
        f"ok 2 {tmp_path}/good.pkt",
    ]  # fmt: skip
    assert [one["passed"] for one in record["cases"]] == [False, True]
    assert record["more_words"] == ["--tolerance_usecs=0", "--tolerance_percent=0"]
    bad, good = (folder / "cases" / one["folder"] for one in record["cases"])
    assert not (good / "capture.pcap").exists()
    assert "--tolerance_percent=0" in (good / "stdout").read_text().splitlines()
    assert (bad / "capture.pcap").read_bytes().count(b"packet") == 3
    assert (folder / "results.ktap").read_text().startswith("KTAP version 1\n1..2\n")


def test_the_same_scripts_leave_the_same_bytes(
    command: Callable[..., Path], tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "a.pkt").write_text("tick\npackets 20\nrun head -c 32 /dev/urandom\n")
    records = []
    for name in ("first", "second"):
        folder = command(own, name=name, failing=False)
        records.append(json.loads((folder / "packetdrill.json").read_text())["cases"])
    assert records[0] == records[1]
    assert len({one["sha256"]["stdout"] for one in records[0]}) == 1
