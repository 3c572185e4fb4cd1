"""The command ``groundtruth new``: write a commented study file to start from, checked before.

It begins as a template, claims included, or with the settings of another study.

Invariants: every word of explanation is a field's description, so that file, error messages and
JSON Schema say the same; a key that is not given stands there as a comment, with its default.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import typing
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from model import units
from model.errors import StudyError
from testbed.machine.command_line import groundtruth
from testbed.machine.console import out
from testbed.points.load_study import HOSTS_FOLDER, STUDIES_FOLDER, find_study, parse_study
from testbed.study.form_validation import bare
from testbed.study.problems import Loc, one_of, suggestion
from testbed.study.setting_types import STUDY_NAME, STUDY_NAME_WORDS
from testbed.study.study_form import StudyFile
from testbed.study.yaml_document import Document, parse_document, read_document

TEMPLATES = STUDIES_FOLDER / "templates"
#: The template of a new study unless another, or a study, is named.
TEMPLATE = "congestion-control"
#: Whose hosts it has: a publication's are of its own time and simulator, and the kernel's own have
#: windows that limit a flow before the network does.
HOSTS = "roomy"
SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "schemas" / "study.schema.json"
#: What belongs to a publication or to the study it is taken from, not to one's own: its author's
#: words on what misleads there are nobody else's.
LEFT_OUT = (
    "source", "published", "figures", "assumptions", "claims", "acknowledged", "hypotheses",
    "explanations",
)  # fmt: skip
HEAD = """\
# yaml-language-server: $schema={schema}
# A study of your own. `groundtruth validate {name}.yaml` checks it, `groundtruth plan {name}.yaml`
# says what it costs, `groundtruth run {name}.yaml` runs it. What follows # on a line says what
# belongs there. A key behind # has the value given there until you say another.
# Every key is explained in docs/study-files.md.
"""
INDENT, LINE = "  ", 100
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ./_%+-]*")


def templates() -> list[str]:
    """Return the names of the templates there are."""
    return sorted(file.stem for file in TEMPLATES.glob("*.yaml"))


def _template(name: str) -> Path:
    names = templates()
    if name not in names:
        raise StudyError(
            "no such template", wanted=one_of(names), got=units.shown(name),
            hint=suggestion(name, names),
        )  # fmt: skip
    return TEMPLATES / f"{name}.yaml"


def command(
    name: str, *, like: str = "", template: str = "", hosts: str = HOSTS, title: str = "",
    force: bool = False,
) -> None:  # fmt: skip
    """Write ``NAME.yaml`` into the current folder: a template, or the settings of another study.

    Acknowledgements of misleading settings are not taken over, nor hosts. Without a ``title`` it
    has the name for one.

    Raises:
        StudyError: the name cannot be one, the file is there already or cannot be written, or there
            is no such template or study, or both are named.
    """
    if like and template:
        raise StudyError("both --like and --template", wanted="one of them")
    if not re.fullmatch(STUDY_NAME, name):
        raise StudyError("not a study's name", wanted=STUDY_NAME_WORDS, got=units.shown(name))
    path = Path(f"{name}.yaml")
    if path.exists() and not force:
        raise StudyError(
            "a file of that name is there already", where=str(path), hint="--force overwrites it"
        )
    source = find_study(like) if like else _template(template or TEMPLATE)
    own = {"study": name, "title": title or _title(name), "hosts": hosts}
    text = new_text(read_document(source), own, schema_place(path), whole=not like)
    study = parse_study(
        text, str(path), hosts_folders=(source.parent / "hosts", HOSTS_FOLDER), beside=source.parent
    )
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StudyError(f"cannot write: {error.strerror}", where=str(path)) from error
    printed = out()
    points = len(study.points)
    counted = f"{points} point{'s' if points > 1 else ''}"
    counted += f", {len(study.settings.claims)} claims" if study.settings.claims else ""
    printed.print(f"{path}: {counted}, like {source.stem}, with hosts {hosts}")
    if source.parent.resolve() != path.resolve().parent:
        for file in study.movements.read_files():
            printed.print(f"copy beside it what its nodes follow: {file}")
    printed.print(f"next: {groundtruth('validate', path)}, then {groundtruth('run', path)}")


def _title(name: str) -> str:
    """Return a name as a title: ``bbr against cubic``."""
    return re.sub(r"[-_]+", " ", name).strip() or name


def schema_place(path: Path) -> str:
    """Return where an editor finds the schema from a study file: relative inside the project."""
    folder = path.resolve().parent
    if folder.is_relative_to(SCHEMA.parents[2]):
        return os.path.relpath(SCHEMA, folder)
    return SCHEMA.as_uri()


def new_text(like: Document, own: Mapping[str, str], schema: str, *, whole: bool) -> str:
    """Return the text of a new study with the settings of another one, but for its ``own``.

    ``schema`` is where an editor finds the JSON Schema of study files. ``whole`` keeps all there
    is, and the comment that it begins with.
    """
    left_out = () if whole else LEFT_OUT
    data = {**{key: value for key, value in like.data.items() if key not in left_out}, **own}
    head = HEAD.format(name=own["study"], schema=schema)
    if whole:
        lines = like.text.splitlines(keepends=True)
        head += "#\n" + "".join(itertools.takewhile(lambda line: line.startswith("#"), lines))
    return head + "\n".join(_spaced(_mapping(data, StudyFile, (), like))) + "\n"


def _spaced(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines with an empty one before each section, and before what is not given."""
    given = True
    for line in lines:
        if line.split("  #")[0].endswith(":") and line[0] not in " #-":
            yield ""
        elif given and line.startswith("#"):
            given = False
            yield ""
        yield line


