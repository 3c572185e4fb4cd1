"""A document against a model: pydantic's errors as problems with file, line and key.

One misspelt section does not hide mistakes in the others: the sections that are valid by
themselves are also checked against each other.
"""

from __future__ import annotations

import copy
import functools
import types
import typing
from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from model import units
from model.errors import GroundtruthError
from testbed.study.problems import MAX_SOUGHT, Loc, Problem, nearest, one_of, suggestion
from testbed.study.scaling import CONTEXT_KEY
from testbed.study.yaml_document import Document

Model = TypeVar("Model", bound=BaseModel)

_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}
UNKNOWN_KEY = "unknown key"
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "less_than_equal": ("at most", "le"),
    "greater_than": ("more than", "gt"),
}


def validate(
    model: type[Model], data: Any, document: Document, place: Loc
) -> tuple[Model | None, list[Problem]]:
    """Return the model of the data at a place of a document, or None and what is wrong."""
    whole, details = _try(model, data, document)
    return whole, _problems(details, model, document, place)


def validate_sections(
    model: type[Model], document: Document
) -> tuple[Model, frozenset[str], list[Problem]]:
    """Return a document's model, the names of its valid sections, and what is wrong.

    With problems, the sections that are not named hold None: they must not be read.
    """
    whole, details = _try(model, document.data, document)
    names = frozenset(model.model_fields)
    if whole is not None:
        return whole, names, []
    bad = {str(detail["loc"][0]) for detail in details}
    rest = {key: value for key, value in document.data.items() if key not in bad}
    valid = frozenset(n for n, f in model.model_fields.items() if (f.alias or n) not in bad)
    read = _partial(model).model_validate(rest, context=_context(document))
    partial = typing.cast(Model, read)
    return partial, valid, _problems(details, model, document, ())


def _context(document: Document) -> dict[str, Any]:
    return {CONTEXT_KEY: document.scale}


def _try(
    model: type[Model], data: Any, document: Document
) -> tuple[Model | None, list[ErrorDetails]]:
    try:
        return model.model_validate(data, context=_context(document)), []
    except ValidationError as error:
        details = error.errors(include_url=False)
        # A list whose every item is wrong also counts as too short; only an empty one is.
        return None, [d for d in details if not (d["type"] == "too_short" and d["input"])]


def _is_misspelt(detail: ErrorDetails, details: list[ErrorDetails], model: type[BaseModel]) -> bool:
    """Return whether a key is missing only because an unknown one was meant to be it."""
    *above, key = detail["loc"] or ("",)
    if detail["type"] != "missing":
        return False
    keys = _keys_at(model, tuple(above))
    unknown = [
        str(other["loc"][-1])
        for other in details
        if other["type"] == "extra_forbidden" and list(other["loc"][:-1]) == above
    ]
    return any(keys == [key] or nearest(one, keys) == key for one in unknown)


@functools.cache
def _partial(model: type[BaseModel]) -> type[BaseModel]:
    """Return the model with every required field optional."""
    fields: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if field.is_required():
            optional = copy.copy(field)
            optional.default, optional.validate_default = None, False
            fields[name] = (field.annotation, optional)
    return create_model(f"Partial{model.__name__}", __base__=model, **fields)


def _problems(
    details: list[ErrorDetails], model: type[BaseModel], document: Document, above: Loc
) -> list[Problem]:
    told = [detail for detail in details if not _is_misspelt(detail, details, model)]
    return [_problem(detail, model, document, above) for detail in told[:MAX_SOUGHT]]


def _problem(
    detail: ErrorDetails, model: type[BaseModel], document: Document, above: Loc
) -> Problem:
    loc = tuple(part for part in detail["loc"] if part != "[key]")
    place, kind, got = (*above, *loc), detail["type"], units.shown(detail["input"])
    cause = detail.get("ctx", {}).get("error")
    if isinstance(cause, GroundtruthError):
        return document.problem(
            place, cause.what, wanted=cause.wanted, got=cause.got, hint=cause.hint
        )
    if kind == "missing":
        field = _walk(model, loc)[1]
        wanted = (field.description or "") if field else ""
        return document.problem(place, "missing key", wanted=wanted)
    if kind == "extra_forbidden":
        keys = _keys_at(model, loc[:-1])
        hint = suggestion(str(loc[-1]), keys)
        return document.problem(place, UNKNOWN_KEY, wanted=one_of(keys, hint), hint=hint)
    if kind == "literal_error":
        return _literal_problem(detail, place, got, document)
    if kind in _BOUNDS:
        words, limit = _BOUNDS[kind]
        wanted = f"{words} {detail['ctx'][limit]}"
        return document.problem(place, "out of range", wanted=wanted, got=got)
    if kind == "too_short":
        return document.problem(place, "empty", wanted="at least one entry", got=got)
    if kind in _KINDS:
        return document.problem(place, "wrong kind", wanted=_KINDS[kind], got=got)
    return document.problem(place, detail["msg"], got=got)


def _literal_problem(detail: ErrorDetails, place: Loc, got: str, document: Document) -> Problem:
    literals = [
        word.strip().strip("'")
        for word in detail["ctx"]["expected"].replace(" or ", ", ").split(",")
    ]
    if not isinstance(detail["input"], str):
        return document.problem(place, "wrong value", wanted=one_of(literals), got=got)
    hint = suggestion(detail["input"], literals)
    what = f"unknown {place[-1]}" if isinstance(place[-1], str) else "unknown value"
    return document.problem(place, what, wanted=one_of(literals), got=got, hint=hint)


def _fields(model: type[BaseModel]) -> dict[str, tuple[str, FieldInfo]]:
    """Return a model's fields, each with its Python name, by the key people write."""
    return {(f.alias or name): (name, f) for name, f in model.model_fields.items()}


def bare(annotation: Any) -> Any:
    """Return an annotation without ``Annotated`` and ``| None``."""
    while typing.get_origin(annotation) in (typing.Annotated, typing.Union, types.UnionType):
        annotation = next(a for a in typing.get_args(annotation) if a is not type(None))
    return annotation


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _walk(model: type[BaseModel], loc: Iterable[str | int]) -> tuple[str, FieldInfo | None, Any]:
    """Return the last field on the way to a place, and the annotation of the place itself."""
    name, field, here = "", None, typing.cast(Any, model)
    for part in loc:
        if _is_model(here):
            name, field = _fields(here).get(str(part), ("", None))
            here = bare(field.annotation) if field else None
        elif typing.get_origin(here) is tuple:
            here = bare(typing.get_args(here)[0])
        elif typing.get_origin(here) is dict:
            here = bare(typing.get_args(here)[1])
        else:
            return "", None, None
    return name, field, here


def field_name_at(model: type[BaseModel], loc: Iterable[str | int]) -> str:
    """Return the Python name, with its unit, of the field at a place, or nothing."""
    return _walk(model, loc)[0]


def _keys_at(model: type[BaseModel], loc: Iterable[str | int]) -> list[str]:
    """Return the keys the mapping at a place may have."""
    annotation = _walk(model, loc)[2]
    return list(_fields(annotation)) if _is_model(annotation) else []
