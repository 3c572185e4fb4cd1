"""The command ``groundtruth new``: write a study file to start from, checked before it is there."""

from __future__ import annotations

import os
import re
from pathlib import Path

from model import units
from model.errors import StudyError
from testbed.machine.console import out
from testbed.points.load import HOSTS_FOLDER, find_study, parse_study
from testbed.study.document import read_document
from testbed.study.settings import STUDY_NAME, STUDY_NAME_WORDS
from testbed.study.template import template

#: The study whose settings a new one has unless another is named.
LIKE = "wireless"
#: Whose hosts it has: a publication's are of its own time and simulator.
HOSTS = "stock"
SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "study.schema.json"


def command(name: str, like: str, hosts: str, force: bool) -> None:
    """Write ``NAME.yaml`` into the current folder with the settings of another study.

    Acknowledgements of misleading settings are not taken over, nor its hosts.

    Raises:
        StudyError: the name cannot be one, the file is there already or cannot be written, or no
            study is like it.
    """
    if not re.fullmatch(STUDY_NAME, name):
        raise StudyError("not a study's name", wanted=STUDY_NAME_WORDS, got=units.shown(name))
    path = Path(f"{name}.yaml")
    if path.exists() and not force:
        raise StudyError(
            "a file of that name is there already", where=str(path), hint="--force overwrites it"
        )
    source = find_study(like)
    text = template(name, read_document(source), schema_place(path), hosts)
    study = parse_study(text, str(path), hosts_folders=(source.parent / "hosts", HOSTS_FOLDER))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StudyError(f"cannot write: {error.strerror}", where=str(path)) from error
    printed = out()
    points = len(study.points)
    counted = f"{points} point{'s' if points > 1 else ''}"
    printed.print(f"{path}: {counted}, like {like}, with hosts {hosts}")
    printed.print(f"next: groundtruth validate {path}")


def schema_place(path: Path) -> str:
    """Return where an editor finds the schema from a study file: relative inside the project."""
    folder = path.resolve().parent
    if folder.is_relative_to(SCHEMA.parents[1]):
        return os.path.relpath(SCHEMA, folder)
    return SCHEMA.as_uri()
