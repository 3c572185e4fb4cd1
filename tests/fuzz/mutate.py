"""Changed inputs from recorded ones: JSON by its structure, text by words and lines, bytes by bytes.

Invariant: a seed gives the same input always and everywhere, so a number is enough to have it again.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

#: Where programs go wrong.
NUMBERS = (0, 1, -1, 2, 255, 256, 65_535, 1 << 31, (1 << 31) - 1, 1 << 32, (1 << 63) - 1, 1 << 63,
           -(1 << 63), 1 << 64, 10**30, 10**400, -(10**400), 0.1, -0.5, 1e-300, 1e300, -0.0)  # fmt: skip
TEXTS = ("", "x", "0", "1e999", "nan", "-1", "\0", "\x1b[31m", "é", "\ud800", "../../etc/passwd", "/dev/zero",
         "a" * 5000, "1 s", "10^400 s", "9" * 400 + " s", "100 %", "0 %", "3 Mbit/s", "T", "S", "tcp", "sctp")  # fmt: skip
CONSTANTS = (None, True, False, float("nan"), float("inf"), [], {}, [[]], [None], {"": None})
WORDS = ("- ", "  ", "\t", "\n", "&a ", "*a", "{}", "[]", "null", "''", "\0", "é", ": ", "? ", "| ", "!!set ", "%",
         "9" * 400, "1e400", "-", "0", "1 s", "10 packets", "udp", "paired", "same", "~", "<<: *a", "\u2028", "\ufeff",
         "[" * 200, "a: " * 50, '"', "'", "#", "---\n", "...\n", "!!python/object:os.system ")  # fmt: skip


def odd(rng: random.Random) -> Any:
    """Return a value that a file may hold and a reader may not expect."""
    return rng.choice(rng.choice((NUMBERS, TEXTS, CONSTANTS)))


def of_json(rng: random.Random, value: Any) -> Any:
    """Return a JSON value changed in one place."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        chance = rng.random()
        if chance < 0.06:
            return {name: one for name, one in value.items() if name != key}
        if chance < 0.10:
            return {**value, rng.choice(("x", "", key + "x", "schema")): odd(rng)}
        if chance < 0.13:
            other = rng.choice(list(value))
            return {**value, key: value[other], other: value[key]}
        return {**value, key: of_json(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        chance = rng.random()
        if chance < 0.08:
            return value[:at] + value[at + 1 :]
        if chance < 0.16:
            return value[: at + 1] * rng.choice((1, 2, 3)) + value[at:]
        return [*value[:at], of_json(rng, value[at]), *value[at + 1 :]]
    return near(rng, value) if rng.random() < 0.4 else odd(rng)


def near(rng: random.Random, value: Any) -> Any:
    """Return a value of the same type."""
    if isinstance(value, bool) or value is None:
        return rng.choice((True, False, None))
    if isinstance(value, int):
        return value + rng.choice((-1, 1, -value, value, 1 << 20, -(1 << 33), 1 << 62))
    if isinstance(value, float):
        return value * rng.choice((-1.0, 0.0, 1e-12, 0.5, 2.0, 1e12, 1e300))
    if isinstance(value, str):
        return of_text(rng, value) if value else "x"
    return value


def of_text(rng: random.Random, text: str) -> str:
    """Return a text with words or lines taken out, put in, doubled or moved."""
    for _ in range(rng.randint(1, 3)):
        spans = [match.span() for match in re.finditer(r"\S+|\n", text)] or [(0, len(text))]
        start, end = rng.choice(spans)
        other = text[slice(*rng.choice(spans))]
        new = rng.choice((*WORDS, other, other, "", text[start:end] * 2))
        text = text[: start if rng.random() < 0.85 else end] + new + text[end:]
    return text


def of_bytes(rng: random.Random, content: bytes) -> bytes:
    """Return bytes with bits flipped, numbers replaced, or pieces taken out, doubled or cut off."""
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
        if not changed:
            return bytes(rng.getrandbits(8) for _ in range(rng.randint(0, 64)))
        at, chance = rng.randrange(len(changed)), rng.random()
        if chance < 0.4:
            changed[at] ^= 1 << rng.randrange(8)
        elif chance < 0.7:
            width = rng.choice((1, 2, 4, 8))
            number = rng.choice([n for n in NUMBERS if isinstance(n, int)]) % (1 << 8 * width)
            order = rng.choice(("little", "big"))
            changed[at : at + width] = number.to_bytes(width, order)  # type: ignore[arg-type]
        elif chance < 0.8:
            del changed[at : at + rng.choice((1, 4, 16, 256))]
        elif chance < 0.9:
            piece = changed[at : at + rng.choice((1, 4, 16, 256))]
            where = rng.randrange(len(changed))
            changed[where:where] = piece
        elif chance < 0.95:
            del changed[at:]
        else:
            changed[at : at + 4] = bytes(rng.getrandbits(8) for _ in range(4))
    return bytes(changed)


def as_bytes(text: str) -> bytes:
    """Return a text as a file would hold it, halves of characters too."""
    return text.encode(errors="surrogatepass")


def json_input(rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    """Return a JSON file, changed by structure most of the time."""
    content = rng.choice(corpus)
    chance = rng.random()
    if chance < 0.12:
        return of_bytes(rng, content)
    if chance < 0.15:
        return as_bytes("[" * rng.choice((10, 990, 100_000)))
    value = json.loads(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        value = of_json(rng, value)
    return as_bytes(_dump(value, indented=content[:3] == b"{\n "))


def _dump(value: Any, *, indented: bool) -> str:
    return json.dumps(value, indent=1 if indented else None, sort_keys=indented) + "\n"


def lines_input(rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    """Return a file of JSON lines with one line changed."""
    lines = rng.choice(corpus).splitlines(keepends=True)
    at, chance = rng.randrange(len(lines)), rng.random()
    if chance < 0.1:
        del lines[at]
    elif chance < 0.2:
        lines.insert(rng.randrange(len(lines)), lines[at])
    elif chance < 0.3:
        lines[at] = of_bytes(rng, lines[at])
    else:
        lines[at] = json_input(rng, [lines[at]])
    return b"".join(lines)


def text_input(rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    """Return a text file with words changed, or a few bytes."""
    content = rng.choice(corpus)
    if rng.random() < 0.05:
        return of_bytes(rng, content)
    return as_bytes(of_text(rng, content.decode()))


def bytes_input(rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    """Return a binary file with bytes changed."""
    return of_bytes(rng, rng.choice(corpus))


Mutate = Callable[[random.Random, Sequence[bytes]], bytes]
