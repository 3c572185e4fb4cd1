"""A scene as a part of a page: a picture at time 0, controls to play it, and its facts. Pure.

Without its script a reader has the picture and the facts; the script (``movement.js``, which the
page's policy must name with the rest of what the page runs) shows the controls. Invariants: nothing
is fetched, every text is escaped, and colours are names of the page's style; y grows
upwards.
"""

from __future__ import annotations

import json
from importlib import resources

from markupsafe import Markup

from model.units import MM_PER_M, NS_PER_S
from reports.figures.moving.compact import (
    MM_PER_DM,
    NS_PER_MS,
    STEPS_MS,
    ShownRoutes,
    compact,
    shown_routes,
)  # fmt: skip
from reports.figures.moving.scene import Scene, facts

#: The room for the field, and around it for marks at its edge.
WIDE_PX, HIGH_PX, EDGE_PX = 720.0, 480.0, 12.0
_RADIUS_PX, _END_RADIUS_PX = 4.0, 6.5

_FIGURE = Markup("""\
<figure role="group" class="moving" id="{id}" aria-label="{label}">
<div class="frame-moving"><svg class="plain" role="img" aria-label="{label}" viewBox="0 0 {w} {h}">
<rect class="ground" x="{edge}" y="{edge}" width="{inner_w}" height="{inner_h}"/>
<path class="near" d="{near}"/><path class="way" d="{way}"/>{nodes}</svg></div>
{legend}<p class="state">{state}</p>
<div class="controls" hidden>
<button type="button" data-do="play">Play</button>
<label>Time <input type="range" min="0" max="{end}" step="1" value="0"></label>
<label>Speed <select>{speeds}</select></label>{ways}
</div>
<figcaption>{caption}<span class="keys" hidden> With the focus on the picture, space plays and \
pauses, the left and right arrows go a second back and on, Home and End to the ends.</span>\
</figcaption>
<table><caption>{facts_caption}</caption><tbody>{facts}</tbody></table>
<script type="application/json">{data}</script>
</figure>""")
#: Where routes are known: whose is shown, when there is one, and ways to where it broke.
_WAYS = Markup("""
<label>Route <select data-do="way">{}</select></label>
<button type="button" data-do="back">Previous break</button>
<button type="button" data-do="on">Next break</button>
<svg class="times" aria-hidden="true" viewBox="0 0 1000 10" preserveAspectRatio="none"></svg>
<p class="breaks"></p>""")
_WAY = Markup('<option value="{}">{}</option>')
_LEGEND = Markup('<ul class="key-moving">{}</ul>\n')
_KEY = Markup('<li><span class="{}"></span>{}</li>')
_KEYS = (
    ("of-end", "ends of the first flow"), ("of-node", "other nodes"), ("of-near", "within range"),
)  # fmt: skip
_ROUTE_KEYS = (("of-way", "route"), ("of-break", "route broke, on the time line"))
_NODE = Markup('<circle class="{}" cx="{}" cy="{}" r="{}"><title>{}</title></circle>')
_NAME = Markup('<text class="strong" x="{}" y="{}">{}</text>')
_SPEED = Markup('<option value="{0}"{1}>{0} \N{MULTIPLICATION SIGN}</option>')
#: How much faster than in the run it plays, and at first.
_SPEEDS, _SPEED_AT_FIRST = (1, 5, 20, 60), 20
_FACT = Markup('<tr><th scope="row">{}</th><td class="num">{}</td></tr>')


def script() -> str:
    """Return what plays all scenes of a page."""
    return _file("movement.js")


def style() -> str:
    """Return their look, for below the page's own style."""
    return _file("movement.css")


