"""What is repeated goes into a folder of its own, which nobody leaves behind for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import repeat, runfolder

pytestmark = pytest.mark.unit


def test_the_folder_is_gone_afterwards(tmp_path: Path) -> None:
    with repeat._scratch(tmp_path) as scratch:
        assert list(tmp_path.iterdir()) == [scratch]
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_uses_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / f"{runfolder.VERIFY_SCRATCH}left" / "cells").mkdir(parents=True)
    (tmp_path / "cells").mkdir()
    with repeat._scratch(tmp_path) as first, repeat._scratch(tmp_path) as second:
        assert set(tmp_path.iterdir()) == {tmp_path / "cells", first, second}
    assert list(tmp_path.iterdir()) == [tmp_path / "cells"]
