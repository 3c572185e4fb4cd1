"""What the host lab changes of a machine is written down before, and undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.errors import RunError, UnsupportedError
from testbed.labs.host import undo
from testbed.labs.host.undo import Journal, Places
from testbed.labs.remote.on_machine import links
from tests.support.said import said_by


def value(places: Places, name: str) -> str:
    return (places.sysctls / name).read_text().strip()


WANTED = {"net/core/rmem_max": "67108864", "net/core/wmem_max": "4096 16384"}


def test_a_setting_is_set_and_given_back(places: Places) -> None:
    with undo.alone(places):
        undo.set_sysctls(WANTED, Journal(), places)
        assert value(places, "net/core/rmem_max") == "67108864"
        journal = undo.read(places)
        assert journal is not None
        # What was as wanted, but for white space, is left alone.
        assert journal.sysctls == {"net/core/rmem_max": ("212992", "67108864")}
        said = said_by(lambda say: undo.undo(places, say))
    assert said == ["sysctl net/core/rmem_max: 212992 again"]
    assert value(places, "net/core/rmem_max") == "212992"
    assert not places.folder.exists()


def test_a_limit_that_is_higher_stays(places: Places) -> None:
    (places.sysctls / "net/core/rmem_max").write_text("134217728\n")
    (places.sysctls / "net/core/wmem_max").write_text("2048\t32768\n")
    with undo.alone(places):
        undo.set_sysctls(WANTED, Journal(), places)
        assert value(places, "net/core/rmem_max") == "134217728"
        assert value(places, "net/core/wmem_max") == "4096 32768"
        said = said_by(lambda say: undo.undo(places, say))
    assert said == ["sysctl net/core/wmem_max: 2048 32768 again"]


def test_what_somebody_else_set_since_is_left(places: Places) -> None:
    with undo.alone(places):
        undo.set_sysctls(WANTED, Journal(), places)
        (places.sysctls / "net/core/rmem_max").write_text("5\n")
        said = said_by(lambda say: undo.undo(places, say))
    assert said == ["sysctl net/core/rmem_max: left at 5, which somebody else set"]
    assert value(places, "net/core/rmem_max") == "5"


def test_an_undo_that_was_cut_off_is_done_again(places: Places) -> None:
    with undo.alone(places):
        undo.set_sysctls(WANTED, Journal(), places)
        (places.sysctls / "net/core/rmem_max").write_text("212992\n")  # and then killed
    assert places.folder.exists(), "the journal stays"
    with undo.alone(places):
        assert said_by(lambda say: undo.undo(places, say)) == []
    assert not places.folder.exists()


def test_a_change_is_written_down_before_it_is_made(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_text

    def killed(path: Path, text: str) -> int:
        if path.is_relative_to(places.sysctls):
            raise KeyboardInterrupt
        return write(path, text)

    monkeypatch.setattr(Path, "write_text", killed)
    with undo.alone(places):
        with pytest.raises(KeyboardInterrupt):
            undo.set_sysctls(WANTED, Journal(), places)
        journal = undo.read(places)
        assert journal is not None
        assert "net/core/rmem_max" in journal.sysctls


def test_recordings_of_killed_cells_are_removed_and_no_others(places: Places) -> None:
    for name in ("groundtruth-4026532", "somebody", "groundtruth"):
        (places.tracing / "instances" / name).mkdir()
    with undo.alone(places):
        Journal().write(places)
        undo.undo(places, lambda _: None)
    left = sorted(path.name for path in (places.tracing / "instances").iterdir())
    assert left == ["groundtruth", "somebody"]


def test_what_cannot_be_undone_is_told_and_stays_written_down(places: Places) -> None:
    place = places.sysctls / "net/core/rmem_max"
    with undo.alone(places):
        undo.set_sysctls(WANTED, Journal(), places)
        place.unlink()
        place.mkdir()
        with pytest.raises(RunError, match=r"not all .*rmem_max: .*Is a directory.*clean --lab"):
            undo.undo(places, lambda _: None)
        assert undo.read(places) is not None
        place.rmdir()  # a setting goes with its module
        undo.undo(places, lambda _: None)
        assert undo.read(places) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"sysctls": 1}', '{"sysctls": {"a": ["b"]}}'])
def test_a_journal_that_cannot_be_read_is_an_error(places: Places, text: str) -> None:
    with undo.alone(places):
        (places.folder / undo.JOURNAL).write_text(text)
        with pytest.raises(RunError, match="cannot read what a run changed"):
            undo.undo(places, lambda _: None)


@pytest.mark.parametrize("journal", [undo.JOURNAL, links.JOURNAL])
def test_a_journal_whose_writer_was_killed_leaves_nothing(places: Places, journal: str) -> None:
    with undo.alone(places):
        (places.folder / f".{journal}").write_text("{")
    assert not places.folder.exists()


def test_a_setting_the_kernel_has_not_is_an_error(places: Places) -> None:
    with undo.alone(places), pytest.raises(UnsupportedError, match="cannot set sysctl net/none"):
        undo.set_sysctls({"net/none": "1"}, Journal(), places)


def test_one_run_has_the_machine_at_a_time(places: Places) -> None:
    under_way = pytest.raises(
        UnsupportedError, match="another run of the host or remote lab is under way"
    )
    with undo.alone(places), under_way, undo.alone(places):
        pass
    with undo.alone(places):
        pass


def test_who_cleans_waits_for_a_killed_runs_cells(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo, "CELLS_END_WITHIN_S", 0.2)
    places.folder.mkdir()
    with undo.cell_runs(places):
        still = pytest.raises(UnsupportedError, match="cells of a killed run are still running")
        with still, undo.alone(places):
            pass
    with undo.alone(places):
        pass
    assert not places.folder.exists()
