"""Kernels with patches: what they are called, what decides them, in what they are built."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from model.errors import StudyError
from testbed.labs.confinement import host_tools
from testbed.labs.confinement.host_tools import Mirrors
from testbed.labs.virtual import kernel, kernel_build, patched_kernel
from testbed.labs.virtual.own_source import given_patch
from testbed.labs.virtual.own_source.export import Patch
from testbed.machine import cache, process
from testbed.packetdrill import kernel as scripts_kernel
from testbed.study import kernel_names
from testbed.study.vocabulary import KERNEL_PATCHES
from tests.support.fake_lab import nothing

IMAGE = Path("/img")
MIRRORS = Mirrors(main="http://mirror/debian", security="http://mirror/security", apt_options=())
ONE, OTHER = "sctp-4th-duplicate", "sctp-ssthresh-2-mtu"
NEEDED = "netem-seed"


def test_a_name_is_a_version_and_patches_in_order() -> None:
    assert patched_kernel.parts("7.3") == ("7.3", ())
    assert patched_kernel.checked("7.3") == "7.3"
    assert patched_kernel.checked(f"7.3+{OTHER}+{ONE}+{OTHER}") == f"7.3+{ONE}+{OTHER}"
    assert patched_kernel.versions([f"7.3+{ONE}", "6.12", "7.3"]) == ["7.3", "6.12"]


@pytest.mark.parametrize("name", ["7.3+", "7.3+four", f"{ONE}", f"7.3.4+{ONE}", "7.3+../x"])
def test_what_is_no_version_or_no_patch_is_refused(name: str) -> None:
    with pytest.raises(StudyError, match=r"^KERNEL: no such (kernel|patch): wanted "):
        patched_kernel.checked(name)


def test_every_patch_says_what_it_restores_and_touches_few_lines() -> None:
    assert ONE in patched_kernel.there_are()
    for name in patched_kernel.there_are():
        text = (patched_kernel.PATCHES / f"{name}.patch").read_text()
        told, _, changes = text.partition("--- a/")
        assert re.search(r"RFC \d+|simulators' TCP", told), name
        changed = [line for line in changes.splitlines() if re.match(r"[-+](?!\+\+|--)", line)]
        assert 1 <= len(changed) <= 10, name


def test_a_version_brings_along_what_the_lab_needs_there() -> None:
    assert patched_kernel.checked("6.1") == f"6.1+{NEEDED}"
    assert patched_kernel.checked(f"6.1+{OTHER}+{NEEDED}") == f"6.1+{NEEDED}+{OTHER}"
    patched_kernel.check_complete(f"6.1+{NEEDED}")
    patched_kernel.check_complete("6.12")
    with pytest.raises(StudyError) as caught:
        patched_kernel.check_complete(f"6.1+{ONE}")
    assert str(caught.value) == (
        f"KERNEL: this lab has no kernel 6.1 as it is: wanted 6.1+{NEEDED}+{ONE}, got 6.1+{ONE} "
        "(--kernel 6.1 brings it along; docs/kernels.md says what it is)"
    )
    with pytest.raises(StudyError, match="no such patch"):
        patched_kernel.checked(f"6.12+{NEEDED}")
    for version, patches in patched_kernel.NEEDED.items():
        assert version in kernel.OF_DEBIAN_12
        assert not set(patches) & set(patched_kernel.there_are())
        for patch in patches:
            text = (patched_kernel.NEEDED_PATCHES / f"{patch}.patch").read_text()
            assert re.match(r"[^\n]+, as of Linux 6\.6 [^\n]+\n--- a/", text)


def test_a_fine_clock_is_of_any_version_and_two_lines(ran: list[kernel_build.Script]) -> None:
    name = f"6.12+{kernel_names.FINE_CLOCK}"
    assert patched_kernel.checked(name) == name
    patched_kernel.check_complete(name)
    assert patched_kernel.checked(f"6.1+aqm+{kernel_names.FINE_CLOCK}").count("+") == 3
    text = (patched_kernel.NEEDED_PATCHES / f"{kernel_names.FINE_CLOCK}.patch").read_text()
    assert re.findall(r"(?m)^\+#define (\w+) +(\d+)$", text) == [
        ("TIMER_MULTIPLIER", "1"), ("TIMER_MIN_DELTA", "1"),
    ]  # fmt: skip
    patched_kernel.ensure(name, IMAGE, "key", nothing)
    assert list(ran[-1].words[4:]) == [f"{kernel_names.FINE_CLOCK}.patch"]
    assert patched_kernel.key(name, "key") != patched_kernel.key("6.12", "key")


def test_an_older_kernel_comes_from_the_debian_that_has_it(ran: list[kernel_build.Script]) -> None:
    patched_kernel.ensure("6.1", IMAGE, "key", nothing)
    tree, patched = ran
    assert [line.split()[2] for line in tree.sources] == ["bookworm", "bookworm-security"]
    assert tree.words[1] == "6.1"
    assert list(patched.words[4:]) == [f"{NEEDED}.patch"]
    assert patched.words[1].startswith("-patched-")
    patched_kernel.ensure(f"6.12+{ONE}", IMAGE, "key", nothing)
    assert [script.sources for script in ran[2:]] == [[], ()]


def test_studies_can_name_just_the_patches_there_are() -> None:
    assert patched_kernel.there_are() == sorted(KERNEL_PATCHES)


def test_each_patch_makes_another_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["7.3+" + ONE, "6.12+" + ONE, "7.3+" + OTHER, f"7.3+{ONE}+{OTHER}"]
    keys = [patched_kernel.key(name, "image") for name in names]
    keys += [patched_kernel.key(names[0], "another")]
    keys.append(patched_kernel.key(names[0], "image", kernel.Config(tick_hz=1000)))
    copies = tmp_path / "patches"
    copies.mkdir()
    for path in patched_kernel.PATCHES.iterdir():
        (copies / path.name).write_bytes(path.read_bytes() + b"\n")
    monkeypatch.setattr(patched_kernel, "PATCHES", copies)
    keys.append(patched_kernel.key(names[0], "image"))
    changed = tmp_path / "configure-and-make.sh"
    changed.write_text(kernel.SHARED[-1].read_text() + "\n")
    monkeypatch.setattr(kernel, "INPUTS", (*kernel.SHARED[:-1], changed, kernel.INPUTS[-1]))
    keys.append(patched_kernel.key(names[0], "image"))
    assert len({*keys, kernel.key("7.3", "image")}) == len(keys) + 1


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[kernel_build.Script]:
    """Return the scripts that were to be run; each leaves what it says."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    scripts: list[kernel_build.Script] = []

    def run(folder: Path, script: kernel_build.Script, *_: Any) -> None:
        scripts.append(script)
        for name in script.leaves:
            (folder / name).write_text(name)
        (folder / kernel_build.LOG).write_text("")

    monkeypatch.setattr(kernel_build, "run", run)
    monkeypatch.setattr(host_tools, "mirrors", lambda: MIRRORS)
    return scripts


