"""What became of the paths of an association: links, what its sender knew, where data came. Pure.

Invariants: a bar is what both ends and the links said themselves, in order of time; what nobody
said has no bar. When a path is due to be given up is computed from the RFCs and what was asked for,
never from what happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from model.cell import Cell, Flow
from model.run_files.path_tables import EventRow, PathStateRow
from model.words import how_many
from reports.figures.chart import (
    BAD,
    FAINT_INK,
    GOOD,
    GRID,
    INK,
    KERNEL,
    PUBLISHED,
    Figure,
    Key,
    Mark,
    drawn,
    layered,
)
from reports.store import failover_table

#: RFC 9260, section 16, and RFC 7829, section 6; Linux's own are the same.
PATH_MAX_RETRANS, PF_MAX_RETRANS, RTO_MAX_MS, MS_PER_S = 5, 0, 60_000, 1000
#: What a sender's kernel says of a path makes its state this.
STATE_AFTER = {
    "unreachable": "inactive", "potentially_failed": "potentially failed", "available": "active",
    "confirmed": "active",
}  # fmt: skip
DOWN, DATA = "link down", "data come over it"
COLOURS = {
    DOWN: BAD, "active": GOOD, "potentially failed": PUBLISHED, "inactive": FAINT_INK,
    "unconfirmed": GRID, DATA: KERNEL,
}  # fmt: skip
DUE: Mark = {"type": "rule", "color": INK, "strokeDash": [3, 3], "strokeWidth": 1}
BAR_PX = 16


@dataclass(frozen=True, kw_only=True)
class Bar:
    """What was so in one lane from one time to another."""

    lane: str
    from_s: float
    to_s: float
    what: str


@dataclass(frozen=True, kw_only=True)
class Told:
    """What was said of one flow's paths, and of the links: rows in order of time."""

    states: Sequence[PathStateRow]
    events: Sequence[EventRow]

    @property
    def down(self) -> EventRow | None:
        """Return when a link first went down."""
        return next((one for one in self.events if one.state == "down"), None)


def due_s(flow: Flow, cell: Cell, rto_s: float) -> tuple[float, ...]:
    """Return after which times a path's timeouts are due until new data are to leave it.

    RFC 9260, 8.2: it has failed at one timeout more than Path.Max.Retrans, each twice as long as
    the last, up to RTO.Max; RFC 7829, 3: new data avoid it at one more than PF.Max.Retrans, where
    that is less. What is asked of the sender's paths comes before its hosts' sysctls.
    """
    paths, hosts = flow.paths, cell.hosts

    def asked(own: int | None, sysctl: str, otherwise: int) -> int:
        said = hosts.setting("sysctl", f"net.sctp.{sysctl}", "sender")
        return own if own is not None else int(said or otherwise)

    most = asked(paths.path_max_retrans, "path_max_retrans", PATH_MAX_RETRANS)
    pf = asked(paths.pf_max_retrans, "pf_retrans", PF_MAX_RETRANS)
    if asked(None, "pf_enable", 1) == 0:
        pf = most
    rto_max_s = asked(paths.rto_max_ms, "rto_max", RTO_MAX_MS) / MS_PER_S
    found, total_s = [], 0.0
    for doubled in range(min(most, pf) + 1):
        total_s += min(rto_s * 2**doubled, rto_max_s)
        found.append(total_s)
    return tuple(found)


def lanes(told: Told, window_s: tuple[float, float]) -> list[Bar]:
    """Return the bars of both paths: its link while it is down, its state, data that come."""
    from_s, to_s = window_s
    found = [
        bar
        for path in sorted({row.path for row in told.states})
        for bar in (*_link(told, path, to_s), *_states(told, path, to_s), *_data(told, path, to_s))
    ]
    inside = [bar for bar in found if bar.to_s > from_s and bar.from_s < to_s]
    return [
        Bar(lane=b.lane, from_s=max(b.from_s, from_s), to_s=min(b.to_s, to_s), what=b.what)
        for b in inside
    ]


def _link(told: Told, path: int, end_s: float) -> Iterator[Bar]:
    own = [one for one in told.events if one.path == path and one.state]
    for number, one in enumerate(own):
        if one.state == "down":
            until_s = own[number + 1].t_s if number + 1 < len(own) else end_s
            yield Bar(lane=f"path {path}: link", from_s=one.t_s, to_s=until_s, what=DOWN)


