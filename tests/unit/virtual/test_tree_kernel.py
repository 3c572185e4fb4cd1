"""Kernels of users' trees: built in a kept copy, file by file, found again by their names."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from model.errors import BuildError, RunError, UnsupportedError
from testbed.labs.confinement.build_room import TooMuchError
from testbed.labs.virtual import kernel_build, patched_kernel, tree_kernel
from testbed.labs.virtual.own_source import export, given_patch
from testbed.machine import cache
from testbed.machine.process import StatusError
from testbed.packetdrill import kernel
from testbed.study import kernel_names
from tests.support.fake_lab import nothing
from tests.unit.own_source.conftest import commit_all, git_in, linux, own_cache
from tests.unit.own_source.test_export import PATCH

__all__ = ["linux", "own_cache"]
IMAGE = Path("/img")


class Builds:
    """The builds there were: what was laid anew in each, and what the copy had before."""

    def __init__(self) -> None:
        self.laid: list[list[str]] = []
        self.before: list[set[str]] = []
        self.ends: list[str] = []
        self.error: Exception | None = None
        self.errors: list[Exception] = []
        self.log = "net/a.c:1:1: error: wrong\n"

    def run(self, folder: Path, script: kernel_build.Script, *_: Any) -> None:
        assert script.borrowed is not None
        self.before.append({path.name for path in script.borrowed.iterdir()})
        moved = {path.name: path for path in script.moved}
        with tarfile.open(moved["changed.tar"]) as archive:
            self.laid.append(sorted(archive.getnames()))
        subprocess.run(["tar", "-x", "-C", script.borrowed, "-f", moved["changed.tar"]], check=True)
        self.ends.append(script.words[1])
        (script.borrowed / f"object-{len(self.laid)}").touch()
        (folder / kernel_build.LOG).write_text(self.log)
        if self.errors:
            raise self.errors.pop(0)
        if self.error:
            raise self.error
        for name in script.leaves:
            (folder / name).write_text(name)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> Builds:
    made = Builds()
    monkeypatch.setattr(kernel_build, "run", made.run)
    return made


def ensure(name: str) -> Path:
    return patched_kernel.ensure(name, IMAGE, "key", nothing)


def copies() -> list[str]:
    return [path.name for path in cache.root().iterdir() if path.name.startswith("kept-tree-")]


def test_a_kernel_is_built_once_and_found_by_its_name(linux: Path, builds: Builds) -> None:
    name = tree_kernel.named(str(linux))
    assert patched_kernel.built(name, "key") is None
    place = ensure(name)
    assert ensure(name) == patched_kernel.built(name, "key") == place
    assert place.name.startswith(f"kernel-{name}-")
    assert len(builds.laid) == 1
    assert "net/a.c" in builds.laid[0]
    commit = git_in(linux, "rev-parse", "HEAD")
    assert (place / "version").read_text() == f"6.12.5-rc3 at commit {commit}\n"
    (linux / ".git" / "HEAD").unlink()  # the tree is gone, the kernel is not
    assert ensure(name) == place


def test_of_the_next_commit_only_what_differs_is_laid(linux: Path, builds: Builds) -> None:
    first = tree_kernel.named(str(linux))
    ensure(first)
    (linux / "net" / "b.c").write_text("int b;\n")
    commit_all(linux)
    (linux / "net" / "a.c").write_text("int local;\n")
    ensure(tree_kernel.named(str(linux)))
    assert builds.laid[1] == ["net/a.c", "net/b.c"]
    assert "object-1" in builds.before[1], "what was built is still there"
    assert len(copies()) == 1
    ensure(tree_kernel.named(f"{linux}@HEAD"))
    assert builds.laid[2] == ["net/a.c"], "and what was there before comes back"


def test_scripts_are_laid_for_the_kernel_that_runs_them_alone(linux: Path, builds: Builds) -> None:
    script = linux / export.SCRIPTS / "a.pkt"
    script.parent.mkdir(parents=True)
    script.write_text("0 close(3) = 0\n")
    (script.parent.parent / "other.sh").write_text("exit\n")
    commit_all(linux)
    script.write_text("1 close(3) = 0\n")
    name = tree_kernel.named(str(linux))
    place = patched_kernel.ensure(name, IMAGE, "key", nothing, kernel.CONFIG)
    testing = [one for one in builds.laid[0] if one.startswith("tools/")]
    assert testing == [f"{export.SCRIPTS}a.pkt"]
    assert "scripts.tar" in {path.name for path in place.iterdir()}
    usual = ensure(name)
    assert not [one for one in builds.laid[1] if one.startswith("tools/")]
    assert "scripts.tar" not in {path.name for path in usual.iterdir()}
    assert len(copies()) == 2


def test_a_source_that_does_not_build_keeps_the_copy(linux: Path, builds: Builds) -> None:
    ensure(tree_kernel.named(str(linux)))
    (linux / "net" / "a.c").write_text("int wrong\n")
    commit_all(linux)
    builds.error = BuildError("cannot build")
    with pytest.raises(BuildError):
        ensure(tree_kernel.named(str(linux)))
    builds.error = None
    (linux / "net" / "a.c").write_text("int right;\n")
    commit_all(linux)
    ensure(tree_kernel.named(str(linux)))
    assert builds.laid[1:] == [["net/a.c"], ["net/a.c"]]
    assert {"object-1", "object-2"} <= builds.before[2]


def whole_again(linux: Path, builds: Builds) -> bool:
    """Let the next commit's build fail once; return whether a whole one was made then."""
    (linux / "net" / "a.c").write_text(f"int a{len(builds.laid)};\n")
    commit_all(linux)
    before = len(builds.laid)
    try:
        ensure(tree_kernel.named(str(linux)))
    except BuildError:
        assert len(builds.laid) == before + 1
        return False
    assert builds.laid[before] == ["net/a.c"]
    assert builds.laid[before + 1] == builds.laid[0]
    assert builds.before[before + 1] == set(), "in a new copy"
    return True


