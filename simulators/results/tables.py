"""CSV, row by row: a head with names, then as many fields in every row.

Invariants: a row at a time is in memory; the separator is what the head is parted by, or as told;
a row with more or fewer fields, a name twice, a quote without its end are each a
:class:`ParseError` with file, line and reason.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator

from model.errors import ParseError
from simulators.results.streams import Stream

MOST_COLUMNS = 10_000
SEPARATORS = ",;\t"


def rows(stream: Stream, separator: str = "") -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row by its columns' names, with the line that it ends on."""
    texts = _Texts(stream)
    if not separator:
        separator = max(SEPARATORS, key=texts.peeked().count)
    # Quoted fields may hold line ends, but none that never closes: csv limits what a field holds.
    reader = csv.reader(texts, delimiter=separator, strict=True)
    head: list[str] | None = None
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise stream.error(texts.line, f"not CSV: {error}") from error
        if row is None:
            break
        if not row or (len(row) == 1 and not row[0].strip()):
            continue
        if head is None:
            head = _head(stream, texts.line, row)
            continue
        if len(row) != len(head):
            hint = "decimals are written with a point" if len(row) > len(head) else ""
            raise stream.error(
                texts.line, "not as many fields as the head has names", wanted=str(len(head)),
                got=str(len(row)), hint=hint if separator == "," else "",
            )  # fmt: skip
        yield texts.line, dict(zip(head, row, strict=True))
    if head is None:
        raise ParseError("no row in the file", where=stream.where)


def _head(stream: Stream, line: int, row: list[str]) -> list[str]:
    head = [name.strip() for name in row]
    if len(head) > MOST_COLUMNS:
        raise stream.error(line, "too many columns", wanted=f"at most {MOST_COLUMNS}")
    seen: set[str] = set()
    for name in head:
        if not name or name in seen:
            raise stream.error(
                line, "a column without a name, or one for the second time", got=repr(name[:60])
            )
        seen.add(name)
    return head


class _Texts:
    """The lines for csv, with the number of the last one."""

    def __init__(self, stream: Stream) -> None:
        self._lines, self.line = stream.lines(), 0
        self._first: tuple[int, str] | None = None

    def peeked(self) -> str:
        """Return the first line, which is still to come."""
        self._first = next(self._lines)
        return self._first[1]

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        found, self._first = self._first or next(self._lines), None
        self.line, text = found
        return f"{text}\n"
