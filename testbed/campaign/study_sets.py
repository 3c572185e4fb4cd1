"""Sets: the run folders of several studies in one folder, made together and found again.

A set may be made for one command to read, once its runs have finished: it says for which.

results/<UTC>-studies/set.json   and   results/<UTC>-studies/<study>/, an ordinary run folder each

Invariants: ``set.json`` is written last, so a folder that has it is whole; it holds names, never
paths, so a set can be moved and copied.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from model import plain_files, run_folder
from model.errors import (
    DisagreementError,
    GroundtruthError,
    ParseError,
    RunError,
    StudyError,
    UnsupportedError,
)
from testbed.campaign import new_runs, run_cells, saved_runs
from testbed.campaign.run_cell import json_text
from testbed.labs.contract.lab import Lab
from testbed.machine import scratch, trees
from testbed.machine.command_line import groundtruth
from testbed.planning.findings import Findings
from testbed.planning.plan import Plan
from testbed.points.load_study import find_study

SCHEMA = 1
NAME = "studies"
#: What the name of a command is made of.
_COMMAND = re.compile(r"[a-z]+(-[a-z]+)*")


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a command was pointed at: one run folder, or all those of a set."""

    folder: Path
    runs: tuple[Path, ...]
    is_set: bool
    #: The command that a set was made for, which reads it whole; empty: the runs are all there is.
    then: str = ""

    @property
    def next_command(self) -> str:
        """The command line that reads the set once its runs have finished; empty if none does."""
        return groundtruth(self.then, self.folder) if self.then else ""

    @property
    def go_on(self) -> str:
        """The command line that goes on after an interrupt, to what this was made for."""
        resume = groundtruth("resume", self.folder)
        return f"{resume} && {self.next_command}" if self.then else resume

    def named(self, run: Path) -> str:
        """Return what a line about one of the runs begins with; empty where there is just one."""
        return f"{run.name}: " if self.is_set else ""


def check_names(names: Sequence[str]) -> None:
    """Raise :class:`StudyError` unless each study is named, and once."""
    seen: dict[Path, str] = {}
    for name in names:
        if not name.strip():
            raise StudyError("no study named", where="STUDY", wanted="a name or file", got="''")
        file = find_study(name).resolve()
        if file in seen:
            raise StudyError(
                "the same study twice", where="STUDY", wanted="each study once",
                got=f"{seen[file]} and {name}", hint="for more runs of a study: --reps",
            )  # fmt: skip
        seen[file] = name


def folder_names(studies: Sequence[str]) -> list[str]:
    """Return a folder name for each study's id; studies of one id get numbers from 2."""
    taken = set(run_folder.OF_SET)
    names = []
    for study in studies:
        name, number = study, 2
        while name in taken:
            name, number = f"{study}-{number}", number + 1
        taken.add(name)
        names.append(name)
    return names


def create(
    data_dir: Path,
    planned: Sequence[tuple[Plan, Findings]],
    argv: Sequence[str],
    *,
    names: Sequence[str] = (),
    set_name: str = NAME,
    then: str = "",
) -> Found:
    """Make a new run folder, or for several plans a new set, without cells; return it.

    ``names`` are those of a set's run folders, if not the studies' own; ``then`` is the command
    that the set is made for, if there is one.

    Raises:
        StudyError: it could not be written.
    """
    if len(planned) == 1:
        run = new_runs.create(data_dir, *planned[0], argv)
        return Found(folder=run, runs=(run,), is_set=False)
    names = names or folder_names([plan.study.settings.study for plan, _ in planned])

    def make(folder: Path, now: datetime.datetime) -> None:
        started = new_runs.provenance(now, argv)
        for name, (plan, findings) in zip(names, planned, strict=True):
            (folder / name).mkdir()
            new_runs.fill(folder / name, plan, findings, started)
        plain_files.write_text(folder / run_folder.SET, _text(names, then))

    folder = new_runs.new_folder(data_dir, set_name, make)
    runs = tuple(folder / name for name in names)
    return Found(folder=folder, runs=runs, is_set=True, then=then)


def parts(
    made: Found, planned: Sequence[tuple[Plan, Findings]], labs: Sequence[Lab]
) -> list[run_cells.Part]:
    """Return new runs as parts of a campaign, each with its lab, which the run now names."""
    found = []
    for run, (plan, _), lab in zip(made.runs, planned, labs, strict=True):
        configs = saved_runs.kernel_configs(lab, plan.cells)
        saved_runs.record_lab(run, lab.packages(), configs)
        found.append(run_cells.Part(run=run, cells=plan.first, lab=lab))
    return found


