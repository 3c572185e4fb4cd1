"""What the page of a set shows before its studies: every verdict, what ran, what is missing. Pure.

Escaping is the template's.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from model.words import how_many
from reports.page.evidence import repeat_command
from reports.page.first_screen import Screen, Shown
from reports.page.section import Section
from reports.verdict.verdicts import LEVEL


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A run that is in the set and not on the page."""

    name: str
    why: str


@dataclass(frozen=True, kw_only=True)
class SetStudy:
    """A study of the set; ``name`` is its own there."""

    name: str
    section: Section

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
        studies = how_many(
            len(self.studies) + len(self.missing), "published study", "published studies"
        )
        return f"{studies} on the Linux kernel"

    @property
    def screen(self) -> Screen:
        """The first screen."""
        return Screen(
            [Shown(name=s.name, here=f"{s.name}.", answer=s.section.answer) for s in self.studies]
        )

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
