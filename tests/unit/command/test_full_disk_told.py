"""Of which disk it is said that it is full."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

import pytest

from testbed.campaign.study_sets import Found
from testbed.command.runs import full_disk
from testbed.machine import room
from testbed.machine.room import FullDiskError


@pytest.mark.parametrize("full", ["run", "scratch"])
def test_the_disk_with_little_room_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: str
) -> None:
    places = {"run": tmp_path / "run", "scratch": tmp_path / "scratch"}
    for place in places.values():
        place.mkdir()
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(places["scratch"]))
    monkeypatch.setattr(room, "has_little", lambda place: place == places[full])
    found = Found(folder=places["run"], runs=(), is_set=False)
    with pytest.raises(FullDiskError) as caught, full_disk.told(found):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.where == str(places[full])
