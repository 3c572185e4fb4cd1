"""A study's claims, judged: from what its runs measured to a verdict on each, with the evidence."""

from reports.claims.verdicts import LEVEL, VERDICTS, Judged, Verdict, judge
from reports.claims.words import Words

__all__ = ["LEVEL", "VERDICTS", "Judged", "Verdict", "Words", "judge"]
