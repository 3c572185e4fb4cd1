"""A patch of the user's own, from the file to what the kernel does and what artefacts say of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model import run_folder
from model.errors import BuildError
from testbed.command.runs import plans
from testbed.labs.virtual import patched_kernel, virtual_lab
from testbed.machine import cache
from tests.lab.kernels.mechanism_facts import BY_PATCH, PLAIN, facts

PATCH = "sctp-ssthresh-2-mtu"
CHOICES = plans.Choices(
    reps=1, lab="virtual", kernel="6.12", jobs=1, hosts="", pcap=False, telemetry=True
)


def nothing(_what: str, _done: float) -> None:
    pass


def named(file: Path) -> str:
    """Return the name of 6.12 with a patch, as a command line has it."""
    given = plans.Choices(**{**vars(CHOICES), "patches": (str(file),)})
    return plans.settled(given).kernel


@pytest.mark.timeout(1800)  # the first builds a whole kernel, and the others wait for it
def test_a_patch_from_a_file_does_what_it_says(tmp_path: Path) -> None:
    ours = (patched_kernel.PATCHES / f"{PATCH}.patch").read_bytes()
    documents = b"--- a/Documentation/networking/no.rst\n+++ b/Documentation/networking/no.rst\n"
    (tmp_path / "My Fix.patch").write_bytes(ours + documents + b"@@ -1 +1 @@\n-x\n+y\n")
    name = named(tmp_path / "My Fix.patch")
    assert name.startswith("6.12+my-fix-")
    lab = virtual_lab.ensure(name, nothing)
    assert facts(lab, tmp_path) == PLAIN | BY_PATCH[PATCH]
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


ADDED = """\
--- a/net/sctp/Kconfig
+++ b/net/sctp/Kconfig
@@ -1,0 +2,12 @@
+config FOLLOWS
+\tdef_bool y
+\tdepends on IP_SCTP
+
+config ASKED_FOR
+\tbool "is asked for"
+\tdefault y
+\tdepends on IP_SCTP
+
+config TCP_CONG_PRAGUE
+\tbool "known by its name"
+
"""


@pytest.mark.timeout(1800)
def test_what_a_patch_changes_of_kconfig_is_configured_as_in_any_source(tmp_path: Path) -> None:
    file = tmp_path / "fix.patch"
    file.write_text(ADDED)
    lab = virtual_lab.ensure(named(file), nothing)
    config = (lab.kernel / "config").read_text().splitlines()
    assert "CONFIG_FOLLOWS=y" in config
    assert "# CONFIG_ASKED_FOR is not set" in config  # nor is anything else that nobody asks for
    assert "CONFIG_TCP_CONG_PRAGUE=y" in config  # a study can ask for it by name
    plain = virtual_lab.ensure("6.12", nothing).kernel / "config"
    assert [line for line in config if line not in plain.read_text().splitlines()] == [
        next(line for line in config if line.startswith("CONFIG_LOCALVERSION=")),
        "CONFIG_FOLLOWS=y", "# CONFIG_ASKED_FOR is not set", "CONFIG_TCP_CONG_PRAGUE=y",
    ]  # fmt: skip


@pytest.mark.timeout(1800)
def test_a_patch_that_takes_an_option_of_the_labs_away_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "fix.patch"
    header = "--- a/net/sctp/Kconfig\n+++ b/net/sctp/Kconfig\n"
    file.write_text(f"{header}@@ -6 +6 @@\n-menuconfig IP_SCTP\n+menuconfig NO_SCTP\n")
    with pytest.raises(BuildError) as caught:
        virtual_lab.ensure(named(file), nothing)
    assert "not taken by Kconfig: CONFIG_IP_SCTP=y (in no Kconfig file); " in caught.value.got
    assert "not taken by Kconfig: CONFIG_INET_SCTP_DIAG=y (net/sctp/Kconfig:" in caught.value.got