def _states(told: Told, path: int, end_s: float) -> Iterator[Bar]:
    """Yield how long the sender's kernel held a path to be in each state."""
    changes: list[tuple[float, str]] = []
    last_s = 0.0
    for row in told.states:
        if row.side != "sender" or row.path != path:
            continue
        last_s = row.t_s
        state = (row.state or "").replace("_", " ") or STATE_AFTER.get(row.event)
        if state in COLOURS and (not changes or changes[-1][1] != state):
            changes.append((row.t_s, state))
    ends = [*(t_s for t_s, _ in changes[1:]), min(last_s, end_s)]
    for (t_s, state), until_s in zip(changes, ends, strict=bool(changes)):
        yield Bar(lane=f"path {path}: its sender", from_s=t_s, to_s=until_s, what=state)


def _data(told: Told, path: int, end_s: float) -> Iterator[Bar]:
    came = [row for row in told.states if row.event == "data_from"]
    last_s = max((row.t_s for row in told.states), default=end_s)
    ends = [*(row.t_s for row in came[1:]), min(last_s, end_s)]
    for row, until_s in zip(came, ends, strict=bool(came)):
        if row.path == path:
            yield Bar(lane=f"path {path}: data", from_s=row.t_s, to_s=until_s, what=DATA)


def rto_before_s(told: Told, down: EventRow) -> float | None:
    """Return the path's timeout when its sender last looked before its link went down."""
    looks = [
        row.rto_s
        for row in told.states
        if row.event == "look" and row.path == down.path and row.t_s < down.t_s
    ]
    return looks[-1] if looks else None


def timeline_figure(
    told: Told, flow: Flow, cell: Cell, *, id: str, label: str, window_s: tuple[float, float]
) -> Figure | str:
    """Return the figure of one flow's paths, or why there is none."""
    bars = lanes(told, window_s)
    if not bars:
        return f"nothing was said of the paths of flow {flow.id} in that time"
    down = told.down
    rto_s = rto_before_s(told, down) if down is not None else None
    due = () if down is None or rto_s is None else due_s(flow, cell, rto_s)
    order = list(dict.fromkeys(bar.lane for bar in bars))
    x = alt.X("from_s:Q", title="Time (s)", scale=alt.Scale(domain=list(window_s), nice=False))
    y = alt.Y("lane:N", title=None, sort=order, scale=alt.Scale(domain=order))
    layers, keys = [], []
    for what, colour in COLOURS.items():
        mine = [vars(bar) for bar in bars if bar.what == what]
        if mine:
            style: Mark = {"type": "bar", "color": colour, "height": BAR_PX}
            words = [
                alt.Tooltip("what:N", title=" "), alt.Tooltip("from_s:Q", title="from (s)"),
                alt.Tooltip("to_s:Q", title="to (s)"),
            ]  # fmt: skip
            layers.append(drawn(pl.DataFrame(mine), style).encode(x, y, x2="to_s:Q", tooltip=words))
            keys.append(Key(what, {"type": "bar", "color": colour}, "bar"))
    inside = [down.t_s + after_s for after_s in due if down is not None]
    inside = [t_s for t_s in inside if window_s[0] <= t_s <= window_s[1]]
    if inside:
        layers.append(drawn(pl.DataFrame({"from_s": inside}), DUE).encode(x))
        keys.append(Key("a timeout is due", {**DUE}, "line"))
    spec, zoomable = layered(layers, keys, zoom=("x",))
    return Figure(
        id=id, title=f"The paths of {label}", caption=_caption(told, down, rto_s, due), spec=spec,
        zoomable=zoomable, flow=flow.id,
    )  # fmt: skip


def _caption(told: Told, down: EventRow | None, rto_s: float | None, due: Sequence[float]) -> str:
    seen = "path as its sender's kernel held it to be, and the one that data came over."
    if not told.events:  # as of radios, which nothing happens to
        return f"Each {seen}"
    what = f"Links while they are down, each {seen}"
    words = [what]
    if down is None:
        return what
    words.append(f"The link of path {down.path} went down at {down.t_s:g} s.")
    if due:
        words.append(
            f"Its timeout was {rto_s:g} s then: by RFC 9260, 8.2, and RFC 7829, 3, new data leave "
            f"it after {how_many(len(due), 'timeout')}, which are due {due[-1]:g} s later."
        )
    measured: Mapping[str, float | str] = {
        "The kernel gave it up": failover_table.given_up(told.states, down),
        "Another path became the primary": failover_table.switched(told.states, down),
    }
    words += [
        f"{happened} {value:.3f} s after it went down."
        for happened, value in measured.items()
        if not isinstance(value, str)
    ]
    return " ".join(words)
