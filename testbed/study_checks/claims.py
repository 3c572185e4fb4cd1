"""What the parts of a claim must agree on, before it is known where on the sweep it belongs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from testbed.study.claims import Claim, Trend
from testbed.study.host_profile_form import Profile
from testbed.study.problems import Loc, Problem
from testbed.study.study_form import StudyFile
from testbed.study.yaml_document import Document
from testbed.study_checks.names import duplicates, unknown

#: Keys that belong to a predicate.
_PREDICATE = ("metric", "metrics", "at", "each", "versus", "relative", "per", "along", "is")
#: Words that say of many things that it is so of each. A mean or a total does not.
_EVERY = re.compile(r"\b(each|every|everywhere|all|always|never|whenever)\b", re.IGNORECASE)
#: Metrics that count the losses of which something is true; others are means over losses.
_OF_LOSSES = re.compile(
    r"((sends|repeats)_on_dupack_\d|flight_full|grows_at_recovery|cwnd_stays|timeout_if_lost_again)_.*_frac$"
)
_UNIT = re.compile(r"_(bps|pct|frac|s|segments|pkts)$")


def claim_problems(
    study: StudyFile, document: Document, metrics: Collection[str], lacking: Mapping[str, str]
) -> Iterator[Problem]:
    """Yield what is wrong with the claims by themselves.

    Args:
        study: of which ``claims`` are valid.
        document: the file.
        metrics: every metric the study can have.
        lacking: those it cannot for want of another key, and what that looks like.
    """
    places: list[Loc] = [("claims", i, "id") for i in range(len(study.claims))]
    yield from duplicates((claim.id for claim in study.claims), places, "claim", document)
    for i, claim in enumerate(study.claims):
        place: Loc = ("claims", i)
        if claim.untested is not None:
            given = [key for key in _PREDICATE if key in document.data["claims"][i]]
            for key in given:
                yield document.problem((*place, key), "a predicate of an untested claim")
            continue
        yield from _form(claim, place, document)
        yield from _each(claim, place, document)
        yield from _names(claim, place, document, metrics, lacking)


def _form(claim: Claim, place: Loc, document: Document) -> Iterator[Problem]:
    if (claim.metric is None) == (not claim.metrics):
        what = "both metric and metrics" if claim.metrics else "no metric"
        yield document.problem(place, what, wanted="metric, metrics, or untested: why")
    if claim.is_ is None:
        yield document.problem(place, "missing key", wanted="is: a predicate such as {above: 0}")
        return
    ordered = isinstance(claim.is_, Trend) or claim.is_.peak is not None
    if ordered and claim.along is None:
        yield document.problem((*place, "is"), "along what?", wanted="the key 'along' beside")
    if ordered and claim.versus is not None:
        yield document.problem((*place, "versus"), "compared with its own other points already")
    if claim.along is not None and not ordered:
        yield document.problem((*place, "along"), "not needed", wanted="falling, rising or peak")
    if claim.relative and claim.versus is None:
        yield document.problem((*place, "relative"), "relative to what?", wanted="the key 'versus'")
    if claim.per is not None and claim.versus is None:
        yield document.problem((*place, "per"), "what per that?", wanted="the key 'versus' beside")
    elif claim.per is not None and claim.relative:
        yield document.problem((*place, "per"), "a percentage per that?", wanted="not 'relative'")
    if claim.is_.equal_within is not None and claim.versus is None:
        yield document.problem((*place, "is"), "equal to what?", wanted="the key 'versus' beside")


def _each(claim: Claim, place: Loc, document: Document) -> Iterator[Problem]:
    """Yield where a claim says each and its predicate does not; points are counted later."""
    said = _EVERY.search(re.sub(r"\bat all\b", "", claim.text))
    if said and not claim.each:
        wanted = "the key 'each' beside: a list of points, metrics, losses"
        hint = "then the predicate must be true of each of them; or say it without the word"
        got = f"the word '{said.group()}'"
        yield document.problem((*place, "text"), "each of what?", wanted=wanted, got=got, hint=hint)
    if "metrics" in claim.each and len(claim.names) < 2:
        yield document.problem((*place, "each"), "only one metric", wanted="two or more in metrics")
    means = [name for name in claim.names if not _OF_LOSSES.match(name)]
    if "losses" in claim.each and means:
        wanted = "a share of losses, such as sends_on_dupack_1_S_frac"
        what = "not of each loss"
        yield document.problem((*place, "each"), what, wanted=wanted, got=", ".join(means))


def _names(
    claim: Claim,
    place: Loc,
    document: Document,
    metrics: Collection[str],
    lacking: Mapping[str, str],
) -> Iterator[Problem]:
    for name, loc in metric_places(claim, place):
        yield from unknown(name, metrics, loc, "metric", document)
        if name in lacking:
            what = f"{name} needs the key '{lacking[name].partition(':')[0]}'"
            yield document.problem(loc, what, wanted=lacking[name])
    versus = claim.versus
    if versus is None:
        return
    loc = (*place, "versus")
    if versus.metric is not None and versus.metrics:
        yield document.problem(loc, "both metric and metrics", wanted="one of them")
    elif not (versus.metric is not None or versus.metrics or versus.at):
        yield document.problem(loc, "empty", wanted="metric, metrics, at, or two of them")
    elif versus.metrics and len(versus.metrics) != len(claim.names):
        wanted = f"{len(claim.names)}, as the claim has"
        got = str(len(versus.metrics))
        yield document.problem((*loc, "metrics"), "not as many metrics", wanted=wanted, got=got)
    else:
        for name, other in zip(claim.names, claim.versus_names, strict=True):
            if _unit(name) != _unit(other):
                what = f"{name} and {other} have different units"
                yield document.problem(loc, what)


def suspect_problems(study: StudyFile, profile: Profile, document: Document) -> Iterator[Problem]:
    """Yield which suspects are no parameter of the hosts, or one that is set exactly."""
    fidelity = {entry.parameter: entry.fidelity for entry in profile.entries}
    for i, claim in enumerate(study.claims):
        for j, name in enumerate(claim.suspects):
            loc: Loc = ("claims", i, "suspects", j)
            yield from unknown(name, fidelity, loc, "parameter of the hosts", document)
            if fidelity.get(name) == "exact":
                yield document.problem(loc, "not a suspect", got=f"{name}, which is set exactly")


def metric_places(claim: Claim, place: Loc) -> list[tuple[str, Loc]]:
    """Return each metric that a claim names, and where."""
    found: list[tuple[str, Loc]] = []
    for part, here in ((claim, place), (claim.versus, (*place, "versus"))):
        if part is not None and part.metric is not None:
            found.append((part.metric, (*here, "metric")))
        if part is not None:
            found += [(name, (*here, "metrics", i)) for i, name in enumerate(part.metrics)]
    if claim.per is not None:
        found.append((claim.per, (*place, "per")))
    return found


def _unit(metric: str) -> str:
    found = _UNIT.search(metric)
    return found.group(1) if found else ""
