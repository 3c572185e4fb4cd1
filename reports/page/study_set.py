"""What the page of a set shows before its studies: every verdict, what ran, what is missing. Pure.

Escaping is the template's.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from reports.measures.quantities import count
from reports.page.evidence import repeat_command
from reports.page.grid import Grid
from reports.page.section import Section
from reports.page.verdicts import claims_table, tally
from reports.verdict.verdicts import LEVEL


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A run that is in the set and not on the page."""

    name: str
    why: str


@dataclass(frozen=True, kw_only=True)
class SetStudy:
    """A study of the set; ``name`` is its own there, ``tally`` empty where nothing is claimed."""

    name: str
    section: Section

    @property
    def tally(self) -> str:
        """How the study's verdicts are spread, in words."""
        return tally(self.section.verdicts, self.section.scale) if self.section.verdicts else ""

    @property
    def warnings(self) -> str:
        """How many warnings there are to read, in words."""
        return count(self.section.warnings, "warning")

    @property
    def html(self) -> Markup:
        """The study's section, which the template engine escaped when it was written."""
        return Markup(self.section.html(self.name))


@dataclass(frozen=True, kw_only=True)
class SetPage:
    """A set of studies."""

    studies: tuple[SetStudy, ...]
    missing: tuple[Missing, ...]

    @property
    def title(self) -> str:
        """What the page is of."""
        studies = count(
            len(self.studies) + len(self.missing), "published study", "published studies"
        )
        return f"{studies} on the Linux kernel"

    @property
    def tally(self) -> str:
        """How all verdicts are spread, in words; empty where nothing is claimed."""
        verdicts = [one for study in self.studies for one in study.section.verdicts]
        scale = min((study.section.scale for study in self.studies), default=1.0)
        return tally(verdicts, scale) if verdicts else ""

    @property
    def claims(self) -> Grid:
        """The table of all verdicts, without its rows, which stand study by study."""
        return claims_table((), "publications claim")

    @property
    def rule(self) -> str:
        """How sure the verdicts are."""
        return (
            "A claim holds if the runs show every comparison it makes, and is refuted if they show "
            "that one is false; else it is undecided: more runs may tell. The p-values are "
            "corrected for the claims tested in their study: for each study, the chance that any "
            f"of its verdicts is wrong is at most {100 * LEVEL:g} %, if runs scatter about "
            "normally."
        )

    @property
    def repeat(self) -> tuple[str, ...]:
        """The commands that run all again: one for the studies that take the same options."""
        together: dict[tuple[str, ...], list[str]] = {}
        for study in self.studies:
            together.setdefault(study.section.again, []).append(study.section.study)
        return tuple(repeat_command(names, options) for options, names in together.items())
