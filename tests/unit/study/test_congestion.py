"""Congestion controls of single flows in a study file: read, swept, refused where there is none."""

from __future__ import annotations

from model.cell import OF_HOSTS
from testbed.points.resolve import resolve_cell
from testbed.study.vocabulary import CONGESTION_CONTROLS
from tests.support.study_file import SWEEP, UNPUBLISHED, Edit, study

RENO: Edit = ("    pair: 1\n", "    pair: 1\n    congestion_control: reno\n")


def found(*edits: Edit) -> list[list[str]]:
    """Return each flow's congestion control at every point."""
    loaded = study(UNPUBLISHED, *edits)
    cells = [resolve_cell(loaded, p, seed=1, replicate=1, lab={}) for p in loaded.points]
    return [[flow.congestion_control for flow in cell.flows] for cell in cells]


def test_it_is_the_hosts_unless_the_flow_says_another() -> None:
    assert found()[0] == [OF_HOSTS, OF_HOSTS]
    assert found(RENO)[0] == ["reno", OF_HOSTS]


def test_it_can_be_swept() -> None:
    sweep = "  flows.T.congestion_control: [hosts, cubic, bbr]\n"
    assert [flows[0] for flows in found(RENO, (SWEEP, sweep))] == [OF_HOSTS, "cubic", "bbr"]


def test_every_one_is_the_kernels_own_word() -> None:
    assert all(name == name.lower() and name.isalnum() for name in CONGESTION_CONTROLS)


def test_sctp_has_no_choice_but_may_say_so() -> None:
    of_sctp: Edit = ("    pair: 2\n", "    pair: 2\n    congestion_control: hosts\n")
    assert found(of_sctp)[0][1] == OF_HOSTS