def animation(scene: Scene, name: str, title: str) -> Markup:
    """Return a scene as a part of a page.

    Args:
        scene: what is shown.
        name: the part's id, of which a page may have one.
        title: what the picture is called.
    """
    scale = _scale(scene)
    places = [
        (
            round(EDGE_PX + x_mm * scale, 1),
            round(EDGE_PX + (scene.field.height_mm - y_mm) * scale, 1),
        )
        for x_mm, y_mm in (path.at(0) for path in scene.movement.paths)
    ]
    pairs, route = scene.pairs_at(0), scene.route_at(0)
    inner = (scene.field.width_mm * scale, scene.field.height_mm * scale)
    small = compact(scene.movement, scene.until_ns)
    routes = shown_routes([scene.routes, *(other for _, other in scene.others)])
    near = "".join(_way([places[one], places[other]]) for one, other in pairs)
    return _FIGURE.format(
        id=name, label=title, w=f"{inner[0] + 2 * EDGE_PX:.1f}", h=f"{inner[1] + 2 * EDGE_PX:.1f}",
        edge=f"{EDGE_PX:g}", inner_w=f"{inner[0]:.1f}", inner_h=f"{inner[1]:.1f}", near=near,
        way=_way([places[node] for node in route]), nodes=_nodes(scene, places),
        state=_state(scene, len(pairs), route), end=f"{scene.until_ns // NS_PER_S}",
        caption=_caption(scene, title, small.tolerance_mm, routes.step_ms),
        legend=_legend(scene), ways=_ways(scene),
        speeds=Markup("").join(
            _SPEED.format(one, Markup(" selected") if one == _SPEED_AT_FIRST else "")
            for one in _SPEEDS
        ),
        facts_caption="The movement and its links over the whole run",
        facts=Markup("").join(_FACT.format(*fact) for fact in facts(scene)),
        data=_data(scene, small.steps, routes, scale),
    )  # fmt: skip


def _file(name: str) -> str:
    return (resources.files("reports.figures.moving") / name).read_text(encoding="utf-8")


def _scale(scene: Scene) -> float:
    """Return how many pixels a millimetre has."""
    return min(WIDE_PX / scene.field.width_mm, HIGH_PX / scene.field.height_mm)


def _way(places: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x} {y}" for x, y in places) if places else ""


def _nodes(scene: Scene, places: list[tuple[float, float]]) -> Markup:
    """Return the nodes' marks in their order, and behind them the names of the ends."""
    marks, names = [], []
    for node, (x, y) in enumerate(places):
        end = node in scene.ends
        look, radius = ("node end", _END_RADIUS_PX) if end else ("node", _RADIUS_PX)
        marks.append(_NODE.format(look, x, y, radius, scene.name(node)))
    for node in scene.ends:
        x, y = places[node]
        names.append(_NAME.format(x + 9, y + 4, scene.name(node)))
    return Markup("").join([*marks, *names])


def _state(scene: Scene, links: int, route: tuple[int, ...]) -> str:
    """Return what the line below the picture says at time 0, as the script does at others."""
    way = " \N{EN DASH} ".join(scene.name(node) for node in route)
    said = f"0.0 s: {links} links"
    return f"{said}; route {way}" if route else said + ("; no route" if scene.routes else "")


def _legend(scene: Scene) -> Markup:
    keys = _KEYS + (_ROUTE_KEYS if scene.routes else ())
    return _LEGEND.format(Markup("").join(_KEY.format(*key) for key in keys))


def _ways(scene: Scene) -> Markup:
    """Return what chooses among ways and goes to breaks; nothing where no route is known."""
    if not scene.routes:
        return Markup("")
    names = (scene.way, *(name for name, _ in scene.others))
    return _WAYS.format(Markup("").join(_WAY.format(*one) for one in enumerate(names)))


def _caption(scene: Scene, title: str, tolerance_mm: int, step_ms: int) -> str:
    ends = " and ".join(scene.name(node) for node in scene.ends)
    near = f"{scene.range_mm / MM_PER_M:g} m"
    said = f"{title}. Lines join nodes within {near}; the large marks are {ends}"
    said += ", the thick line is the route between them." if scene.routes else "."
    if scene.no_routes:
        said += f" No routes are shown: {scene.no_routes}."
    if scene.routes and step_ms > STEPS_MS[0]:
        said += f" Of routes that begin within {step_ms} ms the last is shown."
    if tolerance_mm:
        said += f" Places are shown to within {tolerance_mm / MM_PER_M:g} m."
    return said


def _data(
    scene: Scene, steps: tuple[tuple[int, ...], ...], routes: ShownRoutes, scale: float
) -> Markup:
    """Return what the script reads; ``<`` is escaped, so no text ends it."""
    data = {
        "steps": steps, "range": scene.range_mm / MM_PER_DM, "end": scene.until_ns // NS_PER_MS,
        "scale": scale * MM_PER_DM, "edge": EDGE_PX, "ends": scene.ends,
        "high": scene.field.height_mm / MM_PER_DM,
        "routes": routes.ways[0], "others": routes.ways[1:],
        "names": [scene.name(node) for node in range(scene.movement.nodes)],
    }  # fmt: skip
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c"))
