"""Write docs/gallery.md: every study there is, from the study files.

    .venv/bin/python -m docs.generate.gallery

A test holds the page against them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from model import units
from model.ad_hoc import AdHoc
from model.cell import Cell
from model.words import how_many
from reports.published.reference import what
from testbed.campaign.progress import duration_text
from testbed.planning.plan import make_plan, virtual_s
from testbed.points.load_study import STUDIES_FOLDER, Study, load_study

FILE = Path(__file__).parents[1] / "gallery.md"
HEAD = """# Gallery of studies

Written by `python -m docs.generate.gallery` from the study files; do not edit. `groundtruth run
NAME` runs any of the first part, `groundtruth run FILE` the examples; in a checkout the command is
`.venv/bin/groundtruth`, or `make experiment STUDY=NAME`. Any of them is a start for a study of your
own: `groundtruth new mine --like NAME`, or `--template NAME` for the last part; the
[tutorial](tutorial.md) does it step by step. The [glossary](glossary.md) explains the words.

The round trip is that of the empty path. Virtual time is what a run lasts inside the lab,
calibrations and [alternatives of assumptions](replication.md#sensitivity-to-assumptions) included;
`groundtruth plan NAME` says how long that takes on your machine.
"""
#: Each part of the page: its head, and the study files in it.
PARTS = {
    "Studies": "*.yaml", "Examples": "examples/*.yaml", "Templates": "templates/*.yaml",
}  # fmt: skip
#: Routing protocols as the literature writes them.
ROUTING = {"aodv": "AODV", "batman-adv": "batman-adv", "babel": "Babel"}
TABLE = "| compares | path | varied | runs | claims | virtual time |\n|---|---|---|---|---|---|\n"


def written() -> str:
    """Return the page."""
    text = HEAD
    for head, pattern in PARTS.items():
        files = sorted(STUDIES_FOLDER.glob(pattern))
        text += f"\n## {head}\n{''.join(map(_entry, files))}"
    return text


def _entry(file: Path) -> str:
    study = load_study(file)
    settings = study.settings
    plan = make_plan(study, seeds=settings.seeds, lab={})
    cells = [one.cell for one in plan.cells[: plan.base_cells]]
    points, seeds = len(study.points), len(settings.seeds)
    fields = (
        _compared(study),
        _path(cells),
        "; ".join(_varied(study)) or "nothing",
        f"{points * seeds}: {how_many(points, 'point')}, {how_many(seeds, 'seed')}",
        str(len(settings.claims) or "none"),
        duration_text(sum(virtual_s(one.cell) for one in plan.cells)),
    )
    place = os.path.relpath(file, FILE.parent)
    return (
        f"\n### {settings.study}\n\n**{settings.title}.** {_source(study)}"
        f"File: [`{file.name}`]({place}), hosts `{settings.hosts}`.\n\n"
        f"{TABLE}| {' | '.join(fields)} |\n{_found(settings.study)}"
    )


def _found(name: str) -> str:
    """Return where the docs tell what a run of a study found, if they do."""
    guides = (f"guides/{name}-results.md", f"guides/{name}.md")
    guide = next((one for one in guides if (FILE.parent / one).is_file()), None)
    links = [f"[verdicts and tables]({guide})"] * bool(guide)
    report = f"showcase/{name}.html"
    links += [f"[the report of a run]({report})"] * (FILE.parent / report).is_file()
    return f"\nWhat it found: {', '.join(links)}.\n" if links else ""


def _source(study: Study) -> str:
    source = study.settings.source
    if source is None or source.simulator == "none":
        return ""
    year = f", {source.year}" if source.year else ""
    return f"From {source.authors}: {source.publication}{year}{what(source.simulator)}. "


def _compared(study: Study) -> str:
    groups, compare = study.settings.groups, study.settings.compare
    if compare is None:
        return ", ".join(groups.values())
    others = [name for key, name in groups.items() if key not in (compare.of, compare.over)]
    beside = f", beside {', '.join(others)}" if others else ""
    return f"{groups[compare.of]} over {groups[compare.over]}{beside}"


def _path(cells: Sequence[Cell]) -> str:
    """Return the network in a line, what is varied of it as its least and its most."""
    if networks := [cell.ad_hoc for cell in cells if cell.ad_hoc]:
        return _radios(networks)
    ways = [cell.wired.bottleneck.forward for cell in cells]
    sources = _span((cell.wired.sources for cell in cells), str)
    parts = [
        f"{cells[0].network.topology} with {sources} pair{'s' * (sources != '1')} of hosts",
        _span((way.rate_bps for way in ways), units.format_rate),
        f"round trip {_span(_round_trips_s(cells), units.format_time)}",
        f"buffer {_span((way.queue_pkts for way in ways), units.format_packets)}",
    ]
    if any(cell.events for cell in cells):
        happens = dict.fromkeys(event.words() for cell in cells for event in cell.events)
        parts.append(", ".join(happens))
    if any(way.loss.loss_frac for way in ways):
        models = {way.loss.model for way in ways}
        bursts = " in bursts" * ("gilbert_elliott" in models)
        lost = _span((way.loss.loss_frac for way in ways), _percent)
        kind = "periodic" if models == {"periodic"} else "random"
        parts.append(f"{kind} loss{bursts} {lost}")
    return ", ".join(parts)


def _round_trips_s(cells: Sequence[Cell]) -> Iterator[float]:
    """Yield those of each cell's first source and of its last, which may be farther."""
    for cell in cells:
        yield cell.wired.base_rtt_s()
        yield cell.wired.base_rtt_s(-1)


def _radios(networks: Sequence[AdHoc]) -> str:
    """Return a network of radios in a line."""
    pairs = _span((one.pairs for one in networks), str)
    speeds = _span((one.mobility.max_speed_mps for one in networks), units.format_speed)
    return ", ".join(
        (
            (
                f"{networks[0].topology} with {_span((one.nodes for one in networks), str)} nodes,"
                f" {pairs} pair{'s' * (pairs != '1')} of them with flows"
            ),
            _span((one.radio.rate_bps for one in networks), units.format_rate),
            f"range {_span((one.radio.range_m for one in networks), units.format_length)}",
            f"{networks[0].mobility.model}, speeds up to {speeds}",
            ROUTING[networks[0].routing.protocol],
        )
    )


def _percent(frac: float) -> str:
    return f"{100 * frac:.3g} %"


def _span(values: Iterable[Any], text: Callable[[Any], str]) -> str:
    found = set(values)
    return " to ".join(map(text, sorted({min(found), max(found)})))


def _varied(study: Study) -> Iterator[str]:
    """Yield each varied setting with its values as they are written."""
    settings = study.settings
    listed: dict[str, list[Any]] = {path: list(values) for path, values in settings.sweep.items()}
    for point in settings.points:
        for path, value in point.items():
            listed.setdefault(path, []).append(value)
    for path, values in listed.items():
        yield f"`{path}`: {', '.join(dict.fromkeys(map(str, values)))}"


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")
