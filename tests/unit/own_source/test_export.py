"""Commits and patches as files: just what differs, past filters, and hunks that do not apply."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from model.errors import BuildError, StudyError
from testbed.labs.virtual.own_source import export, local_changes
from testbed.labs.virtual.own_source.export import Patch, read_listing, write_changes
from testbed.labs.virtual.own_source.git import Repository
from testbed.labs.virtual.own_source.given_tree import opened
from tests.unit.own_source.conftest import commit_all, git_in
from tests.unit.own_source.test_local_changes import state

PATCH = b"""--- a/net/a.c
+++ b/net/a.c
@@ -3,3 +3,3 @@
 int a2;
-int a3;
+int three;
 int a4;
"""


def ours_of(tree: Path, tmp_path: Path, revision: str = "") -> tuple[Repository, str]:
    found = opened(f"{tree}@{revision or 'HEAD'}")
    number = len(list(tmp_path.glob("ours-*")))
    return found.borrowed(tmp_path / f"ours-{number}"), found.commit


def listed(tree: Path, tmp_path: Path, *patches: Patch, revision: str = "") -> export.Listing:
    ours, commit = ours_of(tree, tmp_path, revision)
    return export.patched(ours, commit, patches)


def members(
    ours: Repository, before: export.Listing, now: export.Listing, place: Path
) -> list[str]:
    place.mkdir()
    write_changes(ours, before, now, place)
    with tarfile.open(place / "changed.tar") as archive:
        names = archive.getnames()
    (place / "files").mkdir()
    subprocess.run(["tar", "-xf", place / "changed.tar", "-C", place / "files"], check=True)
    return names


def test_a_whole_commit(linux: Path, tmp_path: Path) -> None:
    (linux / ".gitattributes").write_text("*.c export-ignore eol=crlf\n")
    (linux / "net" / "odd\tname \u00e4").write_text("$Format:%H$\n")
    commit_all(linux)
    ours, commit = ours_of(linux, tmp_path)
    now = export.patched(ours, commit, [])
    names = members(ours, {}, now, tmp_path / "out")
    assert sorted(names) == sorted(git_in(linux, "ls-files", "-z").strip("\0").split("\0"))
    for name in names:
        one, other = linux / name, tmp_path / "out" / "files" / name
        assert one.is_symlink() == other.is_symlink(), name
        assert one.read_bytes() == other.read_bytes(), name
        assert os.access(one, os.X_OK) == os.access(other, os.X_OK), name
    assert (tmp_path / "out" / "removed").read_bytes() == b""


def test_just_what_differs(linux: Path, tmp_path: Path) -> None:
    first = listed(linux, tmp_path)
    (linux / "net" / "a.c").write_text("int b;\n")
    (linux / "new.c").write_text("x\n")
    (linux / "net" / "link").unlink()
    commit_all(linux)
    ours, commit = ours_of(linux, tmp_path)
    now = export.patched(ours, commit, [])
    assert members(ours, first, now, tmp_path / "out") == ["net/a.c", "new.c"]
    assert (tmp_path / "out" / "removed").read_bytes() == b"net/link\0"
    assert (tmp_path / "out" / "files" / "net" / "a.c").read_text() == "int b;\n"
    assert members(ours, now, now, tmp_path / "none") == []


def test_what_kernels_are_built_without(linux: Path, tmp_path: Path) -> None:
    for name in ("drivers/gpu/a.c", "drivers/gpu/Kconfig", "drivers/net/ethernet/i/i.h",
                 "drivers/net/v.c", "Documentation/x/y", "Documentation/z", "tools/testing/t",
                 "sound/s/s.h"):  # fmt: skip
        (linux / name).parent.mkdir(parents=True, exist_ok=True)
        (linux / name).write_text(f"{name}\n")
    commit_all(linux)
    names = {path.decode() for path in listed(linux, tmp_path)}
    assert {"drivers/gpu/Kconfig", "Documentation/z", "drivers/net/v.c"} < names
    assert not names & {"drivers/gpu/a.c", "Documentation/x/y", "tools/testing/t", "sound/s/s.h"}


#: Paths of Linux, and whether kernels are built without them.
LEFT_OUT = {
    "Documentation/index.rst": False, "Documentation/networking/sctp.rst": True,
    "arch/Kconfig": False, "arch/um/kernel/time.c": False, "arch/x86/um/delay.c": False,
    "arch/arm/Kconfig": False, "arch/arm/boot/dts/a.dtsi": True,
    "arch/arm64/kernel/head.S": True, "arch/xtensa/kernel/time.c": True,
    "drivers/base/core.c": False, "drivers/tty/tty_io.c": False, "drivers/net/veth.c": False,
    "drivers/net/ethernet/intel/e1000/e1000.h": True, "drivers/net/ethernet/Kconfig": False,
    "drivers/net/wireless/Makefile": False, "drivers/net/wireless/mac80211_hwsim.c": False,
    "drivers/net/wireless/virtual/mac80211_hwsim.c": False,
    "drivers/net/wireless/ath/ath9k/main.c": True, "drivers/net/wireless/ath/Makefile": False,
    "drivers/gpu/drm/drm_drv.c": True, "drivers/gpu/Makefile": False,
    "include/sound/core.h": False, "sound/core/init.c": True, "sound/Kconfig": False,
    "tools/perf/builtin.c": True, "tools/objtool/check.c": False,
    "tools/testing/radix-tree/main.c": True, "tools/testing/selftests/mm/a.c": True,
    "tools/testing/selftests/net/tap.c": True,
}  # fmt: skip
SCRIPT = export.SCRIPTS + "tcp_ecn.pkt"
#: Of each folder of drivers that is left out its code is, and nothing that Kconfig or make reads.
for folder in re.findall(r"^(\w+(?:/\w+)*)/\*\.\[ch\]$", export.LEFT_OUT.read_text(), re.MULTILINE):
    LEFT_OUT |= {f"{folder}/a.h": True, f"{folder}/a/b.c": True}
    LEFT_OUT |= {f"{folder}/{name}": False for name in ("Kconfig", "Makefile", "a/Kconfig.b")}


def test_what_is_left_out_of_an_archive_is_left_out_of_a_tree(tmp_path: Path) -> None:
    """The script that unpacks Debian's sources and this have one list; tar reads it its own way."""
    script = export.LEFT_OUT.with_name("build-kernel.sh").read_text()
    (words,) = re.findall(r"tar -xJ (.*) --exclude-from=left-out$", script, re.MULTILINE)
    top = "linux-source-6.12"
    (sed,) = re.findall(r"^sed (.*) left-out.patterns >left-out$", script, re.MULTILINE)
    assert sed == '"s|^|linux-source-$version/|"'
    (tmp_path / "left-out").write_text(
        "".join(f"{top}/{line}\n" for line in export.LEFT_OUT.read_text().splitlines())
    )
    with tarfile.open(tmp_path / "source.tar", "w") as packed:
        for name in (*LEFT_OUT, SCRIPT):
            packed.addfile(tarfile.TarInfo(f"{top}/{name}"))
    said = subprocess.run(
        ["tar", "-tf", "source.tar", *words.split(), "--exclude-from=left-out"],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    kept = {line.removeprefix(f"{top}/") for line in said.splitlines()}
    assert kept == {*(name for name, gone in LEFT_OUT.items() if not gone), SCRIPT}
    assert {name: export.left_out(name) for name in LEFT_OUT} == LEFT_OUT
    assert export.left_out(SCRIPT)
    assert not export.left_out(SCRIPT, scripts=True)


def test_patches_are_in_it_and_the_tree_is_not_written(linux: Path, tmp_path: Path) -> None:
    old = git_in(linux, "rev-parse", "HEAD")
    text = (linux / "net" / "a.c").read_text()
    (linux / "net" / "a.c").write_text(text.replace("a3", "three"))
    commit_all(linux)  # so that the patch makes what is in the tree's objects already
    before = state(linux)
    ours, commit = ours_of(linux, tmp_path, old)
    now = export.patched(ours, commit, [Patch("fix", PATCH)])
    plain = export.patched(ours_of(linux, tmp_path, old)[0], commit, [])
    assert members(ours, plain, now, tmp_path / "out") == ["net/a.c"]
    assert "int three;" in (tmp_path / "out" / "files" / "net" / "a.c").read_text()
    assert state(linux) == before


def test_local_changes_are_what_is_checked_out(linux: Path, tmp_path: Path) -> None:
    (linux / "net" / "a.c").write_text("int other;\n")
    (linux / "new.bin").write_bytes(bytes(range(256)))
    (linux / "net" / "run.sh").unlink()
    patch = Patch("local", local_changes.text(opened(str(linux))))
    changed = listed(linux, tmp_path, patch)
    commit_all(linux)
    assert changed == listed(linux, tmp_path)


@pytest.mark.parametrize(
    ("patch", "got"),
    [
        (PATCH.replace(b"a2", b"xx"), "net/a.c:3, hunk 1"),
        (PATCH + b"@@ -15,2 +15,2 @@\n-int a14;\n+int x;\n int no;\n", "net/a.c:15, hunk 2"),
        (PATCH.replace(b"a.c", b"nowhere.c"), "net/nowhere.c: does not exist in index"),
        (PATCH[:-8], "corrupt patch at line"),
        (PATCH.replace(b"a/net/a.c", b"a/../../x").replace(b"b/net/a.c", b"b/../../x"), "../../x"),
    ],
)
def test_what_does_not_apply_is_told_by_file_hunk_and_line(
    linux: Path, tmp_path: Path, patch: bytes, got: str
) -> None:
    with pytest.raises(BuildError) as caught:
        listed(linux, tmp_path, Patch("fix-1a2b3c4d", patch))
    assert caught.value.where == "fix-1a2b3c4d"
    assert got in caught.value.got


def test_names_that_git_quotes_are_found(linux: Path, tmp_path: Path) -> None:
    odd = 'net/\u00fc "x"\ty.c'
    for name in (odd, "net/\u00e4.sh"):
        (linux / name).write_text("int a;\nint b;\n")
    commit_all(linux)
    (linux / odd).write_text("int a;\nint other;\n")
    (linux / "net/\u00e4.sh").chmod(0o755)
    text = local_changes.text(opened(str(linux)))
    assert b'+++ "b/net/\\303\\274 \\"x\\"\\ty.c"' in text
    before, now = (listed(linux, tmp_path, *some) for some in ((), (Patch("local", text),)))
    differ = sorted(path.decode() for path in now if now[path] != before[path])
    assert differ == sorted([odd, "net/\u00e4.sh"])


def test_what_cannot_be_in_a_tree() -> None:
    blob = b"0" * 40
    with pytest.raises(StudyError, match=r"a submodule is in the tree: .*got inner"):
        read_listing(b"160000 " + blob + b" 0\tinner\0")
    for name in (b"../x", b"a/../b", b"/x", b"a//b", b".git/config"):
        with pytest.raises(StudyError, match="not a file's name"):
            read_listing(b"100644 " + blob + b" 0\t" + name + b"\0")


def test_objects_that_are_missing_are_told(linux: Path, tmp_path: Path) -> None:
    ours, commit = ours_of(linux, tmp_path)
    now = export.patched(ours, commit, [])
    for pack in (linux / ".git" / "objects").glob("??/*"):
        pack.unlink()
    (tmp_path / "out").mkdir()
    with pytest.raises(StudyError, match=r"cannot read the tree's objects: .*clone without it"):
        write_changes(ours, {}, now, tmp_path / "out")