def add(
    folder: Path, name: str, planned: tuple[Plan, Findings], argv: Sequence[str], then: str
) -> Path:
    """Put a new run folder into a set, which may have none yet; return it.

    ``then`` is the command that the set is made for.

    Raises:
        StudyError: it could not be written.
    """
    if not _is_name(name):  # what is there already under that name is removed
        raise StudyError("not a folder's name", where=str(folder), got=repr(name))
    run = folder / name
    names = names_of(folder)
    try:
        with scratch.scratch(folder, run_folder.MAKING) as place:
            (place / name).mkdir()
            started = new_runs.provenance(datetime.datetime.now(tz=datetime.UTC), argv)
            new_runs.fill(place / name, *planned, started)
            trees.remove(run)  # whose maker was killed before the set named it: nothing ran there
            (place / name).rename(run)
        plain_files.write_text(folder / run_folder.SET, _text([*names, name], then))
    except OSError as error:
        raise StudyError("cannot write results", where=str(folder), got=str(error)) from error
    return run


def names_of(folder: Path) -> list[str]:
    """Return the names of a set's runs, none where it has none yet; raises as :func:`find`."""
    path = folder / run_folder.SET
    return _read(path)[0] if plain_files.is_file(path) else []


def find(text: str) -> Found:
    """Return the set or the run folder at a path, all of which was looked at.

    Raises:
        StudyError: it is neither.
        ParseError: ``set.json`` is not one, or there is what belongs in no run.
    """
    found = named(text)
    saved_runs.looked_at(found.folder)
    return found


def named(text: str) -> Found:
    """Return the set or the run folder at a path, whatever is in it; raises as :func:`find`."""
    place = Path(text)
    with contextlib.suppress(OSError):  # what cannot be looked at is no set: find_run says why
        if plain_files.is_file(place / run_folder.SET):
            folder = place.resolve()
            names, then = _read(folder / run_folder.SET)
            runs = tuple(folder / name for name in names)
            return Found(folder=folder, runs=runs, is_set=True, then=then)
    run = saved_runs.find_run(text)
    return Found(folder=run, runs=(run,), is_set=False)


def _read(path: Path) -> tuple[list[str], str]:
    """Return the names of a set's run folders, and the command the set was made for, if any."""
    try:
        text = plain_files.read_text(path)
        content = json.loads(text)
        names, then = content["studies"], content.get("then", "")
        sound = isinstance(names, list) and all(_is_name(name) for name in names)
        sound = sound and isinstance(then, str) and (not then or bool(_COMMAND.fullmatch(then)))
        sound = sound and _text(names, then) == text  # so that no byte of it can be another
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ParseError("cannot read a set", where=str(path), got=str(error)) from error
    if not sound or not names or len(set(names)) != len(names):
        raise ParseError(
            "cannot read a set", where=str(path),
            wanted="names of folders beside it, each once, as a set is written",
            got=json.dumps(names)[:200],
        )  # fmt: skip
    return list(names), then


def _text(names: Sequence[str], then: str = "") -> str:
    """Return the one text of ``set.json`` that holds these names, and what the set is for."""
    return json_text({"schema": SCHEMA, "studies": names, **({"then": then} if then else {})})


def _is_name(name: object) -> bool:
    # What begins with a dot is scratch, which nobody looks at: no run has such a name.
    return isinstance(name, str) and name[:1] not in ("", ".") and not {"/", "\0"} & set(name)


def set_of(run: Path) -> Path | None:
    """Return the folder of the set a run folder belongs to, if it belongs to one."""
    folder = run.parent
    with contextlib.suppress(OSError, GroundtruthError):
        if run.name in _read(folder / run_folder.SET)[0]:
            return folder
    return None


@contextlib.contextmanager
def locked(found: Found) -> Iterator[None]:
    """Hold what was found for the block, every run of it; those that are missing are not held."""
    with contextlib.ExitStack() as held:
        for folder in dict.fromkeys((found.folder, *found.runs)):
            if plain_files.is_folder(folder):
                held.enter_context(saved_runs.locked(folder))
        yield


def together(errors: Mapping[str, GroundtruthError | OSError], what: str) -> GroundtruthError:
    """Return one error for those of several parts, by name; the gravest gives it its kind.

    A failure to run or write outweighs all, then what is not possible here, then what cannot be
    used; disagreement comes last, because it presumes that the rest went well.
    """
    kinds = (RunError, UnsupportedError, StudyError, DisagreementError)
    statuses = {
        error.exit_status if isinstance(error, GroundtruthError) else RunError.exit_status
        for error in errors.values()
    }
    kind = next(kind for kind in kinds if kind.exit_status in statuses)
    lines = [f"{name}: {error}".replace("\n", "\n  ") for name, error in errors.items()]
    return kind(f"{len(errors)} {what}:\n  " + "\n  ".join(lines))
