"""Patched kernels do what their patches say, and all else as the kernel that is not patched."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.labs.virtual import virtual_lab
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.study.vocabulary import KERNEL_PATCHES
from tests.lab.kernels.mechanism_facts import BY_PATCH, PLAIN, facts

#: tests/long/patched_kernels.py has each alone, which takes a kernel each.
SCTP, TCP = (tuple(p for p in KERNEL_PATCHES if p.startswith(of)) for of in ("sctp", "tcp"))
#: What several do together. Six are under way when TCP acts, and it waits until there are fewer
#: than four; where SCTP's threshold may fall below 4 MTU, what lowers it once more is seen.
TOGETHER = {
    SCTP: {"SCTP lowers its threshold in one window": 5},
    TCP: {"acknowledgements in recovery until TCP sends": 3},
}


def test_the_kernel_as_it_is(tracing: VirtualLab, tmp_path: Path) -> None:
    assert facts(tracing, tmp_path) == PLAIN


@pytest.mark.timeout(1800)  # the first builds a whole kernel, and the other waits for it
@pytest.mark.parametrize("patches", [SCTP, TCP], ids=["sctp", "tcp"])
def test_patches_do_what_they_say(patches: tuple[str, ...], tmp_path: Path) -> None:
    lab = virtual_lab.ensure("+".join(["6.12", *patches]), lambda _what, _done: None)
    wanted = PLAIN.copy()
    for patch in patches:
        wanted |= BY_PATCH[patch]
    assert facts(lab, tmp_path) == wanted | TOGETHER[patches]
    assert "-patched-" in (lab.kernel / "config").read_text()