def test_what_fails_for_more_than_its_source_is_built_once_more(
    linux: Path, builds: Builds
) -> None:
    ensure(tree_kernel.named(str(linux)))
    builds.log = "tar: net/a.c: Cannot open: Not a directory\n"
    builds.errors = [StatusError("failed with status 2")]
    assert whole_again(linux, builds)
    builds.log = "include/generated/x.h:1:1: error: wrong\n"  # no file of the source's
    builds.errors = [BuildError("cannot build")]
    assert whole_again(linux, builds)
    builds.errors = [TooMuchError("too much of the disk")]
    builds.log = ""
    assert whole_again(linux, builds)
    builds.log = "net/a.c:1:1: error: wrong\n"
    builds.errors = [BuildError("cannot build")]
    assert not whole_again(linux, builds)
    (copy,) = cache.root().glob("kept-tree-*")
    (copy / "source" / "Makefile").write_text("# by a makefile\n")
    builds.errors = [BuildError("cannot build")]
    assert whole_again(linux, builds)


def test_a_whole_build_is_not_made_twice_and_too_much_is_not_kept(
    linux: Path, builds: Builds
) -> None:
    builds.log = "ld: no\n"
    builds.errors = [BuildError("cannot build")]
    with pytest.raises(BuildError):
        ensure(tree_kernel.named(str(linux)))
    assert len(builds.laid) == 1
    assert len(copies()) == 1
    builds.error = TooMuchError("too much of the disk")
    with pytest.raises(TooMuchError):
        ensure(tree_kernel.named(str(linux)))
    assert len(builds.laid) == 3
    assert copies() == []


def test_what_was_interrupted_leaves_no_copy(linux: Path, builds: Builds) -> None:
    ensure(tree_kernel.named(str(linux)))
    (linux / "net" / "a.c").write_text("int b;\n")
    commit_all(linux)
    builds.error = RunError("the disk is full")
    with pytest.raises(RunError):
        ensure(tree_kernel.named(str(linux)))
    builds.error = None
    assert copies() == []
    ensure(tree_kernel.named(str(linux)))
    assert len(builds.laid[2]) == len(builds.laid[0])
    assert builds.before[2] == set()
    assert not [path for path in cache.root().iterdir() if path.name.startswith(".kept-")
                and path.is_dir()]  # fmt: skip


def test_each_tree_has_a_copy_and_the_oldest_goes(
    linux: Path, builds: Builds, tmp_path: Path
) -> None:
    for number in range(tree_kernel.MOST_KEPT + 2):
        git_in(tmp_path, "clone", "--quiet", str(linux), f"clone-{number}")
        (tmp_path / f"clone-{number}" / "x").write_text(str(number))
        commit_all(tmp_path / f"clone-{number}")
        ensure(tree_kernel.named(str(tmp_path / f"clone-{number}")))
        for path in cache.root().glob("kept-tree-*"):
            os.utime(path, ns=(path.stat().st_mtime_ns - 10**10,) * 2)
    assert len(copies()) == tree_kernel.MOST_KEPT
    assert all(before == set() for before in builds.before)


