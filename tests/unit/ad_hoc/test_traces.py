"""Studies whose nodes follow a file: found, read once, known by its bytes, or refused in a line."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model.cell import cell_id, cell_json, from_dict, to_dict
from model.errors import StudyError
from model.movement.movement_csv import movement_of
from model.movement.of_network import movement
from testbed.command.cli import command_status
from testbed.planning import plan as planning
from testbed.planning.findings import find
from testbed.points.load_study import Study, load_study
from testbed.study.problems import StudyFileError
from tests.support import ad_hoc_study
from tests.support.radio.traced_study import MOVEMENT, NAME, TRACE, cell_of, read, written
from tests.support.study_file import Edit

BONNMOTION = "0 0 0\n0 400 0 5 400 0 20 700 0\n0 0 100\n0 100 100\n0 200 0\n0 700 100\n"
SWEEP = "flows.main.protocol: [tcp]"
PER_SEED: Edit = (f"file: {NAME}", "file: scen-{seed}.tcl")


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def moved(study: Study, *, seed: int = 1, point: int = 0) -> str:
    """Return the movement that a cell's nodes follow."""
    ((digest, text),) = study.movements.of_cells([cell_of(study, seed=seed, point=point)])
    assert digest == sha256(text)
    return text


def warned(study: Study) -> list[str]:
    found = find(study, seeds=study.settings.seeds).warnings
    return [one.text for one in found if one.rule == "trace-ends-early"]


def test_a_cell_says_by_digests_what_its_nodes_follow(tmp_path: Path) -> None:
    found = read(tmp_path)
    one = cell_of(found)
    assert one.ad_hoc is not None
    mobility = one.ad_hoc.mobility
    assert (mobility.model, mobility.ends, mobility.max_speed_mps) == ("trace", "move", 0.0)
    assert (mobility.width_mm, mobility.height_mm) == (700_000, 100_000)
    assert mobility.trace_sha256 == sha256(TRACE)
    assert mobility.movement_sha256 == sha256(MOVEMENT)
    assert mobility.trace_ends_s == 20.0
    assert moved(found) == MOVEMENT
    assert from_dict(to_dict(one)) == one
    assert one.left_to_chance() == ("backoffs",)
    with pytest.raises(ValueError, match="a seed does not draw"):
        movement(one.ad_hoc, seed=1, until_s=20.0)


def test_cells_of_other_models_are_what_they_were() -> None:
    text = cell_json(ad_hoc_study.cell())
    assert not [key for key in ("trace_sha256", "movement_sha256", "trace_ends_s") if key in text]


def test_a_changed_file_is_another_cell(tmp_path: Path) -> None:
    one, other = read(tmp_path), read(tmp_path / "b", trace=f"# said\n{TRACE}")
    cells = cell_of(one), cell_of(other)
    assert cell_id(cells[0]) != cell_id(cells[1])
    assert moved(one) == moved(other), "a comment moves no node"
    further = read(tmp_path / "c", trace=TRACE.replace("5.0", "5.5"))
    assert moved(further) != MOVEMENT


def test_where_the_file_lies_makes_no_other_cell(tmp_path: Path) -> None:
    (tmp_path / "b" / "s").mkdir(parents=True)
    below = read(tmp_path / "b", (NAME, "s/one.tcl"), name="s/one.tcl")
    assert cell_id(cell_of(below)) == cell_id(cell_of(read(tmp_path / "a")))


def test_radios_are_measured_without_the_file(tmp_path: Path) -> None:
    one, other = read(tmp_path), read(tmp_path / "b", trace=TRACE.replace("5.0", "5.5"))
    calibrating = [cell_of(study, purpose="calibrate") for study in (one, other)]
    assert calibrating[0] == calibrating[1]
    assert list(one.movements.of_cells(calibrating)) == []


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (TRACE, ""),
        (TRACE, "setdest"),
        (f"set god_ [God instance]\n{TRACE}", ""),
        (gzip.compress(TRACE.encode(), mtime=0), ""),
        (BONNMOTION, ""),
        (BONNMOTION, "bonnmotion"),
        (f"#\n\n# c\n{BONNMOTION}", ""),
        ("\N{ZERO WIDTH NO-BREAK SPACE}" + BONNMOTION, ""),
    ],
)
def test_the_format_is_said_or_told_by_the_file(
    content: str | bytes, form: str, tmp_path: Path
) -> None:
    said = (f"file: {NAME}\n", f"file: {NAME}\n    format: {form}\n")
    assert moved(read(tmp_path, *([said] if form else []), trace=content)) == MOVEMENT


