"""What several of these tests begin with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from testbed.labs.remote import bundle
from tests.lab.ad_hoc.conftest import run_ad_hoc as run_ad_hoc
from tests.lab.baselines.conftest import program as program


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what a session consists of."""
    made = tmp_path_factory.mktemp("session")
    for name, path in bundle.sources():
        place = made / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    return made
