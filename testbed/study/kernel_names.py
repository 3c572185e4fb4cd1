"""What kernels are called: a version, a commit of a tree of that version, and patches. Pure.

``6.12``, ``7.3+sctp-4th-duplicate``, ``6.12-g2aed543258ce``, ``6.12+my-fix-1a2b3c4d``.
Invariants: a name says what is built and never where it was; equal names are equal sources. Of a
patch that is not the project's own the name ends in digits of its text's digest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from testbed.study.vocabulary import KERNEL_PATCHES, SOURCE_VERSION

#: What stands behind the name of a kernel that has radios, IPv6, or queues that manage themselves:
#: more options, no patch.
RADIO, IPV6, AQM = "radio", "ipv6", "aqm"
OPTIONS = (AQM, IPV6, RADIO)
#: What stands behind the name of a kernel whose clock is fine enough for fast links: a patch of the
#: lab's, no option.
FINE_CLOCK = "fine-clock"
#: The fastest link whose calibration the usual kernels' clock, of 256 ns, can tell; no lab but the
#: virtual one has shown a faster one.
USUAL_CLOCK_BPS = 1_000_000_000
#: Hexadecimal digits of a commit and of a patch's digest, in a name.
COMMIT_DIGITS, DIGEST_DIGITS = 12, 8
#: Characters of a patch's own name, in a name.
STEM_CHARACTERS = 24
#: Of a name so many stand in those of files: file systems take 255, with what stands around it.
FILE_CHARACTERS = 200
_BASE = re.compile(rf"({SOURCE_VERSION.pattern})(?:-g([0-9a-f]{{{COMMIT_DIGITS}}}))?")
_OWN = re.compile(
    rf"[0-9a-z](?:[0-9a-z-]{{0,{STEM_CHARACTERS - 2}}}[0-9a-z])?-[0-9a-f]{{{DIGEST_DIGITS}}}"
)


@dataclass(frozen=True, kw_only=True)
class KernelName:
    """A version, the first digits of a commit ("" for Debian's source), and patches."""

    version: str
    commit: str = ""
    patches: tuple[str, ...] = ()

    @property
    def base(self) -> str:
        """The name without patches."""
        return f"{self.version}-g{self.commit}" if self.commit else self.version

    @property
    def text(self) -> str:
        """The whole name."""
        return "+".join([self.base, *self.patches])

    @property
    def own_source(self) -> bool:
        """Whether anything in it is neither Debian's nor the project's."""
        return bool(self.commit) or any(is_own(patch) for patch in self.patches)

    def patched(self, patches: Iterable[str]) -> KernelName:
        """Return it with these patches as well: those not the project's first, as they come."""
        return replace(self, patches=in_order((*self.patches, *patches)))


def read(name: str) -> KernelName | None:
    """Return what a name says, or None for what is none; patches are not looked up."""
    base, *patches = name.split("+")
    found = _BASE.fullmatch(base)
    if found is None:
        return None
    return KernelName(version=found[1], commit=found[2] or "", patches=tuple(patches))


def is_own(patch: str) -> bool:
    """Return whether that is the name of a user's patch, or of local changes."""
    return patch not in KERNEL_PATCHES and _OWN.fullmatch(patch) is not None


def in_order(patches: Iterable[str]) -> tuple[str, ...]:
    """Return patches each once: users' in the order given, then the project's in theirs."""
    every = tuple(dict.fromkeys(patches))
    own = tuple(patch for patch in every if is_own(patch))
    return (*own, *sorted(set(every) - set(own)))


def patched(name: str, patches: Iterable[str]) -> str:
    """Return a kernel's name with these patches as well."""
    found = read(name)
    if found is not None:
        return found.patched(patches).text
    return "+".join([name, *in_order(patches)])  # another lab's, which says what is wrong


def own_patch(stem: str, digest: str) -> str:
    """Return the name of a user's patch, made of a file's and of its text's SHA-256."""
    safe = re.sub(r"[^0-9a-z]+", "-", stem.lower()).strip("-")[:STEM_CHARACTERS].strip("-")
    return f"{safe or 'patch'}-{digest[:DIGEST_DIGITS]}"


def has_radios(name: str) -> bool:
    """Return whether that is the name of a kernel with radios."""
    return RADIO in name.split("+")[1:]


def options(name: str) -> tuple[str, ...]:
    """Return what a kernel of that name has beside the usual one: of :data:`OPTIONS`, in order."""
    asked = name.split("+")[1:]
    return tuple(option for option in OPTIONS if option in asked)


def of_own_source(name: str) -> bool:
    """Return whether a kernel is of a tree or has a patch of somebody's own."""
    found = read(name)
    return found is not None and found.own_source


def in_files(name: str) -> str:
    """Return what files of a kernel are called: its name, as far as there is room for it."""
    return name[:FILE_CHARACTERS]


def numbers(version: str) -> tuple[int, int]:
    """Return a version's two numbers, to compare."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)
