"""OMNeT++'s scalar and vector files, versions 2 and 3, line by line: settings, and numbers wanted.

    run General-0-20240101-10:00:00-1     a run begins; attr, itervar, config and param are of it
    scalar Net.sink[0] "bytes:sum" 123    a number of a module
    statistic Net.sink[0] "delay"         its lines ``field mean 0.3`` are numbers "delay:mean"
    vector 0 Net.sink[0] "cwnd" ETV       a vector; its lines are ``0 event time value``

(The manual's appendix "Result File Formats" has the grammar.) Invariants: of numbers and vectors
only those are kept that are asked for, of a vector its sums and ends; anything else is a
:class:`ParseError` with file, line and reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from model.errors import ParseError
from model.run_files.comparing.brought import Span
from simulators.results.numbers import number, whole
from simulators.results.streams import Stream

VERSIONS = (2, 3)
#: How many runs, settings of a run, vectors, and numbers that are kept a file may have.
MOST_RUNS, MOST_SETTINGS, MOST_VECTORS, MOST_KEPT = 10_000, 100_000, 1_000_000, 1_000_000
#: Lines that a reader of numbers has no use for.
_PASSED_OVER = frozenset({"bin", "config", "file", "par"})
#: What a statistic holds that can be no number: of an empty one.
_UNKNOWN = frozenset({"nan", "-nan", "inf", "-inf"})
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\"}


@dataclass(kw_only=True)
class Samples:
    """What is kept of a vector between two times; ``lines`` its samples' number."""

    count: int = 0
    total: float = 0.0
    least: float = math.inf
    most: float = -math.inf
    last: float = math.nan
    last_s: float = -math.inf


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A number that was asked for: a scalar's, or of a vector what its samples give."""

    where: str
    module: str
    name: str
    value: float | Samples


@dataclass(kw_only=True)
class OmnetRun:
    """One run of a file: what identifies it, and the numbers asked for."""

    where: str
    name: str
    settings: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    kept: list[Kept] = field(default_factory=list)


Wanted = Callable[[str, str], bool]


def read(stream: Stream, *, wanted: Wanted, span: Span) -> list[OmnetRun]:
    """Return the runs of a file.

    Args:
        stream: the file.
        wanted: whether a number of a module, by both names, is asked for.
        span: between which times samples of vectors count.

    Raises:
        ParseError: it is no such file; file, line and reason.
    """
    reader = _Reader(stream, wanted, span)
    for at, text in stream.lines():
        reader.take(at, text)
    if not reader.runs:
        raise ParseError("no run in the file", where=stream.where, wanted="a line 'run ID'")
    return reader.runs


_Item = Literal["", "run", "scalar", "statistic"]


