"""What the page and the terminal show of what happened: tables of text. Pure.

Invariant: what is not known is a dash, and the words say on what the numbers rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.run_files.summary_points import Distribution, Episodes, GroupStory
from model.words import how_many
from reports.measures.quantities import UNKNOWN
from reports.page.grid import Grid, Kind, columns
from reports.page.places import place_head, place_of
from reports.published.episodes import claim_numbers, claim_words
from reports.verdict.causes import NOT_KNOWN
from reports.verdict.summary import Summary

BASES = {
    "captures": "Told from captures on both sides of what loses packets, exactly.",
    "telemetry": "Told from the kernel's events alone, without captures: a count of SCTP's may be "
    "off by a few per cent, and what no event shows is missing.",
    "mixed": "Told from captures in some runs, from the kernel's events alone in others.",
}
KINDS = ("dupacks", "rack", "probe", "timeout", NOT_KNOWN)
HEADS = (
    "Group", "Runs", "Episodes per 1000 s", "Lost packets", "Found by", "Duplicates",
    "New data meanwhile", "Window before, bytes", "after", "Threshold after", "Detect, s",
    "Recover, s", "Timeouts",
)  # fmt: skip
LIMIT_HEADS = (
    "Group", "Recovering, %", "Congestion window, %", "Receiver's window, %", "Sender, %",
    "Not known, %", "Bottleneck's buffer in use, %", "Loss, %", "Round trip, s", "Timeout, s",
    "Rate of square-root bound, %", "of PFTK bound, %",
)  # fmt: skip
_LIMITS = (
    ("recovering_frac", 100, 1), ("cwnd_frac", 100, 1), ("rwnd_frac", 100, 1),
    ("sender_frac", 100, 1), ("unknown_frac", 100, 1), ("bottleneck_busy_frac", 100, 1),
    ("loss_frac", 100, 2), ("rtt_s", 1, 3), ("rto_s", 1, 2), ("rate_of_sqrt_frac", 100, 0),
    ("rate_of_pftk_frac", 100, 0),
)  # fmt: skip

#: What is published of single losses, by its name in the study file without the unit.
#: TCP's window follows its new threshold over a round trip, SCTP's at once.
_STEP = ("cwnd_before_bytes", "ssthresh_after_bytes")


@dataclass(frozen=True, kw_only=True)
class StoryPage:
    """The section: tables that have rows, and sentences about them."""

    words: tuple[str, ...]
    episodes: Grid | None
    limits: Grid | None
    claims: Grid | None
    notes: tuple[str, ...]


def story_page(summary: Summary) -> StoryPage:
    """Return what the HTML page shows of what happened."""
    labels = {group.id: group.label for group in summary.groups}
    told = [(place, labels[story.group], story) for place, story in _told(summary)]
    episodes = [(*of, *_episode_fields(s.episodes)) for *of, s in told if s.episodes]
    limits = [(*of, *_limit_fields(s)) for *of, s in told if s.limits]
    bounds = "Shares of the flows' time, and their rate against two bounds by loss"
    notes = [f"{place}, {label}: {s.reason}." for place, label, s in told if s.reason]
    return StoryPage(
        words=tuple(BASES[basis] for basis in _bases(summary)),
        episodes=_table(summary, "Loss episodes by group", HEADS, episodes),
        limits=_table(summary, bounds, LIMIT_HEADS, limits),
        claims=claims_table(summary),
        notes=tuple(dict.fromkeys(notes)),
    )


def _told(summary: Summary) -> list[tuple[str, GroupStory]]:
    return [(place_of(p.point, summary), story) for p in summary.points for story in p.causes]


def _bases(summary: Summary) -> list[str]:
    return sorted({story.episodes.basis for _, story in _told(summary) if story.episodes})


def _table(
    summary: Summary,
    caption: str,
    heads: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    kind: Kind = "number",
) -> Grid | None:
    """Return a table with a column of points before the others; None without rows."""
    return Grid(caption, columns(kind, place_head(summary), *heads), rows) if rows else None


def _episode_fields(found: Episodes) -> tuple[str, ...]:
    measures = found.measures
    return (
        str(found.runs),
        f"{found.per_1000_s:.1f}",
        mean_of(measures["lost_pkts"], 2),
        found_by(found),
        mean_of(measures["dupacks"], 2),
        mean_of(measures["new_data_pkts"], 2),
        mean_of(measures["cwnd_before_bytes"], 0),
        mean_of(measures["cwnd_after_bytes"], 0),
        mean_of(measures["ssthresh_after_bytes"], 0),
        mean_of(measures["detect_s"], 3),
        mean_of(measures["recover_s"], 3),
        str(found.timeouts),
    )


def _limit_fields(story: GroupStory) -> tuple[str, ...]:
    limits = story.limits or {}
    return tuple(mean_of(limits[name], decimals, scale) for name, scale, decimals in _LIMITS)


def mean_of(found: Distribution, decimals: int, scale: float = 1) -> str:
    """Return a mean as shown; a dash if nothing is known."""
    return UNKNOWN if found.mean is None else f"{found.mean * scale:.{decimals}f}"


def found_by(found: Episodes) -> str:
    """Return what found the losses, in per cent of the episodes."""
    if not found.episodes:
        return UNKNOWN
    shares = ((kind, found.detected_by.get(kind, 0) / found.episodes) for kind in KINDS)
    return ", ".join(f"{kind} {_percent(share)} %" for kind, share in shares if share)


def _percent(share: float) -> str:
    """Return a share above 0 so that neither none nor all is said where it is not so."""
    rounded = f"{share * 100:.0f}"
    if rounded == "0":
        return "<1"
    return ">99" if rounded == "100" and share < 1 else rounded


def claims_table(summary: Summary) -> Grid | None:
    """Return what was published of single losses beside the kernel's; None if nothing was."""
    rows = [
        (
            place_of(point.point, summary),
            f"{claim.flow}, {claim.where}",
            str(claim.episode),
            claim_words(claim.name),
            *claim_numbers(claim),
        )
        for point in summary.points
        for claim in point.episode_claims
    ]
    caption = (
        "Published of single loss episodes, beside the same episode of the first run that counts"
    )
    heads = ("Flow", "Episode", "What", "Published", summary.system.capitalize())
    return _table(summary, caption, heads, rows, "name")


def terminal_table(summary: Summary) -> Grid | None:
    """Return the compact table on a terminal; None if nothing was recorded."""
    rows = []
    for place, story in _told(summary):
        if story.episodes:
            measures = story.episodes.measures
            before, after = (mean_of(measures[name], 0) for name in _STEP)
            rows.append(
                (
                    place,
                    story.group,
                    f"{story.episodes.per_1000_s:.0f}",
                    found_by(story.episodes),
                    f"{before} > {after}",
                    f"{mean_of(measures['recover_s'], 2)} s",
                )
            )
    heads = ("group", "in 1000 s", "found by", "window", "recover")
    return _table(summary, f"What happened: {_terminal_words(summary)}", heads, rows)


def _terminal_words(summary: Summary) -> str:
    """Return one line on what the compact table rests on."""
    found = sum(story.episodes.episodes for _, story in _told(summary) if story.episodes)
    return (
        f"{how_many(found, 'loss episode')}, told from {' and '.join(_bases(summary))}; means over "
        "episodes; window in bytes > threshold after."
    )
