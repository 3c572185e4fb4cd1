"""Host profiles: published host parameters, the kernel settings they became, and how well.

A profile is a ledger. Knob values are the kernel's own words and numbers; only ``rto_min: floor
1 s`` is worked out per point, because Linux adds that route option to the measured round trip.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from model import units
from model.cell import Fidelity, HostProfile, Knob, LedgerEntry, Side
from testbed.study.problems import Loc, Problem, SettingError, one_of, suggestion
from testbed.study.setting_types import DEFAULT, KernelOfProfile, Settings, Text
from testbed.study.vocabulary import INTEGER, KNOB_OPTIONS, SYSCTL_NAME
from testbed.study.yaml_document import Document

KnobKind = Literal["sysctl", "route", "tcp_socket", "sctp_socket"]
KINDS: tuple[KnobKind, ...] = ("sysctl", "route", "tcp_socket", "sctp_socket")
SIDES: tuple[Side, ...] = ("both", "sender", "receiver")
MS_PER_S = 1000

_KNOB_TEXT = re.compile(r"[ -~]{1,200}")
_INTEGER_TEXT = re.compile(r"(lock )?[0-9]{1,18}")
_FLOOR = re.compile(r"floor (.+)")


def _knob_value(value: Any) -> str:
    if isinstance(value, bool):
        raise SettingError(
            "wrong kind", wanted="a number or text", got=units.shown(value), hint="write 0 or 1"
        )
    if not isinstance(value, int | str):
        raise SettingError("wrong kind", wanted="a whole number or text", got=units.shown(value))
    if not _KNOB_TEXT.fullmatch(str(value)):
        raise SettingError("wrong kind", wanted="one line of plain text", got=units.shown(value))
    return str(value)


Knobs = dict[str, Annotated[Any, AfterValidator(_knob_value)]]


def _knobs(description: str) -> Any:
    return Field({}, description=description)


class KnobGroups(Settings):
    """Settings of the kernel; groups without a side in their name go to both ends."""

    sysctl: Knobs = _knobs("sysctls by name")
    sysctl_sender: Knobs = _knobs("sysctls of senders")
    sysctl_receiver: Knobs = _knobs("sysctls of receivers")
    route: Knobs = _knobs("ip route options")
    route_sender: Knobs = _knobs("ip route options of senders")
    route_receiver: Knobs = _knobs("ip route options of receivers")
    tcp_socket: Knobs = _knobs("options of TCP sockets")
    tcp_socket_sender: Knobs = _knobs("options of sending TCP sockets")
    tcp_socket_receiver: Knobs = _knobs("options of receiving TCP sockets")
    sctp_socket: Knobs = _knobs("options of SCTP sockets")
    sctp_socket_sender: Knobs = _knobs("options of sending SCTP sockets")
    sctp_socket_receiver: Knobs = _knobs("options of receiving SCTP sockets")

    def knobs(self) -> Iterator[tuple[str, Knob]]:
        """Yield each knob with the name of the group it is written in."""
        for kind in KINDS:
            for side in SIDES:
                group = kind if side == "both" else f"{kind}_{side}"
                for name, value in getattr(self, group).items():
                    yield group, Knob(kind=kind, name=name, value=value, side=side)


class ProfileEntry(KnobGroups):
    """One published parameter, and the settings it became."""

    parameter: Text = Field(description="what the publication says of its hosts")
    published: str = Field("", description="its published value; empty: not published")
    fidelity: Fidelity = Field(description="exact, approximated or cannot_be_set")
    note: str = Field("", description="what differs")


class Profile(Settings):
    """How the end hosts are set up."""

    title: Text = Field(description="one line")
    kernel: KernelOfProfile = Field(
        DEFAULT, description="the kernel that stands for the hosts best, such as '6.12', or default"
    )
    entries: tuple[ProfileEntry, ...] = Field(min_length=1, description="a list of parameters")


def profile_problems(profile: Profile, document: Document, place: Loc) -> Iterator[Problem]:
    """Yield what is wrong with a profile that lies at a place of a document."""
    parameters: dict[str, int] = {}
    set_by: list[tuple[Knob, str]] = []
    for index, entry in enumerate(profile.entries):
        loc = (*place, "entries", index)
        yield from _entry_problems(entry, document, loc)
        first = parameters.setdefault(entry.parameter, index)
        if first != index:
            line = document.line((*place, "entries", first, "parameter"))
            yield document.problem(
                (*loc, "parameter"), f"duplicate parameter: already given on line {line}"
            )
        for group, knob in entry.knobs():
            clash = next((by for other, by in set_by if same_place(other, knob)), "")
            if clash:
                yield document.problem((*loc, group, knob.name), f"set twice: also by '{clash}'")
            set_by.append((knob, entry.parameter))


def same_place(a: Knob, b: Knob) -> bool:
    """Return whether two settings are of the same thing at the same end."""
    return (a.kind, a.name) == (b.kind, b.name) and (a.side == b.side or "both" in (a.side, b.side))


def _entry_problems(entry: ProfileEntry, document: Document, loc: Loc) -> Iterator[Problem]:
    knobs = list(entry.knobs())
    if entry.fidelity == "cannot_be_set" and knobs:
        yield document.problem(
            (*loc, "fidelity"),
            "cannot_be_set, yet the entry sets something",
            wanted="no settings, or fidelity approximated",
            got=knobs[0][1].name,
        )
    if entry.fidelity == "exact" and not knobs:
        yield document.problem(
            (*loc, "fidelity"),
            "exact, yet the entry sets nothing",
            wanted=f"at least one setting in {one_of(KINDS)}",
        )
    if entry.fidelity != "exact" and not entry.note.strip():
        yield document.problem((*loc, "fidelity"), "no note", wanted="a note saying what differs")
    yield from knob_problems(entry, document, loc)


def knob_problems(groups: KnobGroups, document: Document, loc: Loc) -> Iterator[Problem]:
    """Yield which settings of the kernel, written at a place, there are not."""
    for group, knob in groups.knobs():
        problem = _knob_problem(knob)
        if problem:
            yield document.problem((*loc, group, knob.name), **problem)


def _knob_problem(knob: Knob) -> dict[str, str]:
    """Return the parts of a problem with one knob, or nothing."""
    if knob.kind == "sysctl":
        if SYSCTL_NAME.fullmatch(knob.name):
            return {}
        return {"what": "not a sysctl of the network", "wanted": "a name such as net.ipv4.tcp_sack"}
    options = KNOB_OPTIONS[knob.kind]
    kind = options.get(knob.name)
    if kind is None:
        hint = suggestion(knob.name, options)
        return {"what": "unknown option", "wanted": one_of(options, hint), "hint": hint}
    if kind == INTEGER and not _INTEGER_TEXT.fullmatch(knob.value):
        return {"what": "wrong kind", "wanted": INTEGER, "got": units.shown(knob.value)}
    if knob.kind == "route" and knob.name == "rto_min":
        return _rto_min_problem(knob.value)
    return {}


def _rto_min_problem(value: str) -> dict[str, str]:
    floor = _FLOOR.fullmatch(value)
    try:
        units.parse_time_s(floor[1] if floor else value, more_than="0 s", at_most="120 s")
    except units.UnitError as error:
        return {
            "what": error.what,
            "wanted": "a time such as '200ms', or 'floor 1 s'",
            "got": error.got,
            "hint": error.hint,
        }
    return {}


def resolve_profile(name: str, profile: Profile, base_rtt_s: float) -> HostProfile:
    """Return a profile with each value as the kernel takes it, for a path's base round trip."""
    return HostProfile(
        id=name,
        title=profile.title,
        entries=tuple(
            LedgerEntry(
                parameter=entry.parameter,
                published=entry.published,
                fidelity=entry.fidelity,
                note=entry.note,
                knobs=tuple(_resolve_knob(knob, base_rtt_s) for _, knob in entry.knobs()),
            )
            for entry in profile.entries
        ),
    )


def _resolve_knob(knob: Knob, base_rtt_s: float) -> Knob:
    floor = _FLOOR.fullmatch(knob.value) if knob.name == "rto_min" else None
    value = rto_min_for(units.parse_time_s(floor[1]), base_rtt_s) if floor else knob.value
    return Knob(kind=knob.kind, name=knob.name, value=value, side=knob.side)


def rto_min_for(floor_s: float, base_rtt_s: float) -> str:
    """Return the route option that keeps the retransmission timeout at or above a floor.

    Linux's timeout is srtt + max(4 rttvar, rto_min) on a steady path (tcp_rtt_estimator keeps
    the second term), so the option is the floor less the round trip; whole ms, never below 1.
    """
    needed_ms = units.seconds_to_ns(floor_s - base_rtt_s) / units.NS_PER_S * MS_PER_S
    return f"{max(1, math.ceil(round(needed_ms, 6)))}ms"
