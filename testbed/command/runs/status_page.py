"""How far runs are, as one page that needs nothing else and asks for itself again. Pure."""

from __future__ import annotations

import html
from collections.abc import Sequence

from testbed.campaign.state import CALLED, FINISHED, CellState, RunState

#: How often a browser asks for the page again, in seconds.
REFRESH_S = 5
_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 0 0 2rem; }
th, td { text-align: right; padding: .2rem .6rem; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
progress { width: 100%; height: 1.2rem; }
li { overflow-wrap: anywhere; }
"""


def page(states: Sequence[RunState], words: Sequence[str], *, refresh: bool) -> str:
    """Return the page, with these words above its tables.

    With ``refresh`` a browser asks for it again every few seconds.
    """
    cells = [cell for one in states for cell in one.cells]
    finished = sum(cell.how in FINISHED for cell in cells)
    title = f"{finished} of {len(cells)} cells"
    again = f'<meta http-equiv="refresh" content="{REFRESH_S}">' if refresh else ""
    failed = [(one, cell) for one in states for cell in one.failures()]
    items = "".join(f"<li>{_failure(one, cell)}</li>" for one, cell in failed)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">{again}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{_STYLE}</style></head><body>
<h1>{title}</h1>
<progress max="{max(1, len(cells))}" value="{finished}">{title}</progress>
{"".join(f"<p>{html.escape(line)}</p>" for line in words)}
{f"<h2>Failed</h2><ul>{items}</ul>" if failed else ""}
{"".join(_run(one) for one in states)}
</body></html>
"""


def _failure(one: RunState, cell: CellState) -> str:
    words = f"{one.name}, {cell.point}, seed {cell.planned.cell.seed}: {cell.why}"
    return html.escape(words)


def _run(one: RunState) -> str:
    heads = "".join(f"<th scope='col'>{called}</th>" for called in ("point", *CALLED.values()))
    rows = "".join(_row(point, cells) for point, cells in one.points().items())
    return f"<h2>{html.escape(one.name)}</h2><table><tr>{heads}</tr>{rows}</table>"


def _row(point: str, cells: Sequence[CellState]) -> str:
    numbers = [sum(cell.how == how for cell in cells) for how in CALLED]
    fields = "".join(f"<td>{number or ''}</td>" for number in numbers)
    return f"<tr><td>{html.escape(point)}</td>{fields}</tr>"