def test_patched_kernels_are_built_in_one_tree_and_once(ran: list[kernel_build.Script]) -> None:
    first = patched_kernel.ensure(f"7.3+{ONE}", IMAGE, "key", nothing)
    second = patched_kernel.ensure(f"7.3+{OTHER}+{ONE}", IMAGE, "key", nothing)
    again = patched_kernel.ensure(f"7.3+{ONE}", IMAGE, "key", nothing)
    assert first == again == patched_kernel.built(f"7.3+{ONE}", "key") != second
    assert [Path(script.words[0]).name for script in ran] == [
        "build-kernel.sh", "build-patched.sh", "build-patched.sh"
    ]  # fmt: skip
    tree, one, both = ran
    assert "tree.tar.gz" in tree.leaves
    assert one.tree == both.tree
    assert one.tree is not None
    assert one.tree.parent == cache.root()
    assert list(both.words[3:]) == ["250", f"{ONE}.patch", f"{OTHER}.patch"]
    for script in (tree, one, both):  # what is on is asked in each: a patch may change Kconfig
        assert set(kernel.SHARED) < set(script.inputs)
    ends = {one.words[1], both.words[1]}
    assert len(ends) == 2
    # A release has 64 characters: 6.12.117-groundtruth and what is after it.
    assert all(re.fullmatch(r"-patched-[0-9a-f]{8}", end) for end in ends)


