"""Patched kernels do what their patches say, and all else as the kernel that is not patched."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.labs.virtual import virtual_lab
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.lab.kernels.mechanism_facts import PLAIN, SCTP, facts, wanted


def test_the_kernel_as_it_is(tracing: VirtualLab, tmp_path: Path) -> None:
    assert facts(tracing, tmp_path) == PLAIN


@pytest.mark.timeout(1800)  # where no kernel is built yet
def test_patches_do_what_they_say(tmp_path: Path) -> None:
    lab = virtual_lab.ensure("+".join(["6.12", *SCTP]), lambda _what, _done: None)
    assert facts(lab, tmp_path) == wanted(SCTP)
    assert "-patched-" in (lab.kernel / "config").read_text()
