"""``report/tables.tex``: the tables tables as LaTeX that needs booktabs and nothing else. Pure.

Invariants: no text of a study is read as a command; only characters that every LaTeX of this
century can set are written, any other as its number.
"""

from __future__ import annotations

import unicodedata

from reports.page.review_tables import AttachedTable, Attachment

_HEAD = r"""% Tables of a Groundtruth run. Needs \usepackage{booktabs}; then \input{tables}.
"""
_CHARACTERS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"$<$", ">": r"$>$", "|": r"$|$", '"': r"{''}", "'": r"{'}", "`": r"{`}", "-": "{-}",
    "[": "{[}", "]": "{]}", "*": "{*}",
    "\N{MINUS SIGN}": "$-$", "\N{EN DASH}": "{--}", "\N{EM DASH}": "{---}",
    "\N{DAGGER}": r"\dag{}", "\N{PLUS-MINUS SIGN}": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$", "\N{MICRO SIGN}": r"$\mu$",
    "\N{DEGREE SIGN}": r"$^\circ$", "\N{HORIZONTAL ELLIPSIS}": r"\dots{}",
    "\u03bb": r"$\lambda$", "\N{NO-BREAK SPACE}": "~",
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
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split(" "))
    return "".join(_character(char) for char in " ".join(line.split()))


def _row(cells: tuple[str, ...]) -> str:
    return " & ".join(escaped(cell) for cell in cells) + r" \\"


def _columns(table: AttachedTable) -> str:
    """Return the columns: numbers to the right; sentences broken, sharing the line's width."""
    sentences = len(table.heads) - table.words
    names = "l" if sentences else "r"
    width = f"p{{{0.7 / sentences:.2f}\\linewidth}}" if sentences else ""
    return names * table.words + width * sentences


def _table(table: AttachedTable) -> list[str]:
    lines = [
        r"\begin{table}", r"\centering", r"\footnotesize", rf"\caption{{{escaped(table.title)}}}",
        rf"\begin{{tabular}}{{{_columns(table)}}}", r"\toprule", _row(table.heads), r"\midrule",
        *(_row(row) for row in table.rows), r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip
    if table.notes:
        lines += ["", r"\raggedright", *(escaped(note) + r"\par" for note in table.notes)]
    return [*lines, r"\end{table}", ""]


def tables_latex(attachment: Attachment) -> str:
    """Return the file's text."""
    lines = [_HEAD, rf"\paragraph{{{escaped(attachment.title)}}}", ""]
    for table in attachment.tables:
        lines += _table(table)
    if attachment.notes:
        lines += [r"{\footnotesize\raggedright"]
        lines += [escaped(note) + r"\par" for note in attachment.notes]
        lines += ["}", ""]
    return "\n".join(lines)
