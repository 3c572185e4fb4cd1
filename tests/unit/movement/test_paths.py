"""Where nodes are between rows, how fast, how far apart."""

from __future__ import annotations

import pytest

from model.movement.paths import Field, Movement, Path, Piece, Row

S = 1_000_000_000
#: Stays 2 s, goes 30 m to the right and 40 m up in 10 s, stays 5 s, goes back in 5 s.
PATH = Path(
    (Row(2 * S, 0, 0), Row(12 * S, 30_000, 40_000), Row(17 * S, 30_000, 40_000), Row(22 * S, 0, 0))
)


@pytest.mark.parametrize(
    ("t_s", "place", "speed_mps"),
    [
        (0, (0, 0), 0.0),
        (2, (0, 0), 5.0),
        (7, (15_000, 20_000), 5.0),
        (12, (30_000, 40_000), 0.0),
        (15, (30_000, 40_000), 0.0),
        (17, (30_000, 40_000), 10.0),
        (18, (24_000, 32_000), 10.0),
        (22, (0, 0), 0.0),
        (900, (0, 0), 0.0),
    ],
)
def test_a_node_goes_straight_from_row_to_row(
    t_s: int, place: tuple[int, int], speed_mps: float
) -> None:
    assert PATH.at(t_s * S) == place
    assert PATH.speed_mps(t_s * S) == speed_mps


def test_pieces_follow_on_each_other() -> None:
    assert PATH.pieces(0, 30 * S) == (
        Piece(0, 2 * S, 0, 0, 0, 0),
        Piece(2 * S, 12 * S, 0, 0, 3000, 4000),
        Piece(12 * S, 17 * S, 30_000, 40_000, 0, 0),
        Piece(17 * S, 22 * S, 30_000, 40_000, -6000, -8000),
        Piece(22 * S, 30 * S, 0, 0, 0, 0),
    )
    assert PATH.pieces(7 * S, 8 * S) == (Piece(7 * S, 8 * S, 15_000, 20_000, 3000, 4000),)
    assert PATH.pieces(0, S) == (Piece(0, S, 0, 0, 0, 0),)
    assert PATH.pieces(22 * S, 23 * S) == (Piece(22 * S, 23 * S, 0, 0, 0, 0),)
    assert PATH.pieces(5 * S, 5 * S) == ()
    (piece,) = PATH.pieces(7 * S, 8 * S)
    assert piece.at(8 * S) == PATH.at(8 * S)


def test_a_path_of_one_row_stays() -> None:
    still = Path((Row(5, 1, 2),))
    assert still.at(0) == still.at(10) == (1, 2)
    assert still.pieces(0, 10) == (Piece(0, 5, 1, 2, 0, 0), Piece(5, 10, 1, 2, 0, 0))


def test_the_distance_of_two_nodes() -> None:
    both = Movement((PATH, Path((Row(0, 30_000, 0),))))
    assert both.nodes == 2
    assert both.distance_mm(0, 1, 0) == 30_000
    assert both.distance_mm(0, 1, 12 * S) == both.distance_mm(1, 0, 12 * S) == 40_000
    assert both.distance_mm(0, 1, 7 * S) == 25_000


@pytest.mark.parametrize(
    ("until_s", "rows"), [(0, 1), (2, 1), (3, 2), (12, 2), (12.5, 3), (20, 4), (22, 4), (900, 4)]
)
def test_a_path_until_a_time_is_the_same_up_to_it(until_s: float, rows: int) -> None:
    until_ns = round(until_s * S)
    cut = PATH.until(until_ns)
    assert cut.rows == PATH.rows[:rows]
    for t_ns in range(0, until_ns + 1, S // 2):
        assert cut.at(t_ns) == PATH.at(t_ns)
    both = Movement((PATH, Path((Row(0, 1, 1),))))
    assert both.last_ns == 22 * S
    assert both.until(until_ns) == Movement((cut, both.paths[1]))


def test_what_is_no_path() -> None:
    with pytest.raises(ValueError, match="without a row"):
        Path(())
    with pytest.raises(ValueError, match="do not ascend: 5, 5"):
        Path((Row(5, 0, 0), Row(5, 1, 0)))
    with pytest.raises(ValueError, match="without a node"):
        Movement(())


def test_a_field() -> None:
    field = Field(width_mm=3000, height_mm=4000)
    assert field.diagonal_mm == 5000
    assert field.holds(0, 0)
    assert field.holds(3000, 4000)
    assert not field.holds(3000.5, 0)
    assert not field.holds(0, -1)
    with pytest.raises(ValueError, match="no field of 0 by 4000 mm"):
        Field(width_mm=0, height_mm=4000)
