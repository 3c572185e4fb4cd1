"""What there is to run and to ask for: studies, host profiles, labs, metrics, each by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from model.run_files.metrics.every import ALWAYS, ASKED
from testbed.command import new_study
from testbed.labs import registry
from testbed.machine.console import out
from testbed.points.load_study import HOSTS_FOLDER, STUDIES_FOLDER
from testbed.study.yaml_document import read_document

#: A row's name, and what it is in words.
Row = tuple[str, str]


def _files(folder: Path, said: Callable[[Path], str]) -> Iterator[Row]:
    """Yield the files of a folder, and the title in each."""
    for path in sorted(folder.glob("*.yaml")):
        yield said(path), str(read_document(path).data.get("title", ""))


def _studies() -> Iterator[Row]:
    yield from _files(STUDIES_FOLDER, lambda path: path.stem)
    root = STUDIES_FOLDER.parent
    yield from _files(STUDIES_FOLDER / "examples", lambda path: str(path.relative_to(root)))


def _templates() -> Iterator[Row]:
    yield from _files(new_study.TEMPLATES, lambda path: path.stem)


def _profiles() -> Iterator[Row]:
    yield from _files(HOSTS_FOLDER, lambda path: path.stem)


def _labs() -> Iterator[Row]:
    for kind in registry.LABS.values():
        default = " (default)" if kind is registry.DEFAULT else ""
        clock = {"virtual": "virtual time", "real": "real time"}[kind.properties.clock]
        yield kind.properties.name, f"{kind.properties.kernels}; {clock}{default}"


def _metrics() -> Iterator[Row]:
    for one in (*ALWAYS, *ASKED):
        needs = f" (needs {one.needs})" if one.needs else ""
        yield one.name, f"{one.meaning}{needs}"


#: What can be listed, and what each is called.
KINDS: dict[str, tuple[str, Callable[[], Iterator[Row]]]] = {
    "studies": ("Studies: groundtruth run NAME", _studies),
    "templates": ("Templates: groundtruth new NAME --template TEMPLATE", _templates),
    "profiles": ("Host profiles: --hosts NAME", _profiles),
    "labs": ("Labs: --lab NAME", _labs),
    "metrics": ("Metrics: below metrics: in a study", _metrics),
}


def show(kinds: tuple[str, ...]) -> None:
    """Print what there is of these kinds."""
    from reports.page.grid import Grid, columns  # when needed: they take longer than most commands
    from reports.terminal.screen import Screen

    screen = Screen(out())
    for kind in kinds:
        title, rows = KINDS[kind]
        screen.print_table(Grid(title, columns("name", "name", "what it is"), list(rows())))
