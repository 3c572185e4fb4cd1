"""The order in which cells are begun: drawn by what the run is of, and fair wherever it is cut."""

from __future__ import annotations

import math
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from testbed.planning.order import drawn
from testbed.planning.plan import make_plan
from tests.support.study_file import study


def points(*losses: float) -> list[Any]:
    return [SimpleNamespace(values={"loss_frac": loss}) for loss in losses]


THREE = points(0.01, 0.02, 0.03)


def test_every_replicate_is_there_once_at_each_point() -> None:
    order = drawn("wired", THREE, range(1, 11), 10)
    assert sorted(order) == [(r, i) for r in range(1, 11) for i in range(3)]
    # One replicate after the other: at any time points differ by at most one run.
    assert [r for r, _ in order[::3]] == [r for r, _ in order[2::3]]
    for cut in range(31):
        runs = Counter(index for _, index in order[:cut])
        assert max(runs.values(), default=0) - min(runs[i] for i in range(3)) <= 1


def test_the_order_is_of_the_study_its_points_and_seeds_alone() -> None:
    first = drawn("wired", THREE, [1, 2, 3, 4], 4)
    assert drawn("wired", points(0.01, 0.02, 0.03), (1, 2, 3, 4), 4) == first
    others = [
        drawn("wireless", THREE, [1, 2, 3, 4], 4),
        drawn("wired", points(0.01, 0.02, 0.04), [1, 2, 3, 4], 4),
        drawn("wired", THREE, [1, 2, 3, 5], 4),
    ]
    assert first not in others
    # A round of fewer replicates is the same order without the others.
    assert drawn("wired", THREE, [1, 2, 3, 4], 2) == [one for one in first if one[0] <= 2]


def test_on_another_lab_cells_have_the_same_order() -> None:
    def order(**of_lab: str) -> list[tuple[int, float | int | str]]:
        plan = make_plan(study(), seeds=[1, 2, 3], lab=of_lab)
        return [(c.cell.seed, c.cell.point["loss_frac"]) for c in plan.cells]

    assert order(kernel_digest="a") == order(kernel_digest="b", image_digest="c")


@pytest.mark.parametrize("cut", [1, 3, 5, 8])
def test_wherever_it_is_cut_each_cell_is_as_likely_to_be_there(cut: int) -> None:
    """Over many plans: the share with a cell among the first is within 5 standard errors."""
    plans, replicates = 4000, 3
    there = Counter(
        one
        for number in range(plans)
        for one in drawn(f"study-{number}", THREE, [1, 2, 3], replicates)[:cut]
    )
    share = cut / (len(THREE) * replicates)
    error = math.sqrt(share * (1 - share) / plans)
    assert len(there) == 9
    for count in there.values():
        assert abs(count / plans - share) < 5 * error
