"""What a cell's socket recorder left, cut into answers: who was asked, when, and what came back.

Pure but for :func:`read_samples`. Places in errors are bytes of the file once decompressed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collectors.raw import compressed
from collectors.raw.files import read_as
from collectors.recording.socket_sampler import FRAME, SCHEMA, Source
from model.errors import ParseError

BYTE_ORDER = "little"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One source's answer at one time; ``offset`` is where it begins."""

    t_ns: int
    source: Source
    offset: int
    content: bytes


@dataclass(frozen=True, kw_only=True)
class Samples:
    """All answers of a cell in order of time. ``tick_ns`` is the length of a kernel tick."""

    tick_ns: int
    answers: tuple[Answer, ...]
    where: str

    def of(self, *, files: bool) -> Iterator[Answer]:
        """Yield what files of /proc, or what sockets answered."""
        return (answer for answer in self.answers if answer.source.what.startswith("/") == files)


def parse_sources(value: Mapping[str, Any], where: str) -> tuple[int, tuple[Source, ...]]:
    """Return the length of a tick and the sources in ``sockets.json``."""
    if (value["schema"], value["byte_order"]) != (SCHEMA, BYTE_ORDER):
        raise ParseError(
            "other samples than these are read", where=where,
            wanted=f"schema {SCHEMA}, {BYTE_ORDER} endian",
            got=f"schema {value['schema']}, {value['byte_order']} endian",
        )  # fmt: skip
    return int(value["tick_ns"]), tuple(Source(**source) for source in value["sources"])


def parse_frames(content: bytes, sources: tuple[Source, ...], where: str) -> Iterator[Answer]:
    """Yield the answers in a file; raise :class:`ParseError` naming file and byte."""
    offset, last_ns = 0, 0
    while offset < len(content):
        place = f"{where}: byte {offset}"
        left = len(content) - offset - FRAME.size
        if left < 0:
            raise ParseError(
                "a sample is cut off", where=place, wanted=f"{FRAME.size} bytes of head",
                got=str(left + FRAME.size),
            )  # fmt: skip
        t_ns, number, length = FRAME.unpack_from(content, offset)
        if number >= len(sources) or not last_ns <= t_ns < 1 << 63:
            raise ParseError(
                "not a sample", where=place,
                wanted=f"one of {len(sources)} sources, not before {last_ns} ns",
                got=f"source {number} at {t_ns} ns",
            )  # fmt: skip
        if length > left:
            raise ParseError(
                "a sample is cut off", where=place, wanted=f"{length} bytes", got=str(left)
            )
        offset += FRAME.size
        yield Answer(
            t_ns=t_ns, source=sources[number], offset=offset,
            content=content[offset : offset + length],
        )  # fmt: skip
        offset, last_ns = offset + length, t_ns


def read_samples(samples: Path, sources: Path) -> Samples:
    """Read a cell's ``sockets.bin.gz`` and ``sockets.json``."""
    tick_ns, by_number = read_as(sources, lambda value: parse_sources(value, str(sources)))
    content = compressed.read(samples, "samples")
    answers = tuple(parse_frames(content, by_number, str(samples)))
    return Samples(tick_ns=tick_ns, answers=answers, where=str(samples))
