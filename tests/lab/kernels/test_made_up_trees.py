"""Trees that call themselves Linux, built for real: what is compiled again, what makefiles may do.

The walls, the archive, the kept copy and the errors are those of any tree; the source is small.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from model.errors import BuildError, RunError
from testbed.labs.booted import image
from testbed.labs.virtual import kernel_build, patched_kernel, tree_kernel
from testbed.labs.virtual.kernel import SCRIPTS, USUAL, Config
from testbed.labs.virtual.own_source import export
from testbed.machine import cache, contents, trees
from testbed.packetdrill import kernel as scripts_kernel

MAKEFILE = """\
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 5

allnoconfig:
\tgrep -v '^#' $(KCONFIG_ALLCONFIG) >.config
linux: a.o net/b.o
\tcat a.o net/b.o >$@
%.o: %.c
\t@echo '  CC      $@' && echo $@ >>compiled && gcc -c -o $@ $<
"""

#: Objects with what Linux's makefiles keep of them: a command, and which headers were found.
WITH_COMMANDS = """
cmd = $(dir $1).$(notdir $1).cmd
%.o: %.c FORCE
\t$(if $(filter-out FORCE,$?)$(if $(wildcard $(call cmd,$@)),,new),\
\t\techo $@ >>compiled && gcc -Ifirst -Ilast -MMD -MF $(call cmd,$@) -c -o $@ $<,@:)
-include .a.o.cmd net/.b.o.cmd
FORCE:
"""


class Tree:
    """A git tree, and the kernels that are built of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.built: list[Path] = []
        self.git("init", "--quiet", "--initial-branch=main", str(folder))
        self.write("Makefile", MAKEFILE)
        self.write("a.c", "int a;\n")
        self.write("net/b.c", "int b;\n")

    def git(self, *words: str) -> None:
        named = ("-c", "user.name=one", "-c", "user.email=one@example.org")
        place = self.folder if self.folder.exists() else self.folder.parent
        subprocess.run(["git", "-C", str(place), *named, *words], check=True, timeout=60)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text)

    def build(self, *, commit: bool = True, config: Config = USUAL) -> Path:
        if commit:
            self.git("add", "--all")
            self.git("commit", "--quiet", "--allow-empty", "--message", "x")
        name = tree_kernel.named(str(self.folder))
        root = image.ensure(lambda _what, _done: None)
        place = patched_kernel.ensure(
            name, root, contents.digest(root.parent), lambda _what, _done: None, config
        )
        self.built.append(place)
        return place

    def compiled(self) -> list[str]:
        """Return what was compiled, over all builds in the kept copy, sorted."""
        (copy,) = (one for one in cache.root().glob("kept-tree-6.12-*") if one not in BEFORE)
        return sorted((copy / "source" / "compiled").read_text().split())


BEFORE: set[Path] = set()


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    BEFORE.clear()
    BEFORE.update(cache.root().glob("kept-tree-*"))
    made = Tree(tmp_path / "linux")
    yield made
    for place in (*made.built, *(set(cache.root().glob("kept-tree-*")) - BEFORE)):
        trees.remove(place)


def test_of_the_next_commit_only_what_differs_is_compiled(tree: Tree) -> None:
    first = tree.build()
    assert tree.compiled() == ["a.o", "net/b.o"]
    assert sorted(os.listdir(first)) == ["build.log", "built", "config", "linux", "version"]  # noqa: PTH208
    tree.write("a.c", "int other;\n")
    second = tree.build()
    assert tree.compiled() == ["a.o", "a.o", "net/b.o"]
    tree.write("net/b.c", "int local;\n")  # not committed
    third = tree.build(commit=False)
    assert tree.compiled() == ["a.o", "a.o", "net/b.o", "net/b.o"]
    release = f'CONFIG_LOCALVERSION="-groundtruth-g{second.name.split("-g")[1][:12]}'
    assert f'{release}"' in (second / "config").read_text()
    assert f"{release}+local-" in (third / "config").read_text()
    assert "6.12.5 at commit " in (second / "version").read_text()


def test_scripts_are_kept_beside_the_kernel_that_runs_them(tree: Tree) -> None:
    (tree.folder / export.SCRIPTS).mkdir(parents=True)
    tree.write(f"{export.SCRIPTS}a.pkt", "as committed")
    first = tree.build(config=scripts_kernel.CONFIG)
    assert "CONFIG_TUN=y" in (first / "config").read_text().splitlines()
    tree.write(f"{export.SCRIPTS}b.pkt", "not committed")
    second = tree.build(commit=False, config=scripts_kernel.CONFIG)
    for place, scripts in ((first, {"a.pkt"}), (second, {"a.pkt", "b.pkt"})):
        archive = (place / SCRIPTS).read_bytes()
        assert set(scripts_kernel.unpacked(archive, "there")) == scripts


def test_files_that_become_folders_and_back(tree: Tree) -> None:
    tree.write("thing", "x")
    tree.build()
    (tree.folder / "thing").unlink()
    tree.write("thing/inside", "x")
    tree.build()
    shutil.rmtree(tree.folder / "thing")
    (tree.folder / "thing").symlink_to("a.c")
    tree.build()
    (copy,) = set(cache.root().glob("kept-tree-6.12-*")) - BEFORE
    assert (copy / "source" / "thing").readlink() == Path("a.c")


