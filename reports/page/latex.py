"""The rules of LaTeX that needs booktabs and nothing else, for tables. Pure.

Invariants: no text of a study is read as a command; only characters that every LaTeX of this
century can set are written, any other as its number.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from markupsafe import Markup

from reports.page.grid import Column, Field, plain

_CHARACTERS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"$<$", ">": r"$>$", "|": r"$|$", '"': r"{''}", "'": r"{'}", "`": r"{`}", "-": "{-}",
    "[": "{[}", "]": "{]}", "*": "{*}",
    "\N{MINUS SIGN}": "$-$", "\N{EN DASH}": "{--}", "\N{EM DASH}": "{---}",
    "\N{DAGGER}": r"\dag{}", "\N{PLUS-MINUS SIGN}": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$", "\N{MICRO SIGN}": r"$\mu$",
    "\N{DEGREE SIGN}": r"$^\circ$", "\N{HORIZONTAL ELLIPSIS}": r"\dots{}",
    "\u03bb": r"$\lambda$",
    "\N{LEFT SINGLE QUOTATION MARK}": "{`}", "\N{RIGHT SINGLE QUOTATION MARK}": "{'}",
    "\N{LEFT DOUBLE QUOTATION MARK}": "{``}", "\N{RIGHT DOUBLE QUOTATION MARK}": "{''}",
}  # fmt: skip
#: Accents over Latin letters, by the combining character.
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u",
    "\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip
#: Letters that are not a Latin letter with an accent.
_LETTERS = {
    "\N{LATIN SMALL LETTER SHARP S}": r"{\ss}", "\N{LATIN SMALL LETTER AE}": r"{\ae}",
    "\N{LATIN CAPITAL LETTER AE}": r"{\AE}", "\N{LATIN SMALL LETTER O WITH STROKE}": r"{\o}",
    "\N{LATIN CAPITAL LETTER O WITH STROKE}": r"{\O}",
    "\N{LATIN SMALL LETTER L WITH STROKE}": r"{\l}",
    "\N{LATIN CAPITAL LETTER L WITH STROKE}": r"{\L}",
}  # fmt: skip


def _character(char: str) -> str:
    command = _CHARACTERS.get(char) or _LETTERS.get(char)
    if command:
        return command
    if char.isascii():
        return char
    parts = unicodedata.normalize("NFD", char)
    letter, accent = parts[0], _ACCENTS.get(parts[1:])
    if accent and letter.isascii() and letter.isalpha():
        return rf"{{\{accent}{{{letter}}}}}"
    return f"(U+{ord(char):04X})"


def escaped(text: str) -> str:
    """Return the text as it reads, on one line, without a command."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return "".join(_character(char) for char in " ".join(line.split()))


def row(fields: Sequence[Field]) -> Markup:
    """Return a row of a table."""
    return Markup(" & ".join(escaped(plain(field)) for field in fields) + r" \\")


def rule(columns: Sequence[Column]) -> Markup:
    """Return how columns stand: those of words are broken, and share most of the line's width."""
    words = sum(column.kind == "words" for column in columns)
    kinds = {"number": "r", "name": "l"}
    return Markup(
        "".join(kinds.get(one.kind) or rf"p{{{0.7 / words:.2f}\linewidth}}" for one in columns)
    )