@pytest.mark.parametrize(("duration", "rows"), [("4 s", 2), ("5 s", 2), ("5.5 s", 3), ("20 s", 3)])
def test_a_longer_file_is_cut(duration: str, rows: int, tmp_path: Path) -> None:
    found = read(tmp_path, ("duration: 20 s", f"duration: {duration}"))
    text = moved(found)
    assert [line for line in text.splitlines() if line.split(",")[1] == "1"] == (
        ["0,1,400000,0", "5000000000,1,400000,0", "20000000000,1,700000,0"][:rows]
    )
    assert movement_of(text, "m").nodes == 6
    assert warned(found) == []


def test_a_shorter_file_is_told(tmp_path: Path) -> None:
    found = read(tmp_path, ("duration: 20 s", "duration: 50 s"))
    assert moved(found) == MOVEMENT
    assert warned(found) == [
        (
            "no node moves after 20 s, where the file ends, and a run lasts 50 s: for 30 s all"
            " nodes stand where it leaves them"
        )
    ]


def test_who_means_a_shorter_file_says_so(tmp_path: Path) -> None:
    why = 'acknowledged:\n  - {rule: trace-ends-early, why: "the end is told apart"}\ngroups:'
    found = read(tmp_path, ("duration: 20 s", "duration: 50 s"), ("groups:", why))
    assert warned(found) == []
    needless = find(read(tmp_path, ("groups:", why)), seeds=(1, 2)).warnings
    assert "needless-acknowledgement" in {one.rule for one in needless}


def test_a_sweep_of_files(tmp_path: Path) -> None:
    later = TRACE.replace("5.0", "6.0")
    written(tmp_path, trace=later, name="later.tcl")
    found = read(tmp_path, (SWEEP, f"network.mobility.file: [{NAME}, later.tcl]"))
    assert [point.values for point in found.points] == [{"file": NAME}, {"file": "later.tcl"}]
    assert moved(found) == MOVEMENT
    assert "6000000000,1,400000,0" in moved(found, point=1)


def test_each_seed_has_a_file_of_its_own(tmp_path: Path) -> None:
    for seed, at in ((1, "5.0"), (2, "6.0")):
        written(tmp_path, trace=TRACE.replace("5.0", at), name=f"scen-{seed}.tcl")
    found = read(tmp_path, PER_SEED)
    assert moved(found, seed=1) == MOVEMENT
    assert "6000000000,1,400000,0" in moved(found, seed=2)
    with pytest.raises(StudyFileError) as caught:
        cell_of(found, seed=3)
    assert str(caught.value) == (
        f"{tmp_path}/a.yaml:25: network.mobility.file: {tmp_path}/scen-3.tcl: there is no such"
        f" file: wanted a file of setdest or BonnMotion, by its path from {tmp_path} on (did you"
        " mean scen-2.tcl?)"
    )


def test_the_warning_is_of_the_seed_whose_file_ends_first(tmp_path: Path) -> None:
    slow = TRACE.replace(' 20"', ' 12"')
    written(tmp_path, trace=slow, name="scen-1.tcl")
    written(tmp_path, trace=TRACE, name="scen-2.tcl")
    (said,) = warned(read(tmp_path, PER_SEED, ("duration: 20 s", "duration: 24 s")))
    assert said.startswith("no node moves after 20 s")


