"""What kernels are called: names taken apart, put together, and kept safe."""

from __future__ import annotations

import pytest

from testbed.study import kernel_names
from testbed.study.kernel_names import KernelName, in_order, own_patch, patched, read
from testbed.study.vocabulary import KERNEL_VERSION

OURS, OTHER = "sctp-4th-duplicate", "tcp-no-limited-transmit"
ONE, TWO = "my-fix-1a2b3c4d", "another-0a0b0c0d"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("6.12", KernelName(version="6.12")),
        (f"7.3+{OURS}", KernelName(version="7.3", patches=(OURS,))),
        ("6.12-g2aed543258ce", KernelName(version="6.12", commit="2aed543258ce")),
        (
            f"6.12-g2aed543258ce+local-1a2b3c4d+{OURS}",
            KernelName(version="6.12", commit="2aed543258ce", patches=("local-1a2b3c4d", OURS)),
        ),
    ],
)
def test_names_are_read_and_written(text: str, wanted: KernelName) -> None:
    assert read(text) == wanted
    assert wanted.text == text
    assert KERNEL_VERSION.fullmatch(text), "a study file can have it"


@pytest.mark.parametrize(
    "text",
    ["", "6", "linux", "6.12-2aed543258ce", "6.12-g2aed", "6.12-g2AED543258CE", "/a/6.12", "6.12@v",
     "6.12-g2aed543258ce0"],
)  # fmt: skip
def test_what_is_no_name(text: str) -> None:
    assert read(text) is None


def test_whose_a_patch_is() -> None:
    assert kernel_names.is_own(ONE)
    for text in (
        OURS,
        "fix",
        "fix-1a2b3c4",
        "-1a2b3c4d",
        "a b-1a2b3c4d",
        "../x-1a2b3c4d",
        "x" * 99,
    ):
        assert not kernel_names.is_own(text), text
    assert kernel_names.of_own_source("6.12-g2aed543258ce")
    assert kernel_names.of_own_source(f"6.12+{ONE}")
    assert not kernel_names.of_own_source(f"6.12+{OURS}")
    assert not kernel_names.of_own_source("2.35-era2001")


def test_users_patches_keep_their_order_and_come_first() -> None:
    assert in_order([OTHER, TWO, OURS, ONE, TWO]) == (TWO, ONE, OURS, OTHER)
    assert patched(f"6.12+{OTHER}", [TWO, ONE]) == f"6.12+{TWO}+{ONE}+{OTHER}"
    assert patched("6.12-g2aed543258ce", []) == "6.12-g2aed543258ce"


@pytest.mark.parametrize(
    ("stem", "wanted"),
    [
        ("fix", "fix-0123abcd"),
        ("0001-sctp: Fix_RTO (v2)", "0001-sctp-fix-rto-v2-0123abcd"),
        ("a" * 99, "a" * 24 + "-0123abcd"),
        ("日本語", "patch-0123abcd"),
        ("--", "patch-0123abcd"),
    ],
)
def test_a_patch_is_called_by_its_file_and_its_digest(stem: str, wanted: str) -> None:
    name = own_patch(stem, "0123abcdef")
    assert name == wanted
    assert kernel_names.is_own(name)


def test_numbers_compare() -> None:
    assert kernel_names.numbers("6.9") < kernel_names.numbers("6.16") < kernel_names.numbers("7.3")
