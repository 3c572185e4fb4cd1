"""A study with mechanisms of its hosts as published: patches of the kernel, settings. Pure.

Invariants: nothing else of the study changes, so its cells are paired by seed with those of the
study as it is; what is in force is in the name of the kernel and in the ledger of the hosts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from model.cell import Knob
from model.errors import StudyError
from testbed.points.load_study import Study
from testbed.study import kernel_names
from testbed.study.host_profile_form import Profile, ProfileEntry, same_place
from testbed.study.hypotheses import Hypothesis
from testbed.study.problems import one_of, suggestion


def chosen(study: Study, wanted: Sequence[str]) -> tuple[Hypothesis, ...]:
    """Return the hypotheses of these ids, in the study's order; all of them if none is named.

    Raises:
        StudyError: it has none at all, or none of such an id.
    """
    where = f"{study.settings.study}: hypotheses"
    ids = [one.id for one in study.settings.hypotheses]
    if not ids:
        raise StudyError(
            "nothing to explain by", where=where, wanted="at least one hypothesis", got="none",
            hint="docs/kernels.md says how a study names them",
        )  # fmt: skip
    for name in wanted:
        if name not in ids:
            hint = suggestion(name, ids)
            raise StudyError(
                "no such hypothesis", where=where, wanted=one_of(ids), got=name, hint=hint
            )
    return tuple(one for one in study.settings.hypotheses if not wanted or one.id in wanted)


def idle(study: Study, hypothesis: Hypothesis) -> str:
    """Return why a hypothesis changes nothing of a study's hosts; empty if it does."""
    kernels = [study.kernel_at(point).split("+")[1:] for point in study.points]
    if all(hypothesis.patch in patches for patches in kernels):
        return "the kernel is so already"
    profiles = _profiles(study)
    if not all(_entry(profile, hypothesis) for profile in profiles):
        return f"the hosts have no parameter '{hypothesis.restores}'"
    there = [knob for profile in profiles for entry in profile.entries for _, knob in entry.knobs()]
    wanted = [knob for _, knob in hypothesis.knobs()]
    if wanted and all(knob in there for knob in wanted):
        return "the hosts are so already"
    return ""


def with_mechanisms(study: Study, hypotheses: Collection[Hypothesis]) -> Study:
    """Return the study with these mechanisms as published."""
    profiles = dict(study.profiles)
    for name, loaded in profiles.items():
        profile = loaded.profile
        for one in hypotheses:
            profile = _restored(profile, one)
        profiles[name] = dataclasses.replace(loaded, profile=profile)
    patches = {one.patch for one in hypotheses if one.patch is not None}
    return dataclasses.replace(
        study,
        profiles=profiles,
        patches=kernel_names.in_order((*study.patches, *patches)),
        mechanisms=tuple(one.id for one in hypotheses),
    )


def _profiles(study: Study) -> list[Profile]:
    return [loaded.profile for loaded in study.profiles.values()]


def _entry(profile: Profile, hypothesis: Hypothesis) -> ProfileEntry | None:
    found = (entry for entry in profile.entries if entry.parameter == hypothesis.restores)
    return next(found, None)


def _restored(profile: Profile, hypothesis: Hypothesis) -> Profile:
    """Return a profile whose ledger says that a mechanism is as published, with its settings."""
    ours = [knob for _, knob in hypothesis.knobs()]
    entries = []
    for entry in profile.entries:
        kept = _without(entry, ours)
        if entry.parameter == hypothesis.restores:
            how = f"the kernel's patch {hypothesis.patch}" if hypothesis.patch else "these settings"
            note = f"As published in this run, by {how}: {hypothesis.text}"
            added = {group: dict(getattr(kept, group)) for group, _ in hypothesis.knobs()}
            for group, knob in hypothesis.knobs():
                added[group][knob.name] = knob.value
            kept = kept.model_copy(update={**added, "fidelity": "approximated", "note": note})
        entries.append(kept)
    return profile.model_copy(update={"entries": tuple(entries)})


def _without(entry: ProfileEntry, knobs: Collection[Knob]) -> ProfileEntry:
    """Return an entry without the settings that others take the place of."""
    left: dict[str, dict[str, str]] = {}
    for group, knob in entry.knobs():
        left.setdefault(group, {})
        if not any(same_place(knob, other) for other in knobs):
            left[group][knob.name] = knob.value
    return entry.model_copy(update=left)