def test_every_seed_that_lacks_its_file_is_named(tmp_path: Path) -> None:
    written(tmp_path, trace=TRACE, name="scen-2.tcl")
    with pytest.raises(StudyFileError) as caught:
        read(tmp_path, PER_SEED, ("seeds: [1, 2]", "seeds: [1, 2, 7]"))
    lines = [line.replace(f"{tmp_path}/", "") for line in str(caught.value).splitlines()]
    assert lines == [
        f"a.yaml:25: network.mobility.file: scen-{seed}.tcl: there is no such file: wanted a file"
        f" of setdest or BonnMotion, by its path from {tmp_path} on (did you mean scen-2.tcl?)"
        for seed in (1, 7)
    ]  # fmt: skip


def test_a_missing_file_like_none_that_is_there_has_the_guide_as_its_hint(tmp_path: Path) -> None:
    with pytest.raises(StudyFileError, match=r"there is no such file: wanted .* on \(see docs/gui"):
        read(tmp_path, (f"file: {NAME}", "file: no/where/0123456789"))


def test_a_plan_holds_each_movement_once(tmp_path: Path) -> None:
    found = read(tmp_path, (SWEEP, "flows.main.protocol: [tcp, sctp]"))
    made = planning.make_plan(found, seeds=(1, 2), lab={"name": "virtual"})
    cells = [planned.cell for planned in made.cells]
    assert len(cells) == 6
    assert list(found.movements.of_cells(cells)) == [(sha256(MOVEMENT), MOVEMENT)]


def test_a_file_is_read_once(tmp_path: Path) -> None:
    found = read(tmp_path, (SWEEP, "flows.main.protocol: [tcp, sctp]"))
    (tmp_path / NAME).unlink()
    assert [moved(found, seed=seed, point=point) for seed in (1, 2) for point in (0, 1)] == (
        [MOVEMENT] * 4
    )


def test_movements_of_a_study_take_so_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbed.points.movement_files.MOST_PACKED_BYTES", 150)
    read(tmp_path)
    for seed in (1, 2):
        written(tmp_path, trace=TRACE.replace("5.0", f"{seed}.0"), name=f"scen-{seed}.tcl")
    with pytest.raises(StudyError, match=r"scen-2\.tcl: too many movements for one study: wanted"):
        read(tmp_path, PER_SEED)


def test_a_new_study_like_one_says_what_to_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    like = written(tmp_path / "old")
    (tmp_path / "new").mkdir()
    monkeypatch.chdir(tmp_path / "new")
    assert command_status(["new", "mine", "--like", str(like), "--hosts", "plain"]) == 0
    assert f"copy beside it what its nodes follow: {tmp_path}/old/{NAME}" in (
        capsys.readouterr().out.replace("\n", "")
    )