def test_a_patchs_scripts_are_for_the_kernel_that_runs_them_alone(
    ran: list[kernel_build.Script], tmp_path: Path
) -> None:
    hunk = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-a\n+b\n"
    folder = "tools/testing/selftests/net"
    files = ("net/a.c", f"{folder}/packetdrill/a.pkt", f"{folder}/b.sh")
    (tmp_path / "fix.patch").write_text("".join(hunk.format(file) for file in files))
    name = kernel_names.patched("7.3", given_patch.named([str(tmp_path / "fix.patch")]))
    place = patched_kernel.ensure(name, IMAGE, "key", nothing, scripts_kernel.CONFIG)
    assert patched_kernel.ensure(name, IMAGE, "key", nothing) != place
    with_scripts, usual = (script for script in ran if script.tree)
    assert with_scripts.tree != usual.tree
    text = "".join(map(hunk.format, files[:2])).encode()
    (patch,) = (one for one in with_scripts.texts if one.endswith(".patch"))
    assert with_scripts.texts[patch] == text
    assert usual.texts == {patch: hunk.format(files[0]).encode()}
    assert b"CONFIG_TUN=y" in with_scripts.texts["kernel.config"]
    assert (place / "scripts.tar").is_file()


def test_what_a_patch_brings_is_switched_on_and_nothing_else() -> None:
    text = (
        b"--- a/net/ipv4/Kconfig\n+++ b/net/ipv4/Kconfig\n@@ -1,2 +1,4 @@\n config TCP_CONG_BBR2\n"
        b'+config TCP_CONG_PRAGUE\n+\ttristate "Prague"\n+config TCP_CONG_OTHER\n # end\n'
    )
    assert patched_kernel.added_options([Patch("prague-01234567", text)]) == (
        b"CONFIG_TCP_CONG_PRAGUE=y\n"
    )
    for name in patched_kernel.there_are():
        ours = (patched_kernel.PATCHES / f"{name}.patch").read_bytes()
        assert patched_kernel.added_options([Patch(name, ours)]) == b""


def test_a_kernel_without_patches_is_debians(
    ran: list[kernel_build.Script], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = patched_kernel.ensure("7.3", IMAGE, "key", nothing)
    assert place == kernel.built("7.3", "key") == patched_kernel.built("7.3", "key")
    assert [Path(script.words[0]).name for script in ran] == ["build-kernel.sh"]
    patched_kernel.ensure(f"7.3+{ONE}", IMAGE, "key", nothing)  # in the tree of the first
    assert [Path(script.words[0]).name for script in ran[1:]] == ["build-patched.sh"]


def test_a_tree_that_was_removed_is_built_again_only_for_a_patch(
    ran: list[kernel_build.Script],
) -> None:
    place = patched_kernel.ensure("7.3", IMAGE, "key", nothing)
    shutil.rmtree(next(cache.root().glob("kernel-tree-*")))
    assert patched_kernel.ensure("7.3", IMAGE, "key", nothing) == place
    assert len(ran) == 1
    patched_kernel.ensure(f"7.3+{ONE}", IMAGE, "key", nothing)
    assert [Path(script.words[0]).name for script in ran[1:]] == [
        "build-kernel.sh", "build-patched.sh"
    ]  # fmt: skip


def test_more_options_are_built_in_the_usual_tree(ran: list[kernel_build.Script]) -> None:
    more = kernel.Config(options=b"CONFIG_TUN=y\n")
    kernel.ensure("7.3", IMAGE, "key", nothing, more)
    assert [Path(script.words[0]).name for script in ran] == ["build-kernel.sh", "build-patched.sh"]
    assert "kernel.config" not in ran[0].texts
    assert ran[1].texts["kernel.config"].endswith(b"\nCONFIG_TUN=y\n")
    assert kernel.built("7.3", "key", more) != kernel.built("7.3", "key")


def test_another_tick_or_scripts_are_built_from_the_source(
    ran: list[kernel_build.Script],
) -> None:
    for other in (
        kernel.Config(tick_hz=1000, options=b"CONFIG_TUN=y\n"),
        kernel.Config(options=b"CONFIG_TUN=y\n", scripts=True),
    ):
        ran.clear()
        kernel.ensure("7.3", IMAGE, "key", nothing, other)
        assert [Path(script.words[0]).name for script in ran] == ["build-kernel.sh"]


def test_the_scripts_are_what_bash_can_read(tmp_path: Path) -> None:
    for script in (kernel.INPUTS[-1], kernel.IN_TREE):
        process.run_logged(
            ["bash", "-n", str(script)], log=tmp_path / "log", what="x", timeout_s=20
        )
