"""A network's movement: the same for one seed, and what its settings leave in place."""

from __future__ import annotations

import pytest

from model.movement.movement_csv import text_of
from model.movement.of_network import movement
from model.movement.paths import Movement
from tests.support.ad_hoc_study import STILL, network

STAY = ("pause: 0 s", "pause: 0 s\n    ends: stay")
UNTIL_S = 60.0


def moved(*edits: tuple[str, str], seed: int = 1) -> Movement:
    return movement(network(*edits), seed=seed, until_s=UNTIL_S)


@pytest.mark.parametrize("edits", [(), (STAY,), (STILL,)])
def test_one_seed_is_one_movement(edits: tuple[tuple[str, str], ...]) -> None:
    assert text_of(moved(*edits)) == text_of(moved(*edits))
    assert text_of(moved(*edits)) != text_of(moved(*edits, seed=2))


def test_every_node_moves_until_the_end() -> None:
    found = moved()
    assert len(found.paths) == 6
    for path in found.paths:
        assert path.rows[0].t_ns == 0
        assert path.rows[-1].t_ns >= UNTIL_S * 1e9
        assert len(path.rows) > 1
        for row in path.rows:
            assert 0 <= row.x_mm <= 700_000
            assert 0 <= row.y_mm <= 100_000


def test_nodes_that_stay_are_where_they_begin() -> None:
    found = moved(STILL)
    assert [len(path.rows) for path in found.paths] == [1] * 6
    assert len({path.rows[0] for path in found.paths}) == 6


def test_the_first_pair_stays_and_all_others_move_as_they_would() -> None:
    stay, move, still = moved(STAY), moved(), moved(STILL)
    assert stay.paths[:2] == still.paths[:2]
    assert stay.paths[2:] == move.paths[2:]
    assert all(len(path.rows) > 1 for path in stay.paths[2:])


def test_a_pair_has_the_same_place_however_many_nodes_there_are() -> None:
    few, many = moved(STAY), moved(STAY, ("nodes: 6", "nodes: 20"))
    assert few.paths[:2] == many.paths[:2]
