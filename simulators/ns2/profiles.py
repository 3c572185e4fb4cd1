"""What ns-2's agents are set to: two profiles, every parameter with a word why.

Invariants: both have what the studies print (no delayed acknowledgements, windows, payload). What
they do not print is that of ns-2.35 in ``ns235``, and in ``era2001`` that of ns-2.1b8, the release
of the studies' time, as far as ns-2.35 can still be set to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from model.errors import StudyError

RELEASE = "2.35"
TCP, SINK, SCTP = "Agent/TCP", "Agent/TCPSink", "Agent/SCTP"


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A variable of a class of ns-2's, as its own Tcl names it."""

    of: str
    name: str
    value: float
    why: str


@dataclass(frozen=True, kw_only=True)
class Profile:
    """How all agents of a run are set; ``tick_hz`` is what TCP rounds its round trips to."""

    id: str
    title: str
    tick_hz: int
    parameters: tuple[Parameter, ...]

    @property
    def version(self) -> str:
        """What stands where a lab's cells have their kernel's version."""
        return f"{RELEASE}-{self.id}"


def _p(of: str, name: str, value: float, why: str) -> Parameter:
    return Parameter(of=of, name=name, value=value, why=why)


#: What the studies print, or what follows from it, and what keeps one packet one message.
PUBLISHED = (
    _p(TCP, "windowInit_", 2, "the window TCP begins with, ns-2's default at all times"),
    _p(TCP, "useHeaders_", 1, "40 bytes of headers: packets of 1488 bytes, as one study prints"),
    _p(SINK, "maxSackBlocks_", 3, "the number of SACK blocks that the studies print"),
    _p(SCTP, "useDelayedSacks_", 0, "every packet is acknowledged; ns-2.35's default delays"),
    _p(SCTP, "mtu_", 1500, "one message is one packet"),
)
ERA2001 = Profile(
    id="era2001",
    title="ns-2.35 set to what ns-2.1b8 did (2001)",
    tick_hz=10,
    parameters=(
        *PUBLISHED,
        _p(TCP, "singledup_", 0, "no limited transmit (RFC 3042): on by default from 2002"),
        _p(TCP, "precisionReduce_", 0, "the halved window is a whole number of segments"),
        _p(TCP, "minrto_", 1.0, "least retransmission timeout; 0.2 s later"),
        _p(TCP, "tcpTick_", 0.1, "round trips are measured in steps of 0.1 s; 0.01 s later"),
        _p(TCP, "rfc2988_", 0, "timeouts as before RFC 2988"),
        _p(TCP, "bugfix_ss_", 0, "a mend of slow start that came in 2006"),
        _p(TCP, "rtxcur_init_", 6.0, "first retransmission timeout; 3 s later"),
        _p(TCP, "maxrto_", 64.0, "longest retransmission timeout; 60 s later"),
        _p(SCTP, "fastRtxTrigger_", 4, "the 4th report, as the studies and RFC 2960 have it"),
        _p(SCTP, "useMaxBurst_", 0, "no Max.Burst: none is printed, it came with RFC 2960's guide"),
    ),
)
NS235 = Profile(
    id="ns235",
    title="ns-2.35 as it comes (2011)",
    tick_hz=100,
    parameters=(
        *PUBLISHED,
        _p(TCP, "singledup_", 1, "limited transmit: the default"),
        _p(TCP, "precisionReduce_", 1, "windows are halved exactly: the default"),
        _p(TCP, "minrto_", 0.2, "the default"),
        _p(TCP, "tcpTick_", 0.01, "the default"),
        _p(TCP, "rfc2988_", 1, "timeouts of RFC 2988: the default"),
        _p(TCP, "bugfix_ss_", 1, "the default"),
        _p(TCP, "rtxcur_init_", 3.0, "the default"),
        _p(TCP, "maxrto_", 60.0, "the default"),
        _p(SCTP, "fastRtxTrigger_", 3, "the 3rd report (RFC 4960): the default"),
        _p(SCTP, "useMaxBurst_", 1, "Max.Burst of 4 packets: the default"),
    ),
)
PROFILES = {one.id: one for one in (ERA2001, NS235)}
DEFAULT = ERA2001.id


def named(name: str) -> Profile:
    """Return a profile by its name or version; raise :class:`StudyError` for one there is not."""
    found = [one for one in PROFILES.values() if name in (one.id, one.version)]
    if not found:
        raise StudyError("ns-2 has no such profile", where="KERNEL", wanted=" or ".join(PROFILES),
                         got=name)  # fmt: skip
    return found[0]