class _Reader:
    """Takes lines in order."""

    def __init__(self, stream: Stream, wanted: Wanted, span: Span) -> None:
        self._stream, self._wanted, self._span = stream, wanted, span
        self.runs: list[OmnetRun] = []
        self._item: _Item = ""
        self._statistic = ("", "")
        self._vectors: dict[int, tuple[str, Samples | None]] = {}
        self._seen: set[tuple[str, str]] = set()
        self._kept, self._version = 0, False

    def take(self, at: int, text: str) -> None:
        """Take a line."""
        first = text[:1]
        if not text.strip() or first == "#":
            return
        if first.isdigit():
            self._sample(at, text)
            return
        words = split(self._stream, at, text)
        if not self._version:
            self._begin(at, words)
            return
        if words[0] == "run":
            self._run(at, words)
            return
        if not self.runs:
            raise self._error(at, "something before the first run", "a line 'run ID'", words[0])
        take = {
            "attr": self._attribute, "itervar": self._setting, "param": self._setting,
            "scalar": self._scalar, "statistic": self._begin_statistic, "field": self._field,
            "vector": self._vector,
        }.get(words[0])  # fmt: skip
        if take:
            take(at, words)
        elif words[0] not in _PASSED_OVER:
            raise self._error(at, "no line of OMNeT++'s result files", "", words[0])

    def _error(self, at: int, what: str, wanted: str = "", got: str = "") -> ParseError:
        return self._stream.error(at, what, wanted=wanted, got=repr(got[:60]) if got else "")

    def _count(self, at: int, words: list[str], count: int) -> None:
        if len(words) != count:
            raise self._error(at, f"not a line of {words[0]}", f"{count} words", str(len(words)))

    def _begin(self, at: int, words: list[str]) -> None:
        versions = " or ".join(map(str, VERSIONS))
        if words[0] != "version" or len(words) != 2 or words[1] not in map(str, VERSIONS):
            raise self._error(
                at, "not a result file of OMNeT++", f"'version {versions}'", " ".join(words)
            )
        self._version = True

    def _run(self, at: int, words: list[str]) -> None:
        self._count(at, words, 2)
        if len(self.runs) >= MOST_RUNS:
            raise self._error(at, "too many runs", f"at most {MOST_RUNS}")
        self.runs.append(OmnetRun(where=f"{self._stream.where}:{at}", name=words[1]))
        self._item, self._vectors, self._seen = "run", {}, set()

    def _attribute(self, at: int, words: list[str]) -> None:
        self._count(at, words, 3)
        if self._item == "run":
            self._keep_setting(at, self.runs[-1].attributes, words)

    def _setting(self, at: int, words: list[str]) -> None:
        self._count(at, words, 3)
        if words[0] == "itervar":
            self._keep_setting(at, self.runs[-1].settings, words)

    def _keep_setting(self, at: int, into: dict[str, str], words: list[str]) -> None:
        if words[1] in into:
            raise self._error(at, f"{words[0]} {words[1][:60]} for the second time")
        if len(into) >= MOST_SETTINGS:
            raise self._error(at, f"too many lines of {words[0]}", f"at most {MOST_SETTINGS}")
        into[words[1]] = words[2]

    def _scalar(self, at: int, words: list[str]) -> None:
        self._count(at, words, 4)
        self._item = "scalar"
        self._number(at, words[1], words[2], words[3])

    def _begin_statistic(self, at: int, words: list[str]) -> None:
        self._count(at, words, 3)
        self._item, self._statistic = "statistic", (words[1], words[2])

    def _field(self, at: int, words: list[str]) -> None:
        self._count(at, words, 3)
        if self._item != "statistic":
            raise self._error(at, "a field of nothing", "after a statistic")
        module, name = self._statistic
        self._number(at, module, f"{name}:{words[1]}", words[2])

    def _number(self, at: int, module: str, name: str, text: str) -> None:
        if not self._wanted(module, name):
            return
        where = f"{self._stream.where}:{at}"
        if text.lower() in _UNKNOWN:
            raise self._error(at, f"{name[:60]} of {module[:60]} is not known", "a number", text)
        self._keep(at, module, name, number(text, where, name[:60]))

    def _keep(self, at: int, module: str, name: str, value: float | Samples) -> None:
        if (module, name) in self._seen:
            raise self._error(at, f"{name[:60]} of {module[:60]} for the second time")
        self._kept += 1
        if self._kept > MOST_KEPT:
            raise self._error(at, "too many numbers that are asked for", f"at most {MOST_KEPT}")
        self._seen.add((module, name))
        where = f"{self._stream.where}:{at}"
        self.runs[-1].kept.append(Kept(where=where, module=module, name=name, value=value))

    def _vector(self, at: int, words: list[str]) -> None:
        if len(words) == 4:
            words.append("TV")
        self._count(at, words, 5)
        where = f"{self._stream.where}:{at}"
        vector = whole(words[1], where, "the vector's number")
        if vector in self._vectors:
            raise self._error(at, "a vector for the second time", "", words[1])
        if len(self._vectors) >= MOST_VECTORS:
            raise self._error(at, "too many vectors", f"at most {MOST_VECTORS}")
        if words[4] not in ("TV", "ETV"):
            raise self._error(at, "columns that are not known", "TV or ETV", words[4])
        self._item = ""
        samples = Samples() if self._wanted(words[2], words[3]) else None
        self._vectors[vector] = (words[4], samples)
        if samples:
            self._keep(at, words[2], words[3], samples)

    def _sample(self, at: int, text: str) -> None:
        words, where = text.split(), f"{self._stream.where}:{at}"
        vector = whole(words[0], where, "the vector's number")
        if vector not in self._vectors:
            raise self._error(at, "a sample of no vector", "", words[0])
        columns, samples = self._vectors[vector]
        self._count(at, ["a vector", *words[1:]], len(columns) + 1)
        if samples is None:
            return
        t_s = number(words[-2], where, "the time", least=0)
        value = number(words[-1], where, "the value")
        if t_s < samples.last_s:
            raise self._error(
                at, "earlier than the sample before", f"{samples.last_s:g} s or later"
            )
        samples.last_s = t_s
        if self._span.from_s <= t_s < self._span.to_s:
            samples.count += 1
            samples.total += value
            samples.least, samples.most = min(samples.least, value), max(samples.most, value)
            samples.last = value


def split(stream: Stream, at: int, text: str) -> list[str]:
    """Return the words of a line; a word in quotes may have spaces and escapes."""
    if '"' not in text:
        return text.split()
    return list(_words(stream, at, text))


def _words(stream: Stream, at: int, text: str) -> Iterator[str]:
    place, end = 0, len(text)
    while place < end:
        if text[place].isspace():
            place += 1
        elif text[place] == '"':
            word, place = _quoted(stream, at, text, place + 1)
            yield word
        else:
            start = place
            while place < end and not text[place].isspace():
                place += 1
            yield text[start:place]


def _quoted(stream: Stream, at: int, text: str, place: int) -> tuple[str, int]:
    made: list[str] = []
    while place < len(text):
        one = text[place]
        if one == '"':
            return "".join(made), place + 1
        if one == "\\":
            following = text[place + 1 : place + 2]
            if following == "x":
                code = text[place + 2 : place + 4]
                try:
                    made.append(chr(int(code, 16)))
                except ValueError:
                    raise stream.error(at, "no escape", wanted="\\x and two digits") from None
                place += 4
                continue
            if following not in _ESCAPES or not following:
                raise stream.error(at, "no escape", got=ascii(following))
            made.append(_ESCAPES[following])
            place += 2
            continue
        made.append(one)
        place += 1
    raise stream.error(at, "a quote without its end")
