"""Names of files with parts in them, and patterns of OMNeT++'s modules. Pure.

``queue-{queue}-run-{run}.xml`` fits ``queue-25-run-3.xml``: a part goes up to the first place where
the text after it stands, the last one to the text that ends the name. ``*`` is a part without a
name. Invariant: the time taken grows with the lengths only.
"""

from __future__ import annotations

import re

_PART = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}|(\*)")


def fitted(pattern: str, name: str) -> dict[str, str] | None:
    """Return a name's parts by theirs; None if it does not fit."""
    texts, names = [""], list[str]()
    place = 0
    for match in _PART.finditer(pattern):
        texts[-1] += pattern[place : match.start()]
        texts.append("")
        names.append(match[1] or "")
        place = match.end()
    texts[-1] += pattern[place:]
    if not names:
        return {} if name == texts[0] else None
    if not name.startswith(texts[0]) or not name.endswith(texts[-1]):
        return None
    end = len(name) - len(texts[-1])
    at, found = len(texts[0]), list[str]()
    for text in texts[1:-1]:
        following = name.find(text, at + 1, end)
        if following < 0:
            return None
        found.append(name[at:following])
        at = following + len(text)
    if at >= end:
        return None
    found.append(name[at:end])
    return {one: value for one, value in zip(names, found, strict=True) if one}


def matches(pattern: str, name: str) -> bool:
    """Return whether a module's or number's name fits a pattern: ``*`` is any text."""
    first, *rest = re.sub(r"\*+", "*", pattern).split("*")
    if not rest:
        return name == first
    if not name.startswith(first) or len(name) < len(first) + len(rest[-1]):
        return False
    at, end = len(first), len(name) - len(rest[-1])
    for text in rest[:-1]:
        found = name.find(text, at, end)
        if found < 0:
            return False
        at = found + len(text)
    return at <= end and name.endswith(rest[-1])
