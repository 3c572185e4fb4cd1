"""Loss episodes of one flow from captures on all sides of what loses packets. Pure, and exact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from collectors.episodes import retransmissions as why
from collectors.episodes.bounds import NEVER, Bounds, bounds
from collectors.episodes.sent_data import Bools, Captured
from collectors.episodes.window import (
    CAPTURES,
    DUPACKS,
    EACH_DUPACK,
    PROBE,
    RACK,
    TIMEOUT,
    Window,
    between_s,
)
from model.cell import Flow
from model.run_files.loss_tables import EpisodeRow


@dataclass(frozen=True, kw_only=True)
class Story:
    """A flow's captures, why each retransmission was sent, and the kernel's window if known.

    ``answers`` holds a reason for each packet of data that repeats, by its row.
    """

    flow: Flow
    captured: Captured
    answers: dict[int, str]
    window: Window | None


def captured_rows(
    flow: Flow,
    captured: Captured,
    kinds: why.Kinds | None,
    window: Window | None,
) -> list[EpisodeRow]:
    """Return a flow's episodes; ``kinds`` is what the kernel calls TCP's retransmissions."""
    again = np.flatnonzero(captured.data.again)
    answers = why.reasons(captured, kinds, flow.protocol)
    story = Story(
        flow=flow,
        captured=captured,
        answers=dict(zip(again.tolist(), answers, strict=True)),
        window=window,
    )
    timeouts: Bools = np.zeros(len(captured.data.t_s), bool)
    timeouts[again] = [answer == why.TIMEOUT for answer in answers]
    found = bounds(captured.data, captured.acks, timeouts)
    return [_row(story, number, bound) for number, bound in enumerate(found)]


def _row(story: Story, number: int, bound: Bounds) -> EpisodeRow:
    data = story.captured.data
    acted = int(bound.again[0]) if len(bound.again) else None
    detected_s = None if acted is None else float(data.t_s[acted])
    # A packet lost with or after the first retransmission is not what made the sender act.
    cause = bound.lost[:1] if acted is None else bound.lost[:1][bound.lost[:1] < acted]
    first = int(cause[0]) if len(cause) else None
    lost_s = None if first is None else float(data.lost_s[first])
    recovered_s = None if bound.recovered_s == NEVER else bound.recovered_s
    seen = _duplicates(story, first, acted)
    cwnd: int | None = None
    after: tuple[int | None, int | None] = (None, None)
    if story.window is not None and detected_s is not None:
        cwnd, after = story.window.before(detected_s), story.window.after(detected_s)
    return EpisodeRow(
        flow=story.flow.id,
        protocol=story.flow.protocol,
        episode=number,
        basis=CAPTURES,
        lost_s=lost_s,
        lost_at=None if first is None else data.lost_at[first],
        lost_pkts=len(bound.lost),
        first_lost_segment=None if first is None else _segment(story.captured, first),
        first_lost_packet=None if first is None else int(data.packet[first]),
        detected_s=detected_s,
        detected_by=None if acted is None else _detected_by(story, acted, seen),
        dupacks=seen.count,
        **_new_data(story, seen, acted),
        **_first_new(story, first, seen, acted, bound.recovered_s),
        retransmitted_pkts=len(bound.again),
        lost_again_pkts=int(data.again[bound.lost].sum()),
        timeouts=sum(story.answers[int(row)] == why.TIMEOUT for row in bound.again),
        cwnd_before_bytes=cwnd,
        cwnd_after_bytes=after[0],
        ssthresh_after_bytes=after[1],
        flight_before_bytes=None if acted is None else _flight_bytes(story.captured, acted),
        flight_at_act_bytes=None if acted is None else _flight_at_act_bytes(story.captured, acted),
        recovered_s=recovered_s,
        detect_s=between_s(lost_s, detected_s),
        recover_s=between_s(detected_s, recovered_s),
    )


def _segment(captured: Captured, row: int) -> int:
    """Return the number from 1 of the segment or chunk that a packet begins with."""
    start = int(captured.data.start[row])
    return start + 1 if captured.unit_bytes == 1 else (start - 1) // captured.unit_bytes + 1


def _duplicates(story: Story, first: int | None, acted: int | None) -> why.Duplicates:
    """Return the duplicates that had come when the sender acted, or until the end if it did not."""
    captured = story.captured
    data, acks = captured.data, captured.acks
    until_s = NEVER if acted is None else float(data.t_s[acted])
    if first is not None:
        return why.duplicates(captured, int(data.start[first]), float(data.lost_s[first]), until_s)
    seen = int(acks.t_s.searchsorted(until_s, side="right"))
    if not seen:
        return why.Duplicates(t_s=(), reported=0)
    hole = int(acks.reached[seen - 1])
    advanced_s = float(acks.t_s[acks.reached.searchsorted(hole)])
    return why.duplicates(captured, hole, advanced_s, until_s)


def _detected_by(story: Story, acted: int, seen: why.Duplicates) -> str:
    answer = story.answers[acted]
    if answer in (why.TIMEOUT, why.MARKED, why.PROBE):
        return PROBE if answer == why.PROBE else TIMEOUT
    reported = -(-seen.reported // story.captured.unit_bytes)
    return DUPACKS if max(seen.count, reported) >= why.THRESHOLD else RACK


def _new_data(story: Story, seen: why.Duplicates, acted: int | None) -> dict[str, int | None]:
    """Return how many packets of new data left from the first duplicate to the act, and on each.

    On a duplicate: from its arrival until the next acknowledgement comes, or the sender acts. One
    that never came is null, and so is all of it if the sender never acted.
    """
    if acted is None:
        return {"new_data_pkts": None}
    data, acks = story.captured.data, story.captured.acks
    following = np.append(acks.t_s, NEVER)[acks.t_s.searchsorted(seen.t_s, side="right")]
    rows = (np.minimum(data.t_s.searchsorted(t_s), acted) for t_s in (seen.t_s, following))
    first, end = (data.fresh.searchsorted(row) for row in rows)
    on = (end - first).tolist()
    total = int(data.fresh.searchsorted(acted) - first[0]) if seen.count else 0
    return {"new_data_pkts": total, **dict(zip(EACH_DUPACK.values(), on, strict=False))}


def _first_new(
    story: Story, first: int | None, seen: why.Duplicates, acted: int | None, over_s: float
) -> dict[str, int | None]:
    """Return on which duplicate new data first left, what, and how many acknowledgements it took.

    Duplicates are counted until the episode is over; the acknowledgements from when the sender
    acted, without the one it acted on. Null where no new data left, or not on a duplicate.
    """
    if first is None or acted is None or not seen.count:
        return {}
    data, acks = story.captured.data, story.captured.acks

    def next_row(t_s: float) -> int | None:
        later = data.fresh[data.fresh.searchsorted(data.t_s.searchsorted(t_s)) :]
        return int(later[0]) if len(later) else None

    found: dict[str, int | None] = {}
    sent, resumed = next_row(seen.t_s[0]), next_row(float(data.t_s[acted]))
    if sent is not None and data.t_s[sent] < over_s:
        lost = int(data.start[first]), float(data.lost_s[first])
        every = why.duplicates(story.captured, *lost, over_s)
        found["first_new_on_dupack"] = sum(t_s <= data.t_s[sent] for t_s in every.t_s)
        found["first_new_segment"] = _segment(story.captured, sent)
    if resumed is not None:
        between = (data.t_s[acted], data.t_s[resumed])
        came = acks.t_s.searchsorted(between, side="right")
        found["acks_to_new_data_pkts"] = int(came[1] - came[0])
    return found


def _flight_bytes(captured: Captured, acted: int) -> int:
    """Return what was outstanding when the sender acted.

    As the kernel's events count it: TCP all beyond the cumulative acknowledgement; SCTP without
    what was selectively acknowledged, before the SACK it acted on.
    """
    data, acks = captured.data, captured.acks
    seen = int(acks.t_s.searchsorted(data.t_s[acted] - why.AT_ONCE_S))
    reached = int(acks.reached[seen - 1]) if seen else int(data.start[0])
    if captured.unit_bytes == 1:
        return _outstanding_bytes(captured, acted, reached, acks.listed[max(seen - 1, 0) : seen])
    return (max(reached, int(data.furthest[acted - 1])) if acted else reached) - reached


def _flight_at_act_bytes(captured: Captured, acted: int) -> int:
    """Return what was outstanding when the sender acted, after the acknowledgement it acted on.

    As the studies count it: of both protocols without what acknowledgements report, lost or not.
    """
    data, acks = captured.data, captured.acks
    seen = int(acks.t_s.searchsorted(data.t_s[acted], side="right"))
    reached = int(acks.reached[seen - 1]) if seen else int(data.start[0])
    first = int(data.furthest[: acted + 1].searchsorted(reached, side="right"))
    if first > acted:  # all that left is acknowledged
        return 0
    since = int(acks.t_s.searchsorted(data.t_s[first]))
    return _outstanding_bytes(captured, acted, reached, acks.listed[since:seen])


def _outstanding_bytes(
    captured: Captured, acted: int, reached: int, reports: Sequence[Iterable[tuple[int, int]]]
) -> int:
    """Return the user data sent by then that is neither acknowledged nor reported."""
    data = captured.data
    # Whatever left before the first packet that reaches further is acknowledged.
    out = slice(int(data.furthest[:acted].searchsorted(reached, side="right")), acted)
    start = data.start[out]
    left = ~data.again[out] & (data.end[out] > reached)
    for blocks in reports:
        for begin, end in why.ranges(blocks, reached, captured.unit_bytes):
            left &= (start < begin) | (start >= end)
    return int(data.payload_bytes[out][left].sum())