def _mapping(
    data: Mapping[str, Any], model: type[BaseModel] | None, loc: Loc, like: Document,
    *, explained: bool = True,
) -> Iterator[str]:  # fmt: skip
    """Yield a mapping's lines: its keys in the model's order, then what is not given."""
    fields = {(f.alias or name): f for name, f in model.model_fields.items()} if model else {}
    for key in [*(k for k in fields if k in data), *(k for k in data if k not in fields)]:
        field = fields.get(key)
        comment = f"  # {field.description}" if field and explained else ""
        for section in ("sweep", "points"):
            if like.key((*loc, key)) in _swept(like.data.get(section, ())):
                comment = f"  # not used: each value under {section} takes its place"
        yield from _entry(key, data[key], field, (*loc, key), like, comment)
    if explained:
        for key, field in fields.items():
            if key not in data:
                yield f"# {key}: {_default(field)}".rstrip() + f"  # {field.description}"


def _swept(section: Mapping[str, Any] | tuple[Mapping[str, Any], ...]) -> Mapping[str, Any]:
    """Return the settings of ``sweep`` or ``points``."""
    return section if isinstance(section, Mapping) else section[0] if section else {}


def _entry(
    key: str, value: Any, field: FieldInfo | None, loc: Loc, like: Document, comment: str
) -> Iterator[str]:
    """Yield the lines of one key: its value behind it, or below."""
    word = _scalar(key)
    kind = bare(field.annotation) if field else None
    if isinstance(value, dict) and value:
        yield f"{word}:{comment}"
        if typing.get_origin(kind) is dict:
            inner = _model(typing.get_args(kind)[1])
            for name, item in value.items():
                yield from _below(_named(name, item, inner, (*loc, name), like))
        else:
            inside = _mapping(value, _model(kind), loc, like, explained=bool(comment))
            yield from _below(inside)
    elif isinstance(value, tuple) and any(isinstance(item, dict) for item in value):
        yield f"{word}:{comment}"
        inner = _model(typing.get_args(kind)[0]) if kind else None
        for i, item in enumerate(value):
            lines = list(_mapping(item, inner, (*loc, i), like, explained=i == 0))
            yield from _below(_dashed(lines))
    elif isinstance(value, tuple):
        items = (_scalar(item, like.texts.get((*loc, i), "")) for i, item in enumerate(value))
        line = f"{word}: [{', '.join(found := list(items))}]{comment}"
        if len(line) <= LINE:
            yield line
        else:
            yield f"{word}:{comment}"
            yield from (f"{INDENT}- {item}" for item in found)
    else:
        yield f"{word}: {_scalar(value, like.texts.get(loc, ''))}{comment}"


def _named(
    name: str, item: Any, model: type[BaseModel] | None, loc: Loc, like: Document
) -> Iterator[str]:
    """Yield the lines of one key that the study's author named."""
    if isinstance(item, dict) and item:
        yield f"{_scalar(name)}:"
        yield from _below(_mapping(item, model, loc, like, explained=False))
    else:
        yield from _entry(name, item, None, loc, like, "")


def _below(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield INDENT + line


def _dashed(lines: list[str]) -> Iterator[str]:
    """Yield a mapping's lines as one item of a list; its first line holds a key."""
    yield f"- {lines[0]}"
    yield from _below(lines[1:])


def _model(annotation: Any) -> type[BaseModel] | None:
    """Return the model that an annotation is of, if it is of one."""
    kind = bare(annotation)
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _scalar(value: Any, text: str = "") -> str:
    """Return a value as YAML; a number as it was written."""
    if isinstance(value, bool) or value is None:
        return units.shown(value)
    if isinstance(value, int | float):
        return text or str(value)
    if not isinstance(value, str):  # a mapping of nothing
        return "{}"
    plain = _PLAIN.fullmatch(value) and parse_document(f"a: {value}", "").data.get("a") == value
    return value if plain else json.dumps(value, ensure_ascii=False)


def _default(field: FieldInfo) -> str:
    """Return a default as people write it; nothing where none stands for it."""
    default = field.get_default()
    if isinstance(default, bool | str):
        return _scalar(default)
    if isinstance(default, float):
        return units.format_time(default)
    return str(default) if isinstance(default, int) else ""
