"""A point of a sweep, as files and reports know it: settings by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

Scalar = float | int | str


@dataclass(frozen=True)
class Point:
    """One point of the sweep; equal points are equal whatever the order of their settings."""

    settings: tuple[tuple[str, Scalar], ...]

    @classmethod
    def of(cls, settings: Mapping[str, Scalar]) -> Point:
        """Return the point with these settings."""
        return cls(tuple(sorted(settings.items())))

    def as_dict(self) -> dict[str, Scalar]:
        """Return the settings by name."""
        return dict(self.settings)

    def covers(self, other: Point) -> bool:
        """Return whether every setting of this point is also one of ``other``."""
        return set(self.settings) <= set(other.settings)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """In files a point is an object of its settings."""
        settings = handler.generate_schema(dict[str, int | float | str])
        read = core_schema.no_info_after_validator_function(cls.of, settings)
        made = core_schema.union_schema([core_schema.is_instance_schema(cls), read])
        return core_schema.json_or_python_schema(
            read, made,
            serialization=core_schema.plain_serializer_function_ser_schema(
                cls.as_dict, return_schema=handler.generate_schema(dict[str, Scalar])
            ),
        )  # fmt: skip
