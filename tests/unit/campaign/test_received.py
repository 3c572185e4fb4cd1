"""A run folder somebody sent: nothing in it is followed, waited for, or changed without a word."""

from __future__ import annotations

import fnmatch
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model import run_folder
from model.errors import GroundtruthError, ParseError
from testbed.campaign import digests, manifest, saved_runs, study_sets
from testbed.command.cli import command_status
from testbed.labs.virtual import virtual_lab
from testbed.machine import trees
from tests.support.fake_lab import FakeLab
from tests.support.recorded import DATA
from tests.support.runs.one_point import STUDY
from tests.unit.labs.test_accept import nested

COMMANDS = (
    ("report",), ("parse", "-j", "1"), ("verify", "--cells", "1", "-j", "1"), ("resume", "-j", "1"),
    ("wireshark",),
)  # fmt: skip
#: Files of which any bit may be another and no command says so; each with the reason.
NEVER_NOTICED = {
    "cells/*/console.log": "what the lab said: people read it, no command does",
    "cells/*/timing.json": "what this execution took: only shown, in a bundle",
    "summary.json": "written anew by every report", "summary.csv": "written anew by every report",
    "report/*": "written anew by every report",
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A finished run with its report, and a lab for commands that want one."""
    place = tmp_path_factory.mktemp("received")
    shutil.copytree(DATA / "study" / "hosts", place / "hosts")
    (place / "w.yaml").write_text(STUDY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(virtual_lab, "ensure_per_kernel", lambda *_: FakeLab())
        patch.chdir(place)
        assert command_status(["run", "w.yaml", "--reps", "2", "-j", "2", "-D", "r"]) == 0
        yield (place / "r" / "latest").resolve()


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Iterator[Path]:
    yield shutil.copytree(whole, tmp_path / "run")
    trees.remove(tmp_path / "run")  # pytest itself dies of folders as deep as these


def measuring(run: Path) -> Path:
    return next(path.parent for path in run.glob("cells/*/tables"))


def named(run: Path, name: str) -> Path:
    """Return a file of a run, of its cells that of one that measures: parsing asks no other."""
    within = name.removeprefix("cells/*/")
    return run / name if within == name else measuring(run) / within


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_run_itself_is_in_order(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = content(run)
    for words in COMMANDS[:-1]:
        assert command_status([words[0], str(run), *words[1:]]) == 0, capsys.readouterr()
    assert content(run) == before


def to_outside(name: str) -> Callable[[Path, Path], str]:
    def plant(run: Path, outside: Path) -> str:
        if (run / name).is_dir():
            shutil.copytree(run / name, outside / "copy")
            shutil.rmtree(run / name)
        else:
            (outside / "copy").mkdir()
        (run / name).symlink_to(outside / "copy")
        return name

    return plant


def file_to_outside(name: str) -> Callable[[Path, Path], str]:
    def plant(run: Path, outside: Path) -> str:
        path = named(run, name)
        shutil.copy(path, outside / "copy")
        path.unlink()
        path.symlink_to(outside / "copy")
        return str(path.relative_to(run))

    return plant


def fifo(name: str) -> Callable[[Path, Path], str]:
    def plant(run: Path, _: Path) -> str:
        path = named(run, name)
        path.unlink()
        os.mkfifo(path)
        return str(path.relative_to(run))

    return plant


def cell_link(run: Path, outside: Path) -> str:
    cell = measuring(run)
    cell.rename(outside / "cell")
    cell.symlink_to(outside / "cell")
    return f"cells/{cell.name}"


def huge(name: str) -> Callable[[Path, Path], str]:
    def plant(run: Path, _: Path) -> str:
        path = named(run, name)
        os.truncate(path, 4 << 40)
        return str(path.relative_to(run).relative_to(path.parent.relative_to(run)))

    return plant


def deep(run: Path, outside: Path) -> str:
    nested(measuring(run) / "raw", outside)
    return "folders in each other"


PLANTS: dict[str, Callable[[Path, Path], str]] = {
    "report link": to_outside("report"), "pcap link": to_outside("pcap"),
    "figures link": to_outside("report/figures"), "cells link": to_outside("cells"),
    "cell link": cell_link,
    "tables link": lambda r, o: to_outside(str(measuring(r).relative_to(r) / "tables"))(r, o),
    "raw link": lambda r, o: to_outside(str(measuring(r).relative_to(r) / "raw"))(r, o),
    **{f"{name} link": file_to_outside(name) for name in (
        "plan.json", "summary.json", "warnings.json", "resolved.json", "manifest.json",
        "report/index.html", "cells/*/DONE", "cells/*/raw/epoch.json",
        "cells/*/tables/flows.parquet",
    )},
    **{f"{name} FIFO": fifo(name) for name in (
        "plan.json", "cells.json", "resolved.json", "provenance.json", "warnings.json",
        "manifest.json", "study.yaml", "summary.json", "report/section.json", "cells/*/DONE",
        "cells/*/cell.json", "cells/*/raw/epoch.json", "cells/*/tables/flows.parquet",
        "cells/*/console.log",
    )},
    **{f"{name} huge": huge(name) for name in (
        "plan.json", "cells.json", "resolved.json", "manifest.json", "cells/*/DONE",
        "cells/*/raw/epoch.json", "cells/*/tables/flows.parquet",
    )},
    "deep": deep,
}  # fmt: skip


@pytest.mark.timeout(120)
@pytest.mark.parametrize("plant", PLANTS)
def test_what_is_no_plain_file_is_named_and_nothing_is_written(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], plant: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    told = PLANTS[plant](run, outside)
    before = content(outside)
    # A large file is one cell's fault: that cell is left out, or run again.
    for words in [one for one in COMMANDS if "huge" not in plant or one[0] != "resume"]:
        status = command_status([words[0], str(run), *words[1:]])
        said = capsys.readouterr().err
        # A run without captures has nothing to export, whatever ails its cells.
        assert status != 0, words
        assert told in said or words == ("wireshark",), said
        assert content(outside) == before, words
    assert "Traceback" not in said


def flipped(path: Path, bit: int) -> None:
    whole = bytearray(path.read_bytes())
    whole[bit // 8] ^= 1 << bit % 8
    path.write_bytes(whole)


def complaint(run: Path) -> str:
    """Return what every command asks first of a run; empty if it has no answer."""
    try:
        (found,) = study_sets.find(str(run)).runs
        cells = saved_runs.load_cells(found)
        return "".join(
            f"{i}: {why}" for i, why in digests.changed(run, [c.id for c in cells]).items()
        )
    except GroundtruthError as error:
        return str(error)


def name_of(path: Path) -> str:
    """Return what a complaint must hold; none can say whether DONE is wrong, or what it tells."""
    return path.parent.name if path.name == run_folder.DONE else path.name


def is_covered(name: str) -> bool:
    return not any(fnmatch.fnmatch(name, pattern) for pattern in NEVER_NOTICED)


def test_the_first_and_last_byte_of_every_file_matter_or_it_is_listed(run: Path) -> None:
    assert complaint(run) == ""
    unnoticed = set()
    for path in sorted(path for path in run.rglob("*") if path.is_file()):
        whole, name = path.read_bytes(), str(path.relative_to(run))
        for bit in {0, len(whole) * 8 - 1, len(whole) * 4} if whole else ():
            flipped(path, bit)
            said = complaint(run)
            path.write_bytes(whole)
            if not said:
                unnoticed.add(name)
            else:
                assert name_of(path) in said, (name, said)
        path.unlink()
        assert not is_covered(name) or path.name in complaint(run), name
        path.write_bytes(whole)
    assert {name for name in unnoticed if is_covered(name)} == set()
    assert complaint(run) == ""


@settings(max_examples=150)
@given(data=st.data())
def test_any_flipped_bit_is_noticed(whole: Path, data: st.DataObject) -> None:
    files = sorted(p for p in whole.rglob("*") if p.is_file() and p.stat().st_size)
    path = data.draw(st.sampled_from([p for p in files if is_covered(str(p.relative_to(whole)))]))
    content = path.read_bytes()
    flipped(path, data.draw(st.integers(0, len(content) * 8 - 1)))
    try:
        assert name_of(path) in complaint(whole)
    finally:
        path.write_bytes(content)


def test_what_may_change_unnoticed_is_written_anew_or_read_by_nobody(run: Path) -> None:
    before = content(run)
    for name in before:
        if not is_covered(name) and before[name]:
            flipped(run / name, len(before[name]) * 4)
    assert command_status(["report", str(run)]) == 0
    after = content(run)
    assert {name for name in before if before[name] != after.get(name)} == {
        name for name in before if name.endswith(("console.log", "timing.json"))
    }


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_swapped_comparison_is_told_by_every_command(
    run: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    path = run / run_folder.RESOLVED
    study = json.loads(path.read_text())
    study["compare"] = {"of": study["compare"]["over"], "over": study["compare"]["of"]}
    path.write_text(json.dumps(study, indent=1))
    before = content(run)
    assert command_status([words[0], str(run), *words[1:]]) == 1
    assert "resolved.json: " in capsys.readouterr().err
    assert content(run) == before


def test_a_run_without_manifest_is_not_believed(run: Path) -> None:
    (run / run_folder.MANIFEST).unlink()
    with pytest.raises(ParseError, match=r"manifest\.json: file is missing \(so nobody can tell"):
        manifest.check(run)


def test_a_file_is_known_while_it_is_written(tmp_path: Path) -> None:
    """Whoever is killed leaves the old file or the new one."""
    manifest.write(tmp_path, {run_folder.PLAN: "old", run_folder.STUDY: "study"})
    replace, left = Path.replace, 0

    class KilledError(BaseException):
        pass

    def killed(path: Path, target: Path) -> Path:
        nonlocal left
        left -= 1
        if left < 0:
            raise KilledError
        return replace(path, target)

    for step in range(3):
        left = step
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Path, "replace", killed)
            with pytest.raises(KilledError):
                manifest.write(tmp_path, {run_folder.PLAN: "new", run_folder.WARNINGS: "[]"})
        manifest.check(tmp_path)
    manifest.write(tmp_path, {run_folder.PLAN: "new"})
    manifest.check(tmp_path)
    (tmp_path / run_folder.PLAN).write_text("other")
    with pytest.raises(GroundtruthError, match=r"plan\.json: "):
        manifest.check(tmp_path)
