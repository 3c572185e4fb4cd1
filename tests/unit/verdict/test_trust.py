"""What excludes a cell, and that every reason for doubt becomes one warning."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from model import run_folder
from reports.store.run import read_run
from reports.verdict.summary import summarise
from reports.verdict.trust import collect_warnings, exclusions
from tests.support.runs.report_run import ENV, LEDGER, build_run, cell_name, only_cell, write_json
from tests.support.runs.set_run import edit_json

LOSSES = (0.01, 0.02)
FAILED = {
    "schema": 1,
    "checks": [
        {
            "check": "loss",
            "where": "r1-eth2",
            "wanted": "1 % +- 0.1 %",
            "got": "1.4 %",
            "agrees": False,
        }
    ],
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return build_run(tmp_path / "run", losses=LOSSES, seeds=3)


def rules(run: Path) -> list[str]:
    return [warning.rule for warning in collect_warnings(read_run(run))]


def text_of(run: Path, rule: str) -> tuple[str, str]:
    (found,) = [w for w in collect_warnings(read_run(run)) if w.rule == rule]
    return found.where, found.text


def test_a_sound_run_says_only_what_the_ledger_says(run: Path) -> None:
    assert rules(run) == ["cannot-be-set", "approximated"]
    assert text_of(run, "cannot-be-set") == (
        "SCTP fast retransmit",
        "1 published parameter cannot be set; the ledger says what Linux does.",
    )
    assert exclusions(read_run(run)) == {}


def test_a_failed_check_excludes_its_cell_and_names_it(run: Path) -> None:
    write_json(only_cell(run, seed=2) / run_folder.VERIFY, FAILED)
    name = cell_name("measure", 0.01, 2)
    words = "loss at r1-eth2: wanted 1 % +- 0.1 %, got 1.4 %"
    assert exclusions(read_run(run)) == {name: words}
    assert text_of(run, "cell-excluded") == (
        f"loss 1 %, seed 2 (cells/{name})",
        f"This cell does not count: {words}.",
    )


def test_a_failed_calibration_excludes_every_cell_of_its_point(run: Path) -> None:
    write_json(only_cell(run, "calibrate") / run_folder.VERIFY, FAILED)
    assert set(exclusions(read_run(run))) == {cell_name("measure", 0.01, s) for s in (1, 2, 3)}
    assert rules(run).count("calibration-failed") == 1
    assert "cell-excluded" not in rules(run)


def test_a_calibration_that_failed_before_it_was_done_excludes_too(run: Path) -> None:
    folder = only_cell(run, "calibrate")
    write_json(folder / run_folder.VERIFY, FAILED)
    (folder / run_folder.DONE).unlink()
    assert set(exclusions(read_run(run))) == {cell_name("measure", 0.01, s) for s in (1, 2, 3)}
    assert text_of(run, "calibration-failed")[1] == (
        "loss at r1-eth2: wanted 1 % +- 0.1 %, got 1.4 %. No cell at this point counts."
    )
    assert "not-calibrated" not in rules(run)


def test_why_a_cell_did_not_finish_is_said(run: Path) -> None:
    folder = only_cell(run)
    write_json(folder / run_folder.VERIFY, FAILED)
    (folder / run_folder.DONE).unlink()
    assert {"cells-unfinished", "cell-excluded"} <= set(rules(run))
    assert exclusions(read_run(run)) == {}


def test_a_check_that_could_not_be_made_excludes_nothing(run: Path) -> None:
    unknown = json.loads(json.dumps(FAILED).replace("false", "null"))
    write_json(only_cell(run) / run_folder.VERIFY, unknown)
    assert exclusions(read_run(run)) == {}


def test_missing_calibration_is_said(run: Path) -> None:
    (only_cell(run, "calibrate", 0.02) / run_folder.DONE).unlink()
    assert text_of(run, "not-calibrated")[0] == "loss 2 %"
    (only_cell(run, "calibrate", 0.01) / run_folder.DONE).unlink()
    assert text_of(run, "not-calibrated")[0] == "every point"


def test_unfinished_cells_are_listed_together(run: Path) -> None:
    for seed in (1, 3):
        (only_cell(run, seed=seed) / run_folder.DONE).unlink()
    where, text = text_of(run, "cells-unfinished")
    first = cell_name("measure", 0.01, 1)
    assert where == f"loss 1 %: 2 of 3, seeds 1, 3 (first cells/{first})"
    assert text == "2 planned measurements started but did not finish; not part of any number here."


def test_an_interrupted_run_says_how_many_cells_each_point_misses(tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", losses=LOSSES, seeds=14)
    for seed in range(3, 15):
        shutil.rmtree(only_cell(run, loss=0.01, seed=seed))
    shutil.rmtree(only_cell(run, loss=0.02, seed=5))
    where, text = text_of(run, "cells-unfinished")
    named = [cell_name("measure", 0.01, 3), cell_name("measure", 0.02, 5)]
    assert where == (
        "loss 1 %: 12 of 14, seeds 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 2 more "
        f"(first cells/{named[0]}); loss 2 %: 1 of 14, seed 5 (first cells/{named[1]})"
    )
    assert text == "13 planned measurements not run; not part of any number here."
    summary = summarise(read_run(run))
    assert [(p.cells_counted, p.cells_planned) for p in summary.points] == [(2, 14), (13, 14)]
    assert summary.ran.startswith("15 of 28 runs of ")
    for point in summary.points:
        for metric in point.metrics.values():
            assert metric.estimate.n in (0, point.cells_counted)
            assert f"{point.cells_counted} of 14 planned cells count" in str(metric.reason)


def test_nothing_finished_is_said_first(run: Path) -> None:
    for done in run.glob("cells/*/DONE"):
        done.unlink()
    assert rules(run) == [
        "no-cell-finished",
        "cells-unfinished",
        "cells-unfinished",
        "not-calibrated",
    ]


def test_a_knob_that_reads_back_otherwise(run: Path) -> None:
    ledger: list[dict[str, Any]] = json.loads(json.dumps(LEDGER))
    ledger[0]["knobs"][0] |= {"read_back": {"t1": "0"}, "agrees": False}
    for seed in (1, 2):
        write_json(only_cell(run, seed=seed) / run_folder.LEDGER, ledger)
    assert text_of(run, "read-back-disagrees") == (
        (
            "TCP with selective acknowledgements "
            f"(2 cells, first cells/{cell_name('measure', 0.01, 1)})"
        ),
        "net.ipv4.tcp_sack: wanted 1, read back t1: 0.",
    )


def test_warnings_of_the_environment_are_said_once_with_their_extent(run: Path) -> None:
    warning = {"rule": "offload-on", "where": "r1-eth1", "text": "gso could not be switched off."}
    for folder in run.glob("cells/*"):
        write_json(folder / run_folder.ENV, {**ENV, "warnings": [warning, warning]})
    assert text_of(run, "offload-on")[0] == "r1-eth1"
    write_json(only_cell(run) / run_folder.ENV, ENV)
    assert text_of(run, "offload-on")[0] == "r1-eth1 (7 of 8 cells)"


def test_cells_of_two_kernels_are_not_silently_averaged(run: Path) -> None:
    write_json(only_cell(run) / run_folder.ENV, {**ENV, "kernel_release": "7.3.0"})
    assert "2 kernels (6.12.48, 7.3.0)" in text_of(run, "cells-differ")[1]
    for seed in (1, 2, 3):  # points may be of a kernel each
        newer = {**ENV, "kernel_release": "7.3.0"}
        write_json(only_cell(run, seed=seed) / run_folder.ENV, newer)
    write_json(only_cell(run, "calibrate") / run_folder.ENV, newer)
    assert "cells-differ" not in rules(run)


def test_the_same_warning_is_said_once(tmp_path: Path) -> None:
    warning = {"rule": "window-below-path", "where": "hosts", "text": "Too small."}
    run = build_run(tmp_path, losses=(0.01,), seeds=1, changes={"warnings": [warning, warning]})
    assert rules(run).count("window-below-path") == 1


def test_local_changes_are_said(run: Path) -> None:
    write_json(run / run_folder.PROVENANCE, {"git": {"commit": "abc", "dirty": True}})
    assert "on top of abc" in text_of(run, "local-changes")[1]
    write_json(run / run_folder.PROVENANCE, {"git": {"commit": "abc", "dirty": False}})
    assert "local-changes" not in rules(run)


def test_a_published_row_without_a_point_is_said(tmp_path: Path) -> None:
    changes = {"points": [{"loss_frac": 0.01}]}
    run = build_run(tmp_path, losses=LOSSES, seeds=1, changes=changes)
    plan = json.loads((run / run_folder.PLAN).read_text())
    kept = [cell for cell in plan["cells"] if cell["point"]["loss_frac"] == 0.01]
    write_json(run / run_folder.PLAN, {**plan, "cells": kept})
    assert text_of(run, "published-row-unused") == (
        "Table 2",
        "1 published row without a point in this run: loss 2 %.",
    )
    assert rules(run).count("cell-unplanned") == 2


def test_two_cells_with_one_seed_are_not_independent(run: Path) -> None:
    plan = json.loads((run / run_folder.PLAN).read_text())
    for cell in plan["cells"]:
        if cell["id"] == cell_name("measure", 0.01, 2):
            cell["seed"] = 1
    write_json(run / run_folder.PLAN, plan)
    path = only_cell(run, seed=2) / run_folder.CELL
    write_json(path, {**json.loads(path.read_text()), "seed": 1})
    assert text_of(run, "seed-repeated")[0] == "loss 1 %, seed 1"


def test_packets_that_do_not_add_up_are_told_with_their_cell(run: Path) -> None:
    record = {"rule": "does-not-add-up", "where": "flow T, data", "text": "2 packets are missing."}
    audit = {"schema": 1, "checks": [], "warnings": [record]}
    write_json(only_cell(run, seed=2) / run_folder.AUDIT, audit)
    write_json(only_cell(run, seed=1) / run_folder.AUDIT, {**audit, "warnings": []})
    name = cell_name("measure", 0.01, 2)
    assert text_of(run, "does-not-add-up") == (
        f"flow T, data, loss 1 %, seed 2 (cells/{name})",
        "2 packets are missing.",
    )
    assert exclusions(read_run(run)) == {}


def test_a_changed_cell_is_left_out_and_said_so(run: Path) -> None:
    folder = only_cell(run, seed=2)
    found = read_run(run, {folder.name: "raw/pcap/r1.pcap: missing now"})
    (warning,) = [w for w in collect_warnings(found) if w.rule == "cell-damaged"]
    assert warning.where == f"loss 1 %, seed 2 (cells/{folder.name})"
    assert warning.text == (
        "This cell is not what its run left; not part of any number here: "
        "raw/pcap/r1.pcap: missing now."
    )
    assert folder.name not in {cell.plan.id for cell in found.measured()}
    assert "cells-unfinished" not in {w.rule for w in collect_warnings(found)}


def test_a_changed_calibration_covers_no_point(run: Path) -> None:
    folder = only_cell(run, "calibrate")
    found = collect_warnings(read_run(run, {folder.name: "verify.json: missing now"}))
    assert [w.rule for w in found][:2] == ["cell-damaged", "not-calibrated"]


def test_why_a_cell_failed_is_said_once(run: Path) -> None:
    folder, other = only_cell(run, seed=2), only_cell(run, seed=3)
    for cell in (folder, other):
        (cell / run_folder.DONE).unlink()
    text = f"cells/{folder.name}/raw/pcap/r1.pcap: byte 24: cut short in packet 1"
    stale = f"cells/{only_cell(run).name}"  # has finished since
    write_json(
        run / run_folder.WARNINGS,
        [
            {"rule": "cell-failed", "where": where, "text": text}
            for where in (f"cells/{folder.name}", stale)
        ],
    )
    where, said = text_of(run, "cell-failed")
    assert where == f"loss 1 %, seed 2 (cells/{folder.name})"
    assert said == f"This cell failed; not part of any number here: {text}"
    unfinished = f"loss 1 %: 1 of 3, seed 3 (first cells/{other.name})"
    assert text_of(run, "cells-unfinished")[0] == unfinished


def test_scaled_times_are_told_from_what_to_what(run: Path) -> None:
    edit_json(run / run_folder.RESOLVED, scale=0.1)
    where, text = text_of(run, "times-scaled")
    assert where == "resolved.json"
    assert text.startswith(
        "All times of the experiment were scaled by 0.1: runs of 10000 s lasted 1000 s; starts, "
    )
    assert text.endswith("so these verdicts are none on the publication.")
    edit_json(run / run_folder.RESOLVED, scale=1)
    assert "times-scaled" not in rules(run)


def test_points_that_were_left_out_are_told(run: Path) -> None:
    assert "points-left-out" not in rules(run)
    edit_json(run / run_folder.RESOLVED, at=["network.bottleneck.loss.data=1%"], points_left_out=6)
    _, text = text_of(run, "points-left-out")
    points = len(read_run(run).study.points)
    assert text == (
        f"{points} of {points + 6} points of the study were run, those at "
        "network.bottleneck.loss.data=1%: claims that need others are not judged."
    )
