"""Write docs/published-claims.md: every claim of every publication, and how it is judged.

    .venv/bin/python -m docs.generate.published_claims

All of it is the study files': a test holds the page against them.
"""

from __future__ import annotations

from pathlib import Path

from testbed.points.load_study import STUDIES_FOLDER, Study, find_study, load_study
from testbed.study.claims import Claim, Trend

FILE = Path(__file__).parents[1] / "published-claims.md"
HEAD = """# Every claim of the publications

Written by `python -m docs.generate.published_claims` from the study files; do not edit. What a
predicate needs to hold, and how sure a verdict is, stands in [claims.md](claims.md); the metrics in
[metrics.md](metrics.md). A claim that no predicate can say has its reason instead.
"""
TABLE_HEAD = "| where | claim | judged by |\n|---|---|---|\n"


def predicate(claim: Claim) -> str:
    """Return a claim's predicate as the study file has it, or why it has none."""
    if claim.untested is not None:
        return f"untested: {claim.untested}"
    names = ", ".join(f"`{name}`" for name in claim.names)
    if claim.versus is not None:
        names += f" against {_versus(claim)}"
    places = "".join(f", at `{path}` {_value(value)}" for path, value in claim.at.items())
    along = f", along `{claim.along}`" if claim.along else ""
    unit = f" (per that of `{claim.per}`)" if claim.per else ""
    unit = " (relative, %)" if claim.relative else unit
    return f"{names}{unit}: {_wanted(claim)}{along}{places}"


def _versus(claim: Claim) -> str:
    if claim.versus is None:
        return ""
    names = dict.fromkeys(claim.versus_names)
    said = "the same" if tuple(names) == claim.names else ", ".join(f"`{name}`" for name in names)
    places = "".join(f" at `{path}` {_value(value)}" for path, value in claim.versus.at.items())
    return said + places


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_value, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _wanted(claim: Claim) -> str:
    wanted = claim.is_
    if isinstance(wanted, Trend):
        return "falling" if wanted.falling else "rising"
    given = {} if wanted is None else wanted.model_dump(exclude_unset=True)
    return ", ".join(f"{name.replace('_', ' ')} {_value(bound)}" for name, bound in given.items())


def _section(study: Study) -> str:
    rows = (
        f"| {claim.where} | {claim.text} | {predicate(claim)} |" for claim in study.settings.claims
    )
    source = study.settings.source
    assert source is not None
    head = f"\n## {study.settings.study}\n\n{source.authors}: {source.publication}.\n\n"
    return head + TABLE_HEAD + "\n".join(row.replace("\n", " ") for row in rows) + "\n"


def written() -> str:
    """Return the page."""
    names = sorted(file.stem for file in STUDIES_FOLDER.glob("*.yaml"))
    studies = (load_study(find_study(name)) for name in names)
    published = (study for study in studies if study.settings.claims and study.settings.source)
    return HEAD + "".join(_section(study) for study in published)


if __name__ == "__main__":
    FILE.write_text(written())