def test_a_new_header_that_is_found_before_another_is_seen(tree: Tree) -> None:
    tree.write("Makefile", MAKEFILE.partition("%.o")[0] + WITH_COMMANDS)
    tree.write("last/x.h", "#define NUMBER 1\n")
    tree.write("last/y.h", "#define NUMBER 1\n")
    for name, header in (("a.c", "x.h"), ("net/b.c", "y.h")):
        tree.write(name, f"#include <{header}>\nint {name[-3]} = NUMBER;\n")
    tree.build()
    tree.write("first/x.h", "#define NUMBER 2\n")
    tree.build()
    assert tree.compiled() == ["a.o", "a.o", "net/b.o"]


def test_errors_are_told_by_file_and_line_and_the_next_build_goes_on(tree: Tree) -> None:
    tree.build()
    tree.write("net/b.c", "int b;\nint wrong(\n")
    with pytest.raises(BuildError, match=r"got net/b\.c:2:\d+: error: expected"):
        tree.build()
    tree.write("net/b.c", "int right;\n")
    tree.build()
    assert tree.compiled() == ["a.o", "net/b.o", "net/b.o", "net/b.o"]
    tree.write("Makefile", MAKEFILE.replace("grep -v '^#'", "grep -v '^#\\|IP_SCTP=\\|VETH='"))
    tree.write("net/Kconfig", "config OTHER\n\nmenuconfig IP_SCTP\n\tbool\n")
    with pytest.raises(BuildError) as caught:
        tree.build()
    assert caught.value.got == (
        "not taken by Kconfig: CONFIG_IP_SCTP=y (net/Kconfig:3); "
        "not taken by Kconfig: CONFIG_VETH=y (in no Kconfig file)"
    )


def test_a_makefile_has_no_network_and_sees_nothing_of_the_machine(tree: Tree) -> None:
    look = "\tcat /proc/net/dev | tail -n +3 | cut -d: -f1 >net-devices; id -u >>net-devices\n"
    look += f"\t! ls {tree.folder} && ! touch /etc/x && ! touch /gt/x\n"
    tree.write("Makefile", MAKEFILE.replace("\tcat a.o", f"{look}\tcat a.o"))
    tree.build()
    (copy,) = set(cache.root().glob("kept-tree-6.12-*")) - BEFORE
    devices, uid = (copy / "source" / "net-devices").read_text().split()
    assert devices == "lo"
    assert uid != "0" or os.geteuid() != 0


def test_a_makefile_does_not_say_which_commit_it_is_of(tree: Tree) -> None:
    lie = "\techo 6.12.118-1 >/cell/version\n"
    tree.write("Makefile", MAKEFILE.replace("\tcat a.o", f"{lie}\tcat a.o"))
    assert "6.12.5 at commit " in (tree.build() / "version").read_text()


def test_a_makefile_cannot_make_the_host_read_or_write_elsewhere(
    tree: Tree, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "outside").mkdir()
    links = f"\trm -rf net && ln -s {tmp_path / 'outside'} net\n"
    tree.write("Makefile", MAKEFILE.replace("\tcat a.o net/b.o >$@\n", f"\tcat a.o >$@\n{links}"))
    tree.build()
    tree.write("net/b.c", "int other;\n")
    tree.build()  # the link leads nowhere, so nothing is laid; then in a new copy
    assert os.listdir(tmp_path / "outside") == []  # noqa: PTH208
    leave = f"\trm -f $@ && ln -s {tmp_path / 'secret'} $@\n"
    tree.write("Makefile", MAKEFILE.replace("\tcat a.o net/b.o >$@\n", leave))
    with pytest.raises(RunError):
        tree.build()


def test_what_a_makefile_leaves_in_the_way_costs_a_whole_build_and_no_error(tree: Tree) -> None:
    listed = MAKEFILE + "-include $(wildcard *.left)\n"
    # Files written in one tick of the host's clock are as old as each other to make.
    write = "\tsleep 0.1; echo '#error written by a makefile' >>net/b.c\n"
    tree.write("Makefile", MAKEFILE.replace("\tcat a.o", f"{write}\tcat a.o"))
    tree.build()
    tree.write("Makefile", listed)
    tree.write("a.c", "int other;\n")
    tree.build()
    assert tree.compiled() == ["a.o", "net/b.o"], "in a new copy"
    leave = "\techo '$$(error left)' >x.left\n"
    tree.write("Makefile", listed.replace("\tcat a.o", f"{leave}\tcat a.o"))
    tree.build()
    tree.write("Makefile", listed)
    tree.build()
    assert tree.compiled() == ["a.o", "net/b.o"]
    tree.write("a.c", "int wrong(\n")
    with pytest.raises(BuildError, match=r"got a\.c:\d+:\d+: error: expected"):
        tree.build()
    assert tree.compiled() == ["a.o", "a.o", "net/b.o"], "the source's own error is told at once"


def test_a_makefile_cannot_fill_the_disk(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_build, "BUILD_BYTES", 100_000_000)
    fill = "\tfor n in 1 2 3 4; do head -c 50000000 /dev/zero >big-$$n; done; sleep 300\n"
    tree.write("Makefile", MAKEFILE.replace("\tcat a.o", f"{fill}\tcat a.o"))
    with pytest.raises(BuildError) as caught:
        tree.build()
    assert "it takes too much of the disk: wanted at most 100 MB, got " in str(caught.value)
    assert caught.value.hint.startswith("its log: ")
    assert set(cache.root().glob("kept-tree-6.12-*")) == BEFORE, "nobody keeps that"
    large = "\ttruncate -s 2G sparse\n"
    tree.write("Makefile", MAKEFILE.replace("\tcat a.o", f"{large}\tcat a.o"))
    with pytest.raises(BuildError, match="a file is larger than a build's may be"):
        tree.build()
