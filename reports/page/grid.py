"""Tables as data: a table is one function that makes a grid, an output one template that sets it.

Invariant: a field is text and what it means, never markup; each output escapes it by its own rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from reports.measures.quantities import UNKNOWN


@dataclass(frozen=True, kw_only=True)
class Part:
    """Text that means something; ``look`` says what, by a name of the page's style.

    ``sign`` stands before a judgement where an output has signs. ``link`` is the id of the part of
    the study's page that it leads to, and ``title`` says what is there.
    """

    look: str
    inside: tuple[str | Part, ...]
    sign: str = ""
    link: str = ""
    title: str = ""


Field = str | Part
#: Numbers stand right, names left, and words, which are sentences, may be broken into lines.
Kind = Literal["number", "name", "words"]


@dataclass(frozen=True)
class Column:
    """A column's head, and what its fields are."""

    head: Field
    kind: Kind = "number"


@dataclass(frozen=True)
class Grid:
    """A table: the first field of a row is its head; ``look`` is a name of the page's style."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[tuple[Field, ...]]
    notes: Sequence[str] = ()
    look: str = ""

    @property
    def heads(self) -> tuple[Field, ...]:
        """The heads of the columns."""
        return tuple(column.head for column in self.columns)


def columns(kind: Kind, *heads: Field) -> tuple[Column, ...]:
    """Return columns of one kind."""
    return tuple(Column(head, kind) for head in heads)


def side_by_side(
    caption: str, fields: Sequence[tuple[Column, Sequence[Field]]], notes: Sequence[str] = ()
) -> Grid:
    """Return a table of columns, each with its fields."""
    rows = list(zip(*(every for _, every in fields), strict=True))
    return Grid(caption, [column for column, _ in fields], rows, notes)


def part(look: str, *inside: Field) -> Part:
    """Return text of a look; empty: only what is inside has one."""
    return Part(look=look, inside=inside)


#: Where there is nothing.
NONE = part("absent", UNKNOWN)
#: How a judgement looks, by its word, and the sign before it.
_GOOD, _BAD, _OPEN = ("inside", "✓"), ("outside", "✗"), ("unknown", "")
_JUDGED = {
    "holds": _GOOD, "inside": _GOOD, "yes": _GOOD, "equivalent": _GOOD,
    "refuted": _BAD, "outside": _BAD, "no": _BAD, "different": _BAD,
}  # fmt: skip


def judgement(word: str, *more: Field, also: str = "") -> Part:
    """Return a judgement; one that is neither good nor bad has no sign.

    Args:
        word: ``holds``, ``outside``, ``not known`` and so on.
        more: what follows it.
        also: a further look.
    """
    look, sign = _JUDGED.get(word, _OPEN)
    return Part(look=f"{also} {look}".strip(), inside=(word, *more), sign=sign)


def plain(field: Field) -> str:
    """Return a field's text alone."""
    return field if isinstance(field, str) else "".join(plain(one) for one in field.inside)


def pieces(field: Field, look: str = "") -> Iterator[tuple[str, str]]:
    """Yield a field's text with its signs, piece by piece, each with its innermost look."""
    if isinstance(field, str):
        yield field, look
        return
    if field.sign:
        yield f"{field.sign} ", field.look
    for one in field.inside:
        yield from pieces(one, field.look or look)
