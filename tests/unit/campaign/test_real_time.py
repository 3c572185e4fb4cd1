"""Cells in real time: as many at once as calibrations pass, and again if the machine was late."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

import pytest

from model.errors import LateError, RunError, VerifyError
from testbed.campaign import real_time
from testbed.machine import workers
from tests.support.fake_lab import each_here


class Slow:
    """Cells that fail if more run at once than the machine can bear."""

    def __init__(self, bears: int) -> None:
        self.bears = bears
        self.jobs: list[int] = []

    def each(self, items: object, act: Callable[[str], None], *, jobs: int, **more: object) -> None:
        self.jobs.append(jobs)
        self.now = jobs
        each_here(items, act, jobs=1, name=str, ended=more["ended"])  # type: ignore[arg-type]

    def once(self, item: str) -> str:
        if self.now > self.bears:
            raise VerifyError("late")
        return f"{item} ran"


@pytest.mark.parametrize(
    ("bears", "asked", "runs"),
    [(4, 4, [4, 4]), (2, 4, [4, 2, 2]), (1, 4, [4, 2, 1, 1]), (9, 9, [6, 6]), (1, 1, [1, 1])],
)
def test_cells_run_side_by_side_as_far_as_calibrations_pass(
    bears: int, asked: int, runs: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, fewer, ended = Slow(bears), list[int](), list[str]()
    monkeypatch.setattr(workers, "each", slow.each)
    real_time.run(
        list("abcdef"), ["measure"], slow.once, slow.once, name=str, jobs=asked,
        ended=lambda item, how: ended.append(f"{item}: {how}"), at_once=fewer.append,
    )  # fmt: skip
    assert slow.jobs == runs
    assert fewer == [n for n in dict.fromkeys(runs) if n != asked]
    assert sorted(ended) == [f"{one}: {one} ran" for one in (*"abcdef", "measure")]


def test_a_cell_is_run_again_when_the_machine_was_late() -> None:
    left = [LateError("stall", got="2 s"), LateError("late"), None]

    said: list[Sequence[str]] = []

    def act(late: Sequence[str]) -> str:
        said.append(late)
        if error := left.pop(0):
            raise error
        return "ran"

    assert real_time.in_time(act) == "ran"
    assert left == []
    assert said == [(), ("stall: 2 s",), ("stall: 2 s", "late: ")]
    left = [LateError(str(n)) for n in range(5)]
    with pytest.raises(LateError, match=r"^2$"):
        real_time.in_time(act)
    left = [None]
    with contextlib.suppress(RunError):
        real_time.in_time(act)
    assert left == []


@pytest.mark.parametrize("error", [RunError("broken"), VerifyError("another delay")])
def test_what_failed_otherwise_is_not_run_again(error: Exception) -> None:
    ran = []

    def act(_late: Sequence[str]) -> None:
        ran.append(1)
        raise error

    with pytest.raises(type(error)):
        real_time.in_time(act)
    assert len(ran) == 1
