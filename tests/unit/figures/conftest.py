"""Every chart that these tests make is held against Vega-Lite's schema, which reports leave out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from altair.utils import schemapi


@pytest.fixture(autouse=True)
def held_against_the_schema() -> Iterator[None]:
    """Altair's switch is one for all threads: what ran before may have left it off."""
    with schemapi.debug_mode(True):
        yield
