"""Frozen dataclasses to JSON-ready values and back, strictly. Standard library only.

Invariants: every field is there, no other key is, and every value has its field's type; where a
field may be one of several dataclasses, the one whose ``model`` allows the value's is built, or
where they have none, the one that has most of its keys. A field that is :data:`LATER` may be
missing, and is where it says nothing.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from typing import Any, Literal

#: Metadata of a field that older versions did not have: its default is what they did.
LATER = {"later": True}


def to_dict(value: Any) -> Any:
    """Return dataclasses, tuples and scalars as JSON-ready lists and dicts."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: to_dict(getattr(value, f.name))
            for f in dataclasses.fields(value)
            if not (_is_later(f) and getattr(value, f.name) == f.default)
        }
    if isinstance(value, tuple | list):
        return [to_dict(item) for item in value]
    if isinstance(value, dict):
        return {key: to_dict(item) for key, item in value.items()}
    return value


def _is_later(field: dataclasses.Field[Any]) -> bool:
    return "later" in field.metadata


@functools.cache
def _later(kind: type) -> frozenset[str]:
    """Return the fields of a dataclass that may be missing."""
    return frozenset(field.name for field in dataclasses.fields(kind) if _is_later(field))


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """Return the fields of a dataclass with their types; resolving them is what reading costs."""
    resolved = typing.get_type_hints(kind)
    return {field.name: resolved[field.name] for field in dataclasses.fields(kind)}


def build(kind: Any, data: Any, where: str) -> Any:
    """Build a field's value from :func:`to_dict`'s; raise ``ValueError`` naming the bad key."""
    origin = typing.get_origin(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        names = set(hints)
        if not isinstance(data, dict) or set(data) | _later(kind) != names:
            got = sorted(data) if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"{where}: wanted keys {sorted(names)}, got {got}")
        return kind(**{name: build(hints[name], data[name], f"{where}.{name}") for name in data})
    if origin is types.UnionType and all(map(dataclasses.is_dataclass, typing.get_args(kind))):
        return _one_of(typing.get_args(kind), data, where)
    if origin is tuple:
        (item_kind, _) = typing.get_args(kind)
        if not isinstance(data, list):
            raise ValueError(f"{where}: wanted a list, got {type(data).__name__}")
        return tuple(build(item_kind, item, f"{where}[{i}]") for i, item in enumerate(data))
    if origin is dict:
        (_, item_kind) = typing.get_args(kind)
        if not isinstance(data, dict):
            raise ValueError(f"{where}: wanted a table, got {type(data).__name__}")
        return {key: build(item_kind, item, f"{where}.{key}") for key, item in data.items()}
    return _scalar(kind, data, where)


def _one_of(kinds: tuple[Any, ...], data: Any, where: str) -> Any:
    if not all("model" in _hints(kind) for kind in kinds):
        return _by_keys(kinds, data, where)
    model = data.get("model") if isinstance(data, dict) else None
    for kind in kinds:
        if model in typing.get_args(_hints(kind)["model"]):
            return build(kind, data, where)
    models = [name for kind in kinds for name in typing.get_args(_hints(kind)["model"])]
    raise ValueError(f"{where}.model: wanted one of {', '.join(models)}, got {model!r}")


def _by_keys(kinds: tuple[Any, ...], data: Any, where: str) -> Any:
    """Build the one with the most keys of the data's."""
    keys = set(data) if isinstance(data, dict) else set()
    return build(max(kinds, key=lambda kind: len(keys & set(_hints(kind)))), data, where)


def _scalar(kind: Any, data: Any, where: str) -> Any:
    origin = typing.get_origin(kind)
    if origin is Literal or origin is types.UnionType:
        choices = typing.get_args(kind)
        if (data if origin is Literal else type(data)) not in choices:
            names = [c if isinstance(c, str) else c.__name__ for c in choices]
            raise ValueError(f"{where}: wanted one of {', '.join(names)}, got {data!r}")
        return data
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        try:
            return float(data)
        except OverflowError:
            digits = f"a number of {data.bit_length()} bits"
            raise ValueError(f"{where}: wanted float, got {digits}") from None
    if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
        raise ValueError(f"{where}: wanted {kind.__name__}, got {data!r}")
    return data
