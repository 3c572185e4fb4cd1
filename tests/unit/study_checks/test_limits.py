"""Studies that are well formed and that no lab could run: refused, with the place and the limit."""

from __future__ import annotations

import dataclasses

from testbed.guest import calibration
from testbed.labs.booted.time_limits import limits
from testbed.planning.findings import find
from testbed.planning.plan import make_plan
from testbed.points.load_study import parse_study
from testbed.points.resolve import resolve_cell
from testbed.study_checks.lab_capacity import MAX_FLOWS
from tests.support.study_file import UNPUBLISHED, Edit, edited, problems, study

NO_SWEEP = (
    "sweep:\n  network.bottleneck.loss.data: [0.8 %, 0.9 %, 1 %, 1.5 %, 2 %, 2.5 %, 3 %]\n",
    "",
)


def test_more_flows_than_a_lab_runs_are_refused() -> None:
    first = ("    pair: 1\n", "    pair: 1\n    copies: 500\n")
    second = ("    pair: 2\n", "    pair: 1\n    copies: 500\n")
    many = (NO_SWEEP, UNPUBLISHED, ("pairs: 2", "pairs: 500"), first, second)
    assert len(study(*many).points) == 1
    flow = "  - {id: U, group: T, protocol: tcp, pair: 1, message: 1448 B}\n"
    one_more = ("  - id: S\n", f"{flow}  - id: S\n")
    (problem,) = problems(edited(*many, one_more))
    assert problem.endswith(f"too many flows: wanted at most {MAX_FLOWS} in all, got 1001")


#: The study means its window; here it does not say so.
UNANSWERED = (edited()[edited().index("acknowledged:") :], "")


def findings(*edits: Edit) -> dict[str, str]:
    """Return what is told of the edited study with the project's own host profiles, by rule."""
    made = parse_study(edited(NO_SWEEP, UNPUBLISHED, UNANSWERED, *edits))
    return {found.rule: found.text for found in find(made, seeds=(1, 2)).warnings}


def test_hosts_of_old_hold_a_younger_congestion_control_back() -> None:
    young = ("    message: 1448 bytes", "    congestion_control: bbr\n    message: 1448 bytes")
    said = findings(young)
    assert said["control-held-back"].startswith(
        "flow T asks for bbr, but host profile 'paper' has no window scaling, no time stamps,"
    )
    reno = ("    message: 1448 bytes", "    congestion_control: reno\n    message: 1448 bytes")
    for edits in ([reno], [young, ("hosts: paper", "hosts: stock")]):
        assert "control-held-back" not in findings(*edits)


def test_windows_that_leave_the_bottleneck_idle_are_told_with_how_much() -> None:
    # Two windows of 64 KiB in 508 ms are 2.06 Mbit/s, of a bottleneck of 8.
    said = findings(("rate: 3 Mbit/s", "rate: 8 Mbit/s"))
    assert "all flows together fill at most 26 % of the bottleneck" in said["window-below-path"]
    filled = findings(("rate: 3 Mbit/s", "rate: 2 Mbit/s"))
    assert "all flows together" not in filled["window-below-path"]


def test_losses_that_leave_timeouts_alone_are_told() -> None:
    heavy = findings(("data: 1 %", "data: 49 %"))
    assert heavy["heavy-loss"].startswith("only 51 % of the packets are answered: ")
    assert "heavy-loss" not in findings()


def test_limits_follow_from_path_and_traffic_and_usual_cells_keep_theirs() -> None:
    made = study(NO_SWEEP, UNPUBLISHED)
    usual = [planned.cell for planned in make_plan(made, seeds=(1,), lab={}).cells]
    assert {cell.purpose: cell.limits.virtual_s for cell in usual} == {
        "calibrate": 1400.0, "measure": 1400.0,
    }  # fmt: skip
    slow = study(NO_SWEEP, UNPUBLISHED, ("rate: 3 Mbit/s", "rate: 1 kbit/s"))
    cell = resolve_cell(slow, slow.points[0], seed=1, replicate=1, lab={})
    drain_s = calibration.drain_s(cell.wired)
    assert drain_s == 120.0
    assert limits(cell).virtual_s >= cell.limits.virtual_s + 4 * drain_s
    far = study(NO_SWEEP, UNPUBLISHED, ("delay: 250 ms", "delay: 25 s"))
    cell = resolve_cell(far, far.points[0], seed=1, replicate=1, lab={})
    assert limits(cell).virtual_s >= cell.limits.virtual_s + 8 * 50.0
    # 622 Mbit/s cost 3 s of wall time per virtual second.
    fast = study(NO_SWEEP, UNPUBLISHED, ("rate: 3 Mbit/s", "rate: 622 Mbit/s"))
    cell = resolve_cell(fast, fast.points[0], seed=1, replicate=1, lab={})
    assert limits(cell).wall_s > 3 * 3 * cell.duration_s
    many = dataclasses.replace(cell, network=dataclasses.replace(cell.wired, sources=500))
    assert limits(many).wall_s - limits(cell).wall_s > 1000


def test_a_study_of_ones_own_needs_no_source() -> None:
    source = edited()[edited().index("source:") : edited().index("duration:")]
    own = study(NO_SWEEP, UNPUBLISHED, (source, ""))
    assert own.settings.source is None
