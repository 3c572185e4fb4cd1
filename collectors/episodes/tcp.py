"""Loss episodes of a TCP flow from the kernel's events alone, without captures. Pure.

What no event tells is null: when, where and how much was lost. Segments are as large as the probe
read back. The bounds are those of :mod:`collectors.episodes.bounds`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from collectors.episodes.bounds import NEVER
from collectors.episodes.retransmissions import AT_ONCE_S, THRESHOLD
from collectors.episodes.sent_data import Ints
from collectors.episodes.window import (
    DUPACKS,
    EACH_DUPACK,
    PROBE,
    RACK,
    TELEMETRY,
    TIMEOUT,
    Window,
    between_s,
    main_rows,
    window,
)
from collectors.packets.seen import Floats
from model.cell import Flow
from model.run_files.loss_tables import EpisodeRow

#: What the kernel does about a loss, by the state it goes into.
ACTS = {"recovery": DUPACKS, "loss": TIMEOUT}


@dataclass(frozen=True, kw_only=True)
class _Act:
    """The sender acted: by a timeout, a probe, or going into recovery.

    ``row`` is the last acknowledgement by then, ``una`` what was acknowledged after it, ``nxt`` the
    end of what was sent, in bytes of the flow.
    """

    t_s: float
    what: str
    row: int
    una: int
    nxt: int
    by_ack: bool


@dataclass(frozen=True, kw_only=True)
class _Acks:
    t_s: Floats
    una: Ints
    nxt: Ints
    mss_bytes: int | None
    delayed: bool

    def act(self, t_s: float, what: str) -> _Act:
        """Return what was outstanding when the sender acted."""
        row = int(np.searchsorted(self.t_s, t_s + AT_ONCE_S, side="right")) - 1
        # An event shows what an acknowledgement meets: what it did, the next one shows.
        by_ack = row >= 0 and t_s - self.t_s[row] <= AT_ONCE_S
        return _Act(
            t_s=t_s,
            what=what,
            row=row,
            una=int(self.una[row + 1]),
            nxt=int(self.nxt[row if by_ack else row + 1]),
            by_ack=by_ack,
        )

    def duplicates(self, act: _Act) -> list[int]:
        """Return how many bytes left on each acknowledgement that did not move on by then."""
        first = int(np.searchsorted(self.una, act.una))
        met = self.nxt[first : act.row + 1].tolist()
        return [after - before for before, after in itertools.pairwise([*met, act.nxt])]

    def hides_one(self, act: _Act) -> bool:
        """Return whether the acknowledgement before the duplicates may have been one itself.

        A receiver that acknowledges every other segment answers one out of order at once: then
        it acknowledges one segment and reports another. Events do not show what ACKs report.
        """
        if self.mss_bytes is None:
            return True
        first = int(np.searchsorted(self.una, act.una))
        step_bytes = int(self.una[first] - self.una[first - 1]) if first else 0
        return self.delayed and 0 < step_bytes <= self.mss_bytes

    def reaching(self, target: int) -> int | None:
        """Return the acknowledgement after which all up to a byte is acknowledged."""
        index = int(np.searchsorted(self.una, target))
        return index - 1 if index < len(self.una) else None


def tcp_rows(flow: Flow, congestion: pl.DataFrame) -> list[EpisodeRow]:
    """Return a flow's episodes from the rows of ``congestion.parquet``."""
    rows, seen = main_rows(congestion, flow.id), window(congestion, flow.id)
    told = rows.filter(pl.col("event") == "ack")
    mss_bytes = told["mss_bytes"].to_list()[0] if told.height else None
    acks = _Acks(
        t_s=told["t_s"].to_numpy(),
        una=told["una_bytes"].to_numpy(),
        nxt=told["nxt_bytes"].to_numpy(),
        mss_bytes=mss_bytes,
        delayed=mss_bytes is not None and _step_bytes(told["una_bytes"]) > mss_bytes,
    )
    repeats = rows.filter(event="retransmit")["t_s"].to_numpy()
    return [
        _row(flow, number, acts, over_s, acks, repeats, seen)
        for number, (acts, over_s) in enumerate(_episodes(_acts(rows, acks), acks))
    ]


