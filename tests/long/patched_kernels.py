"""Each patch of the kernel alone does what it says and nothing else; all of them build on 7.3.

    python -m pytest tests/long/patched_kernels.py

Some minutes: it builds eight kernels, and two trees for them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.labs.virtual import virtual_lab
from testbed.study.vocabulary import KERNEL_PATCHES
from tests.lab.kernels.mechanism_facts import BY_PATCH, PLAIN, facts

pytestmark = pytest.mark.timeout(1800)


@pytest.mark.parametrize("patch", KERNEL_PATCHES)
def test_a_patch_changes_one_mechanism(patch: str, tmp_path: Path) -> None:
    lab = virtual_lab.ensure(f"6.12+{patch}", lambda _what, _done: None)
    assert facts(lab, tmp_path) == PLAIN | BY_PATCH[patch]


def test_all_patches_build_on_the_default_kernel() -> None:
    lab = virtual_lab.ensure("+".join(["7.3", *KERNEL_PATCHES]), lambda _what, _done: None)
    assert (lab.kernel / "linux").is_file()
