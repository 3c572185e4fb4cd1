"""What fields of ``summary.json`` are, and how an object of it takes what a report found."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import (
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializationInfo,
    ValidationInfo,
)

from model.run_files.point import Point, Scalar

SIGNIFICANT_DIGITS = 10


def rounded(value: float | Decimal | None) -> float | None:
    """Return a float rounded to the digits that are stored; null stays null."""
    return None if value is None else float(f"{value:.{SIGNIFICANT_DIGITS}g}")


def settings_of(point: Point, info: SerializationInfo[Any]) -> dict[str, Scalar]:
    """Return a point's settings, the swept ones in the order of the study file."""
    settings = point.as_dict()
    order = [name for name in info.context["parameters"] if name in settings]
    return {name: settings[name] for name in dict.fromkeys((*order, *settings))}


def of_headline(found: Mapping[str, Any], info: ValidationInfo[Any]) -> dict[str, Any]:
    """Return the metrics a study asks for, of all that were found."""
    return {name: found[name] for name in info.context["headline"]}


Rounded = Annotated[float, PlainSerializer(rounded, return_type=float)]
Number = Rounded | None
Interval = Annotated[tuple[Rounded, Rounded] | None, Field(description="Lower and upper end.")]
_Share = Annotated[float, Field(ge=0, le=1)]
_Rounded = Annotated[_Share, PlainSerializer(rounded, return_type=_Share)]
Probability = Annotated[_Rounded | None, Field(description="Null where the runs cannot say.")]
Text = str | None
Count = Annotated[int, Field(ge=0)]
_SETTINGS = "A value for each swept setting, in base units."
Sorted = Annotated[Point, Field(description=_SETTINGS)]
Settings = Annotated[Point, PlainSerializer(settings_of), Field(description=_SETTINGS)]
AsPrinted = Annotated[Decimal, PlainSerializer(rounded, return_type=float)]
Words = Annotated[tuple[str, ...], Field(min_length=1)]
Reached = Literal["holds", "refuted", "undecided"]
TableRule = Literal[
    "rate-times-delay-constant", "jitter-over-delay-constant", "utilisation-of-what",
    "utilisation-against-windows", "wire-rates-apart", "claim-against-table",
    "claim-against-episode",
]  # fmt: skip
Stopped = Literal["precise", "limit", "unmeasured", "equal"]


def taken(path: str, description: str | None = None) -> Any:
    """Declare a field that is of an attribute by another name, or of an attribute's."""
    return Field(validation_alias=AliasPath(*path.split(".")), description=description)


def taken_if(path: str, description: str | None = None) -> Any:
    """Declare the same where what has the attribute may be None."""
    return Field(None, validation_alias=AliasPath(*path.split(".")), description=description)


def says(description: str) -> Any:
    """Declare a field of its own name with what a reader is to know of it."""
    return Field(description=description)


class Record(BaseModel):
    """An object of the file."""

    model_config = ConfigDict(
        frozen=True, from_attributes=True, extra="forbid",
        json_schema_serialization_defaults_required=True,
    )  # fmt: skip