def _step_bytes(una: pl.Series) -> float:
    """Return how many bytes an acknowledgement that moves on usually moves; 0: none does."""
    step = una.diff().filter(una.diff() > 0).median()
    return step if isinstance(step, float) else 0.0


def _acts(rows: pl.DataFrame, acks: _Acks) -> list[_Act]:
    """Return when the sender acted on losses of data, in order of time.

    Not for a SYN, and not after the last acknowledgement, where only a FIN can be outstanding.
    """
    handshakes = rows.filter(retransmission="handshake")["t_s"].to_numpy()
    entered = (pl.col("event") == "state") & pl.col("state").is_in(list(ACTS))
    probed = pl.col("retransmission") == "probe"
    found = []
    for t_s, state in rows.filter(entered | probed).select("t_s", "state").iter_rows():
        handshake = len(handshakes) and np.abs(handshakes - t_s).min() <= AT_ONCE_S
        if not handshake and len(acks.t_s) and t_s + AT_ONCE_S < acks.t_s[-1]:
            found.append(acks.act(t_s, ACTS.get(state, PROBE)))
    return [act for act in found if act.nxt > act.una]


def _episodes(acts: list[_Act], acks: _Acks) -> list[tuple[list[_Act], float]]:
    """Return the acts of each episode, and when it was over."""
    found: list[tuple[list[_Act], float]] = []
    pending = acts[::-1]
    while pending:
        inside = [pending.pop()]
        over_s = NEVER
        while True:
            over = acks.reaching(inside[-1].nxt)
            over_s = NEVER if over is None else float(acks.t_s[over])
            if not pending or not _belongs(pending[-1], over, over_s, acks):
                break
            inside.append(pending.pop())
        found.append((inside, over_s))
    return found


def _belongs(act: _Act, over: int | None, over_s: float, acks: _Acks) -> bool:
    """Return whether the sender acts within an episode, or on data sent before it was over."""
    return over is None or act.t_s + AT_ONCE_S < over_s or act.una < acks.nxt[over]


def _row(
    flow: Flow,
    number: int,
    acts: list[_Act],
    over_s: float,
    acks: _Acks,
    repeats: Floats,
    window: Window,
) -> EpisodeRow:
    act = acts[0]
    unsure, mss_bytes = acks.hides_one(act), acks.mss_bytes
    on_each = acks.duplicates(act)
    dupacks = len(on_each)
    new_pkts = [-(-size // mss_bytes) for size in (sum(on_each), *on_each)] if mss_bytes else []
    told: dict[str, Any] = (
        {}
        if unsure
        else dict(zip(("new_data_pkts", *EACH_DUPACK.values()), new_pkts, strict=False))
    )
    by: str | None = act.what
    if by == DUPACKS and dupacks < THRESHOLD:
        by = None if unsure and act.by_ack and dupacks + 1 == THRESHOLD else RACK
    recovered_s = None if over_s == NEVER else over_s
    after = window.after(act.t_s)
    return EpisodeRow(
        flow=flow.id,
        protocol=flow.protocol,
        episode=number,
        basis=TELEMETRY,
        detected_s=act.t_s,
        detected_by=by,
        recovered_s=recovered_s,
        recover_s=between_s(act.t_s, recovered_s),
        first_lost_segment=act.una // mss_bytes + 1 if mss_bytes else None,
        dupacks=None if unsure else dupacks,
        **told,
        retransmitted_pkts=int(((repeats >= act.t_s - AT_ONCE_S) & (repeats < over_s)).sum()),
        timeouts=sum(one.what == TIMEOUT for one in acts),
        cwnd_before_bytes=window.before(act.t_s),
        cwnd_after_bytes=after[0],
        ssthresh_after_bytes=after[1],
        flight_before_bytes=act.nxt - (int(acks.una[act.row]) if act.row >= 0 else act.una),
    )
