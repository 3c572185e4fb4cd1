"""What the page and the terminal show of what happened: tables of text. Pure.

Invariant: what is not known is a dash, and the words say on what the numbers rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.run_files.summary import Distribution, Episodes, GroupStory
from reports.measures.quantities import UNKNOWN, as_printed, count, number, setting_quantity
from reports.page.result_tables import GridTable, setting_heads, settings_of
from reports.verdict.causes import NOT_KNOWN
from reports.verdict.points import PointSummary
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
CLAIMS = {
    "first_lost_segment": "first segment lost", "lost_pkts": "packets lost",
    "dupacks": "sent again at duplicate number", "new_data_pkts": "packets of new data before that",
    **{f"new_data_on_dupack_{k}_pkts": f"packets of new data on duplicate {k}" for k in (1, 2, 3)},
    "first_new_on_dupack": "new data first sent on duplicate number",
    "first_new_segment": "which was segment number",
    "acks_to_new_data_pkts": "acknowledgements from sending again until new data",
    "retransmitted_pkts": "packets sent again", "lost_again_pkts": "of these lost",
    "timeouts": "timeouts", "lost": "lost at", "regrow": "until the window had grown again",
    "cwnd_changes": "changes of the window until then",
    "cwnd_at_recovery": "window when recovered", "cwnd_after_recovery": "window after that",
    "detected": "sent again at", "recovered": "recovered at", "detect": "until sent again",
    "recover": "until recovered", "cwnd_before": "window before", "cwnd_after": "window after",
    "cwnd_grown": "window grown", "ssthresh_after": "threshold after",
    "flight_before": "under way before", "flight_at_act": "under way when sent again",
}  # fmt: skip

#: TCP's window follows its new threshold over a round trip, SCTP's at once.
_STEP = ("cwnd_before_bytes", "ssthresh_after_bytes")


@dataclass(frozen=True, kw_only=True)
class StoryPage:
    """The section: tables that have rows, and sentences about them."""

    words: tuple[str, ...]
    episodes: GridTable | None
    limits: GridTable | None
    claims: GridTable | None
    notes: tuple[str, ...]


def story_page(summary: Summary) -> StoryPage:
    """Return what the HTML page shows of what happened."""
    told = [(p, s) for p in summary.points for s in p.causes]
    bases = sorted({s.episodes.basis for _, s in told if s.episodes})
    head = "; ".join(setting_heads(summary)) or "Point"
    labels = {group.id: group.label for group in summary.groups}
    episodes = [
        (_place(p, summary), labels[s.group], *_episode_fields(s.episodes))
        for p, s in told
        if s.episodes
    ]
    limits = [(_place(p, summary), labels[s.group], *_limit_fields(s)) for p, s in told if s.limits]
    notes = [f"{_place(p, summary)}, {labels[s.group]}: {s.reason}." for p, s in told if s.reason]
    return StoryPage(
        words=tuple(BASES[basis] for basis in bases),
        episodes=GridTable(heads=(head, *HEADS), rows=tuple(episodes)) if episodes else None,
        limits=GridTable(heads=(head, *LIMIT_HEADS), rows=tuple(limits)) if limits else None,
        claims=claims_table(summary),
        notes=tuple(dict.fromkeys(notes)),
    )


def _place(point: PointSummary, summary: Summary) -> str:
    return ", ".join(settings_of(point.point, summary)) or "All"


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


def claim_words(name: str) -> str:
    """Return a published value's name as readers see it: ``window before, bytes``."""
    for unit in ("bytes", "segments", "s"):
        base = name.removesuffix(f"_{unit}")
        if base != name and base in CLAIMS:
            return f"{CLAIMS[base]}, {unit}"
    return CLAIMS.get(name, name)


def claims_table(summary: Summary) -> GridTable | None:
    """Return what was published of single losses beside the kernel's; None if nothing was."""
    head = "; ".join(setting_heads(summary)) or "Point"
    rows = [
        (
            _place(point, summary),
            f"{claim.flow}, {claim.where}",
            str(claim.episode),
            claim_words(claim.name),
            as_printed(claim.published, setting_quantity("")),
            _kernel(claim.kernel) if claim.reason is None else f"{UNKNOWN} ({claim.reason})",
        )
        for point in summary.points
        for claim in point.episode_claims
    ]
    heads = (head, "Flow", "Episode", "What", "Published", "Kernel")
    return GridTable(heads=heads, rows=tuple(rows)) if rows else None


def _kernel(value: float | None) -> str:
    return number(value, setting_quantity("")).rstrip("0").rstrip(".")


def terminal_rows(summary: Summary) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
    """Return heads and rows of the compact table on a terminal; no rows: nothing recorded."""
    heads = ("group", "in 1000 s", "found by", "window", "recover")
    rows = []
    for point in summary.points:
        for story in point.causes:
            found = story.episodes
            if found is None:
                continue
            measures = found.measures
            before, after = (mean_of(measures[name], 0) for name in _STEP)
            rows.append(
                (
                    _place(point, summary),
                    story.group,
                    f"{found.per_1000_s:.0f}",
                    found_by(found),
                    f"{before} > {after}",
                    f"{mean_of(measures['recover_s'], 2)} s",
                )
            )
    return heads, rows


def terminal_words(summary: Summary) -> str:
    """Return one line on what the compact table rests on."""
    found = [s.episodes for p in summary.points for s in p.causes if s.episodes]
    bases = sorted({episodes.basis for episodes in found})
    episodes = count(sum(story.episodes for story in found), "loss episode")
    return (
        f"{episodes}, told from {' and '.join(bases)}; means over episodes; window in "
        "bytes > threshold after."
    )