def _text(old: str, new: str) -> Callable[[Path], object]:
    assert old in TRACE
    return lambda path: path.write_text(TRACE.replace(old, new))


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 10 << 30)


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "ten gigabytes": (_sparse, ("{0}: cannot be read: wanted a file without holes, got 0 of"
                                " 10737418240 bytes")),
    "an endless device": (lambda path: path.symlink_to("/dev/zero"),
                          "{0}: cannot be read: wanted a plain file, got a device"),
    "a FIFO": (os.mkfifo, "{0}: cannot be read: wanted a plain file, got a FIFO"),
    "a folder": (Path.mkdir, "{0}: cannot be read: wanted a plain file, got a folder"),
    "a circle of links": (lambda path: path.symlink_to(path.name), "{0}: cannot be read: S"),
    "no file": (lambda path: None, "{0}: there is no such file: wanted a file of setdest or Bonn"),
    "a link to nothing": (lambda path: path.symlink_to("nothing"), "{0}: there is no such file"),
    "an empty file": (Path.touch, ("{0}: the file is empty: wanted such as '$ns_ at 2.0 \"$node_(0)"
                                   " setdest 90.4 44.9 1.37\"', or numbers: t x y")),
    "nothing, packed": (lambda path: path.write_bytes(gzip.compress(b"")),
                        "{0}: the file is empty: wanted such as"),
    "comments alone": (lambda path: path.write_text("# a\n"), (
        "{0}: no movements that are known by their first line: wanted such as '$ns_ at 2.0"
        " \"$node_(0) setdest 90.4 44.9 1.37\"', or numbers: t x y, got '' (format: says")),
    "another file": (lambda path: path.write_text("hello\n"), (
        "{0}: no movements that are known by their first line: wanted such as '$ns_ at 2.0"
        " \"$node_(0) setdest 90.4 44.9 1.37\"', or numbers: t x y, got 'hello'")),
    "zeros": (lambda path: path.write_bytes(bytes(100)),
              "{0}:1: not text: wanted lines of setdest or BonnMotion, got byte 0x00"),
    "a terminal's colours": (lambda path: path.write_bytes(b"# a\nred \x1b[31m\0\n"), (
        "{0}:2: not text: wanted lines of setdest or BonnMotion, got byte 0x1b")),
    "another encoding": (lambda path: path.write_bytes(b"na\xefve\n"), (
        "{0}:1: not text: wanted lines of setdest or BonnMotion, got bytes that are no UTF-8")),
    "out of the field": (_text("700 0 20", "700.1 0 20"), (
        "{0}:14: outside of the field: wanted x from 0 to 700 m, got x 700.1 (the study's field"
        " has that width)")),
    "two nodes of one number": (_text("$node_(2)", "$node_(0)"), (
        "{0}:6: X_ of node 0 is set again: wanted once (nodes cannot jump)")),
    "fewer nodes": (_text("$node_(5) set X_ 700\n$node_(5) set Y_ 100\n", ""), (
        "{0}: node 5 has no place: wanted 6 nodes, numbered from 0, got 5 nodes (was the file cut"
        " short?)")),
    "more nodes": (_text("$node_(5)", "$node_(6)"), (
        "{0}:12: a node that the study does not have: wanted nodes from 0 to 5, got node 6")),
    "no number": (_text("X_ 400", "X_ nan"), (
        "{0}:4: x of a place is no number: wanted a number, got 'nan'")),
    "time goes back": (
        lambda path: path.write_text(TRACE + '$ns_ at 4.0 "$node_(1) setdest 1 0 2"\n'),
        ("{0}:15: earlier than the setdest of node 1 before: wanted 5 s or later, got 4 s")),
    "a line cut short": (lambda path: path.write_text(TRACE[:-1]), (
        "{0}:14: the last line has no end: wanted a whole line")),
}  # fmt: skip


@pytest.mark.parametrize("command", ["validate", "plan", "run"])
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(
    command: str, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    make, said = REFUSED[case]
    written(tmp_path)
    (tmp_path / NAME).unlink()
    make(tmp_path / NAME)
    monkeypatch.chdir(tmp_path)
    before, began_s = sorted(tmp_path.iterdir()), time.monotonic()
    assert command_status([command, "a.yaml"]) == 2
    assert time.monotonic() - began_s < 20
    (line,) = capsys.readouterr().err.splitlines()
    begin = "groundtruth: a.yaml:25: network.mobility.file: " + said.format(NAME)
    assert line.startswith(begin), line
    assert sorted(tmp_path.iterdir()) == before


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read any file, so the system is made to refuse this one."""
    path, opened = written(tmp_path), os.open

    def refusing(name: str | os.PathLike[str], *args: Any, **more: Any) -> int:
        if Path(name).name == NAME:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(name))
        return opened(name, *args, **more)

    monkeypatch.setattr(os, "open", refusing)
    with pytest.raises(StudyError, match="cannot be read: Permission denied"):
        load_study(path)


def test_a_link_to_a_file_will_do(tmp_path: Path) -> None:
    written(tmp_path / "a")
    (tmp_path / "elsewhere.tcl").write_text(TRACE)
    (tmp_path / "a" / "link.tcl").symlink_to(tmp_path / "elsewhere.tcl")
    assert moved(read(tmp_path / "a", (f"file: {NAME}", "file: link.tcl"))) == MOVEMENT
