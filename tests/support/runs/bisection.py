"""A bisection made by hand: four steps, of which the last found the commit."""

from __future__ import annotations

from model.run_files.comparing.bisection import Asked, Bisection, Commit, Compared, Step

GOOD, PARENT, CULPRIT, BAD = ("1" * 40, "2" * 40, "3" * 40, "4" * 40)
ASKED = Asked(
    study="wireless", study_sha256="0" * 64, claim="fourth", tree="linux", good="v1", bad="v2",
    ends=(GOOD, BAD), versions=(), rounds=(3, 6, 12), hosts="", at=(), scale="1", pcap=False,
)  # fmt: skip


def step(commit: str, outcome: str, number: float | None) -> Step:
    verdict = {"good": "refuted", "bad": "holds"}.get(outcome)
    compared = tuple(
        Compared(
            what=f"Share {which}", result=f"{100 * number:.0f} %", wanted="at least 90 %",
            verdict="holds" if number > 0.9 else "refuted", estimate=number, ci95=None, n=3,
        )
        for which in "ab"
    ) if number is not None else ()  # fmt: skip
    return Step(
        commit=commit, kernel=f"6.12-g{commit[:12]}", run=commit[:16], seeds=3,
        verdict=verdict, outcome=outcome,  # type: ignore[arg-type]
        reason=None if verdict else "does not build: net/sctp/x.c:7: no",
        compared=compared, decisive=1 if compared else None,
    )  # fmt: skip


FOUND = Bisection(
    study="wireless", title="Wireless", text="On the 4th.", asked=ASKED, between=9,
    steps=(
        step(GOOD, "good", 0.0), step(BAD, "bad", 1.0), step(PARENT, "good", 0.01),
        step(CULPRIT, "bad", 0.99),
    ),
    candidates=(CULPRIT,),
    commits=(
        Commit(
            commit=CULPRIT, parents=(PARENT,), subject="Wait for one more report",
            author_date="2026-01-02T03:04:05+00:00", files=("net/sctp/outqueue.c",),
            files_touched=1,
        ),
    ),
)  # fmt: skip
