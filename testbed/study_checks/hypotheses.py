"""What hypotheses must agree on with claims, metrics and the host profile they are about."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from testbed.study.host_profile_form import Profile, knob_problems
from testbed.study.problems import Loc, Problem
from testbed.study.study_form import StudyFile
from testbed.study.vocabulary import KERNEL_PATCHES
from testbed.study.yaml_document import Document
from testbed.study_checks.names import duplicates, unknown

#: How many mechanisms can be told apart in sixteen sets of them.
MOST = 8


def hypothesis_problems(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Yield what is wrong with the hypotheses by themselves."""
    listed = study.hypotheses
    places: list[Loc] = [("hypotheses", i, "id") for i in range(len(listed))]
    yield from duplicates((one.id for one in listed), places, "hypothesis", document)
    for i, one in enumerate(listed):
        loc: Loc = ("hypotheses", i)
        knobs = list(one.knobs())
        if (one.patch is None) == (not knobs):
            what = "both a patch and settings" if knobs else "it changes nothing"
            yield document.problem(loc, what, wanted="a patch, or settings such as sysctl")
        if one.patch is not None:
            yield from unknown(one.patch, KERNEL_PATCHES, (*loc, "patch"), "patch", document)
        yield from knob_problems(one, document, loc)
    if len(listed) > MOST:
        what = "more than can be told apart"
        got = str(len(listed))
        yield document.problem(("hypotheses",), what, wanted=f"at most {MOST}", got=got)


def explanation_problems(
    study: StudyFile, document: Document, metrics: Collection[str]
) -> Iterator[Problem]:
    """Yield what is wrong with the explanations: they are of claims, hypotheses and metrics."""
    untested = [claim.id for claim in study.claims if claim.untested is not None]
    known = [one.id for one in study.hypotheses]
    for i, one in enumerate(study.explanations):
        loc: Loc = ("explanations", i)
        names = [((*loc, "claim"), one.claim, untested, "untested claim")]
        names += [((*loc, "by", j), name, known, "hypothesis") for j, name in enumerate(one.by)]
        for place, name, allowed, what in names:
            if not allowed:
                yield document.problem(place, f"the study has no {what}", got=name)
            else:
                yield from unknown(name, allowed, place, what, document)
        yield from unknown(one.metric, metrics, (*loc, "metric"), "metric", document)
        for key in ("peak", "equal_within"):
            if getattr(one.is_, key) is not None:
                what = "not a predicate of an effect"
                wanted = "above, below, at_least, at_most or between"
                yield document.problem((*loc, "is", key), what, wanted=wanted)


def restored_problems(study: StudyFile, profile: Profile, document: Document) -> Iterator[Problem]:
    """Yield which hypotheses are about no parameter of the hosts."""
    parameters = [entry.parameter for entry in profile.entries]
    for i, one in enumerate(study.hypotheses):
        loc: Loc = ("hypotheses", i, "restores")
        yield from unknown(one.restores, parameters, loc, "parameter of the hosts", document)
