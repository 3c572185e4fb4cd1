"""The first cell of a study gives the numbers that are stored of it: a change of any is a diff."""

from __future__ import annotations

import pytest

from tests.support.runs import stored_cells

#: The first on a kernel may wait until another process has built it.
pytestmark = pytest.mark.timeout(1800)


@pytest.mark.parametrize("name", sorted(stored_cells.studies()))
def test_a_studys_cell_gives_what_is_stored(name: str) -> None:
    got = stored_cells.given_now(stored_cells.studies()[name])
    if complaint := stored_cells.complaint(name, stored_cells.place(name).read_text(), got):
        pytest.fail(complaint, pytrace=False)