def test_patches_are_part_of_it(linux: Path, builds: Builds, tmp_path: Path) -> None:
    (tmp_path / "fix.patch").write_bytes(PATCH)
    base = tree_kernel.named(str(linux))
    name = kernel_names.patched(base, given_patch.named([str(tmp_path / "fix.patch")]))
    ensure(base)
    ensure(name)
    assert builds.laid[1] == ["net/a.c"]
    commit = base.removeprefix("6.12")
    assert builds.ends == [commit, f"{commit}+{name.partition('+')[2]}"]


def test_a_name_may_be_longer_than_a_file_s(linux: Path, builds: Builds, tmp_path: Path) -> None:
    files = [tmp_path / f"{'a-long-name-of-a-patch'}-{number}.patch" for number in range(4)]
    for number, file in enumerate(files):
        file.write_bytes(PATCH.replace(b"net/a.c", f"net/a{number}.c".encode()))
        (linux / "net" / f"a{number}.c").write_bytes((linux / "net" / "a.c").read_bytes())
    commit_all(linux)
    own = given_patch.named([str(file) for file in files])
    base = kernel_names.patched(tree_kernel.named(str(linux)), own)
    project = patched_kernel.there_are()
    # Not applied here: their files are none of this tree.
    names = [kernel_names.patched(base, project[:most]) for most in (len(project), 6)]
    assert len(names[1]) > 255
    for name in names:
        assert patched_kernel.built(name, "key") is None
        with pytest.raises(BuildError, match="does not apply"):
            ensure(name)
    assert len({patched_kernel.key(name, "key") for name in names}) == 2


def test_a_release_has_64_characters_at_most() -> None:
    name = kernel_names.read("6.12-g2aed543258ce+local-1a2b3c4d")
    assert name is not None
    assert tree_kernel.release_end(name, "6.12.5-rc3", 0) == "-g2aed543258ce+local-1a2b3c4d"
    assert len("6.12.5-rc3-groundtruth-g2aed543258ce+local-1a2b3c4d") == 51
    assert tree_kernel.release_end(name, "6.12.5-rc3", 12).endswith("+local-1a2b3c4d")
    for extra in (13, 30):
        end = tree_kernel.release_end(name, "6.12.5-rc3", extra)
        assert end.startswith("-g2aed543258ce-patched-")
    long = name.patched([f"{'x' * 24}-0000000{n}" for n in range(3)])
    end = tree_kernel.release_end(long, "6.12.5-rc3", 0)
    assert len(f"6.12.5-rc3-groundtruth{end}") < 64
    assert end != tree_kernel.release_end(long.patched(["y-00000000"]), "6.12.5-rc3", 0)


def test_what_is_needed_is_told_when_kernel_and_tree_are_gone(linux: Path, tmp_path: Path) -> None:
    name = tree_kernel.named(str(linux))
    commit = git_in(linux, "rev-parse", "HEAD")
    linux.rename(tmp_path / "elsewhere")
    with pytest.raises(UnsupportedError) as caught:
        patched_kernel.check_offered([name])
    assert "its tree is not where it was" in str(caught.value)
    assert caught.value.wanted == f"commit {commit} in {linux}"
    assert f"groundtruth build --kernel FOLDER@{commit}" in caught.value.hint
    assert tree_kernel.named(f"{tmp_path / 'elsewhere'}@{commit}") == name
    patched_kernel.check_offered([name])
    with pytest.raises(UnsupportedError, match="no tree is known that has it"):
        patched_kernel.check_offered(["6.12-g0123456789ab"])
    with pytest.raises(UnsupportedError, match=r"the patch fix-1a2b3c4d is not kept here"):
        patched_kernel.check_offered([f"{name}+fix-1a2b3c4d"])


def test_the_key_follows_commit_patches_image_tick_and_inputs(
    linux: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = tree_kernel.named(str(linux))
    keys = [patched_kernel.key(name, "image"), patched_kernel.key(name, "other")]
    keys.append(patched_kernel.key(name, "image", kernel.CONFIG))
    keys.append(patched_kernel.key(name + "0", "image"))
    keys += [patched_kernel.key(f"{name}+{patch}", "image") for patch in
             ("fix-1a2b3c4d", "sctp-4th-duplicate")]  # fmt: skip
    for number, script in enumerate(tree_kernel.INPUTS):
        changed = tmp_path / script.name
        changed.write_text(script.read_text() + "\n")
        others = list(tree_kernel.INPUTS)
        others[number] = changed
        with monkeypatch.context() as patched:
            patched.setattr(tree_kernel, "INPUTS", tuple(others))
            keys.append(patched_kernel.key(name, "image"))
    assert len(set(keys)) == len(keys)
