"""A patch of the user's own, from the file to what the kernel does and what artefacts say of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from model import run_folder
from model.errors import BuildError
from testbed.command.runs import plans
from testbed.labs.virtual import patched_kernel, virtual_lab
from testbed.machine import cache
from tests.lab.kernels.mechanism_facts import BY_PATCH, TCP, facts, wanted

PATCH = "sctp-ssthresh-2-mtu"
CHOICES = plans.Choices(
    reps=1, lab="virtual", kernel="6.12", jobs=1, hosts="", pcap=False, telemetry=True
)


def nothing(_what: str, _done: float) -> None:
    pass


def named(file: Path, *ours: str) -> str:
    """Return the name of 6.12 with patches of ours and a file's, as a command line has it."""
    kernel = "+".join(["6.12", *ours])
    given = plans.Choices(**{**vars(CHOICES), "kernel": kernel, "patches": (str(file),)})
    return plans.settled(given).kernel


@pytest.mark.timeout(1800)  # where no kernel is built yet
def test_a_patch_from_a_file_does_what_it_says_beside_ours(tmp_path: Path) -> None:
    ours = (patched_kernel.PATCHES / f"{PATCH}.patch").read_bytes()
    documents = b"--- a/Documentation/networking/no.rst\n+++ b/Documentation/networking/no.rst\n"
    (tmp_path / "My Fix.patch").write_bytes(ours + documents + b"@@ -1 +1 @@\n-x\n+y\n")
    name = named(tmp_path / "My Fix.patch", *TCP)
    assert re.fullmatch(rf"6.12\+my-fix-[0-9a-f]{{8}}\+{re.escape('+'.join(TCP))}", name)
    lab = virtual_lab.ensure(name, nothing)
    assert facts(lab, tmp_path) == wanted(TCP) | BY_PATCH[PATCH]
    env = json.loads(next(tmp_path.rglob(run_folder.ENV)).read_text())
    assert "-groundtruth-patched-" in env["kernel_release"]


@pytest.mark.timeout(1800)
def test_a_patch_that_does_not_apply_or_compile_is_told_by_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "fix.patch"
    header = "--- a/net/sctp/tsnmap.c\n+++ b/net/sctp/tsnmap.c\n"
    file.write_text(f"{header}@@ -1,2 +1,2 @@\n-no such line\n+another\n no such line\n")
    with pytest.raises(BuildError) as caught:
        virtual_lab.ensure(named(file), nothing)
    assert caught.value.got.startswith("net/sctp/tsnmap.c:1: hunk 1 does not apply")
    file.write_text(f"{header}@@ -1,0 +2 @@\n+#error x\n")
    with pytest.raises(BuildError) as caught:
        virtual_lab.ensure(named(file), nothing)
    assert caught.value.got.startswith("net/sctp/tsnmap.c:2:2: error: #error x")
    log = Path(caught.value.hint.removeprefix("its log: "))
    assert log.parent == cache.root() / "failed-builds"
    assert "#error x" in log.read_text()
