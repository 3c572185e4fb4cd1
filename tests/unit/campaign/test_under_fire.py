"""Campaigns of many cells, through the command, whose processes are killed while they run."""

from __future__ import annotations

import dataclasses
import os
import random
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from model import run_folder
from model.cell import Cell, cell_id
from testbed.campaign import run_cell
from testbed.campaign.run_cells import Outcome, run_cells
from testbed.planning.plan import PlannedCell
from testbed.store import cells as store
from testbed.store import upkeep
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.killing import differences
from tests.support.recorded import wireless_cell
from tests.support.runs.under_fire import Campaign, cells_processes, own_process

pytestmark = pytest.mark.timeout(3600)  # on a machine that does much else
#: One cell more is the calibration.
REPS, KILLS = 8, 5


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a run that nobody disturbs leaves."""
    campaign = Campaign(place=tmp_path_factory.mktemp("peace") / "run", reps=REPS)
    campaign.in_peace()
    assert list(campaign.begun().values()) == [1] * (1 + REPS)
    assert campaign.commands == 1
    return campaign.contents()


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., Campaign]]:
    """Return what makes campaigns of a name, which end with the test."""
    all_made: list[Campaign] = []

    def make(name: str = "run", reps: int = REPS, **env: str) -> Campaign:
        all_made.append(Campaign(place=tmp_path / name, reps=reps, env=env))
        return all_made[-1]

    yield make
    for one in all_made:
        one.end()


def test_killed_workers_change_no_byte_and_repeat_no_finished_cell(
    made: Callable[..., Campaign], wanted: dict[str, bytes]
) -> None:
    campaign, chance = made(), random.Random(1)
    for _ in range(KILLS):
        campaign.disturb(cells_processes, chance)
    campaign.in_peace()
    assert differences(wanted, campaign.contents()) == []
    assert sum(campaign.begun().values()) > 1 + REPS


def test_a_killed_command_is_resumed_at_once_to_the_same_bytes(
    made: Callable[..., Campaign], wanted: dict[str, bytes]
) -> None:
    campaign, chance = made(), random.Random(2)
    for number in range(1, KILLS + 1):
        campaign.disturb(own_process, chance)
        assert campaign.commands == number
    campaign.in_peace()
    assert campaign.commands == KILLS + 1
    assert differences(wanted, campaign.contents()) == []


def test_two_campaigns_under_fire_on_one_store_leave_it_whole(
    made: Callable[..., Campaign], wanted: dict[str, bytes], tmp_path: Path
) -> None:
    root = tmp_path / "store"
    both = [made(name, **{store.VARIABLE: str(root)}) for name in ("a", "b")]
    chance = random.Random(3)
    for campaign in both:
        campaign.disturb(cells_processes, chance)
        campaign.disturb(own_process, chance)
    for campaign in both:
        campaign.in_peace()
        assert differences(wanted, campaign.contents()) == []
    held = [one.entry for one in upkeep.held(root)]
    assert len(held) == 2 * (1 + REPS)
    assert [upkeep.damage(one) for one in held] == [""] * len(held)
    assert upkeep.set_aside(root) == []


def test_five_seeds_more_are_five_cells_more(made: Callable[..., Campaign], tmp_path: Path) -> None:
    env = {store.VARIABLE: str(tmp_path / "store")}
    five, ten = made("five", reps=5, **env), made("ten", reps=10, **env)
    five.in_peace()
    assert list(five.begun().values()) == [1] * (1 + 5)
    ten.in_peace()
    assert list(ten.begun().values()) == [1] * 5
    assert not {*five.begun()} & {*ten.begun()}
    assert "6 from the store" in ten.said()


@dataclasses.dataclass(frozen=True)
class KilledOnceDone:
    """Cells whose process is killed right after one of them has its DONE, before it says so."""

    begun: Path

    def __call__(self, cell: Cell, folder: Path) -> None:
        (self.begun / f"{cell.seed}-{len(list(self.begun.iterdir()))}").touch()
        write_recorded(cell, folder)
        write_done = run_cell.write_done

        def last(folder: Path, recorded: Mapping[str, str]) -> None:
            write_done(folder, recorded)
            os.kill(os.getpid(), signal.SIGKILL)

        if cell.seed == 2:
            run_cell.write_done = last  # in this process alone


def test_a_cell_that_had_finished_when_its_process_was_killed_has_finished(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    begun.mkdir()
    cells = [
        PlannedCell(id=cell_id(cell), cell=cell)
        for cell in (wireless_cell(seed=seed) for seed in (1, 2, 3))
    ]
    outcome = run_cells(
        tmp_path, cells, FakeLab(KilledOnceDone(begun)), jobs=1, report=lambda _: None
    )
    assert outcome == Outcome(finished_cells=3, failures=())
    assert sorted(path.name for path in begun.iterdir()) == ["1-0", "2-1", "3-2"]
    assert not list(tmp_path.rglob(run_folder.FAILURE))
