"""Write the rooms of the house into docs/architecture.md, from the imports as they are.

    python -m docs.generate.rooms

With each room stand those it uses. What it reaches through another is not said again, so the table
has all there is to know of the order, and nothing that is not so. A test holds the page against it.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import grimp

from docs.generate.marks import between

FILE = Path(__file__).parents[1] / "architecture.md"
BEGIN, END = "<!-- rooms: written by docs.generate.rooms -->", "<!-- end of rooms -->"
PARTS = ("testbed", "simulators", "collectors", "reports", "mininet_topos", "probes", "model")


def rooms() -> dict[str, set[str]]:
    """Return every room, a package with modules of its own, and the rooms it imports."""
    graph = grimp.build_graph(*PARTS, cache_dir=None)
    packages = {name for name in graph.modules if graph.find_children(name)}

    def room(module: str) -> str:
        return module if module in packages else module.rpartition(".")[0]

    found: dict[str, set[str]] = {
        room(module): set() for module in graph.modules if module not in packages
    }
    for module in graph.modules:
        for used in graph.find_modules_directly_imported_by(module):
            if room(used) != room(module):
                found.setdefault(room(module), set()).add(room(used))
    return found


def reached(found: dict[str, set[str]], start: str) -> set[str]:
    """Return all rooms that one uses, itself or through others."""
    every: set[str] = set()
    todo = list(found.get(start, ()))
    while todo:
        name = todo.pop()
        if name not in every:
            every.add(name)
            todo += found.get(name, ())
    return every


def circles(found: dict[str, set[str]]) -> list[str]:
    """Return the rooms that use themselves by way of others: none, or the order is untrue."""
    return sorted(room for room in found if room in reached(found, room))


def arrows(found: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Return the uses that no other one implies, in order."""
    return sorted(
        (room, used)
        for room, all_used in found.items()
        for used in all_used
        if not any(used in reached(found, other) for other in all_used - {used})
    )


def _path(room: str) -> str:
    return f"{room.replace('.', '/')}/"


def written() -> str:
    """Return the page with the rooms as they are."""
    found = rooms()
    uses = arrows(found)
    lines = ["", "| room | what it is for | uses |", "|---|---|---|"]
    for part in PARTS:
        inside = [room for room in found if room.partition(".")[0] == part]
        for room in sorted(inside, key=lambda room: (-len(reached(found, room)), room)):
            purpose = (importlib.import_module(room).__doc__ or "").partition("\n")[0]
            used = ", ".join(f"`{_path(to)}`" for by, to in uses if by == room)
            lines.append(f"| `{_path(room)}` | {purpose} | {used} |")
    text = FILE.read_text()
    return between(text, BEGIN, "\n".join([*lines, "", ""]), END, FILE.name)


if __name__ == "__main__":
    FILE.write_text(written())
