"""Local changes as a patch: what counts, what does not, and that the tree is only read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from model.errors import StudyError
from testbed.labs.virtual import tree_kernel
from testbed.labs.virtual.own_source import kept, local_changes
from testbed.labs.virtual.own_source.given_tree import opened
from tests.unit.own_source.conftest import commit_all, git_in


def changes(folder: Path, revision: str = "") -> str:
    return local_changes.text(opened(f"{folder}{revision}")).decode()


def state(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Return times, modes and contents of everything in a folder, git's own files too."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files, "."):
            path = Path(place, name)
            about = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = (about.st_mtime_ns, about.st_ctime_ns, about.st_mode, content)
    return found


def test_a_tree_as_committed_has_none(linux: Path) -> None:
    (linux / "a.o").write_text("ignored\n")
    os.utime(linux / "net" / "a.c", ns=(1, 1))  # another time is no change
    assert changes(linux) == ""


def test_changed_new_staged_gone_and_of_another_mode(linux: Path) -> None:
    (linux / "net" / "a.c").write_text("int other;\n")
    (linux / "new.c").write_text("int new;\n")
    (linux / "staged.c").write_text("int staged;\n")
    git_in(linux, "add", "staged.c")
    (linux / "net" / "run.sh").chmod(0o644)
    (linux / "net" / "link").unlink()
    (linux / "a.o").write_text("ignored\n")
    text = changes(linux)
    assert "-int a0;\n" in text
    assert "+int other;\n" in text
    assert "+++ b/new.c\n@@ -0,0 +1 @@\n+int new;\n" in text
    assert "+int staged;\n" in text
    assert "old mode 100755\nnew mode 100644\n" in text
    assert "deleted file mode 120000\n" in text
    assert "ignored" not in text
    assert changes(linux, "@HEAD") == ""


def test_the_patch_gives_what_is_checked_out(linux: Path, tmp_path: Path) -> None:
    (linux / "net" / "a.c").write_text("int other;\n")
    (linux / "blob.bin").write_bytes(bytes(range(256)))
    patch = local_changes.text(opened(str(linux)))
    (tmp_path / "local.patch").write_bytes(patch)
    git_in(tmp_path, "clone", "--quiet", str(linux), "copy")
    git_in(tmp_path / "copy", "apply", str(tmp_path / "local.patch"))
    assert (tmp_path / "copy" / "net" / "a.c").read_text() == "int other;\n"
    assert (tmp_path / "copy" / "blob.bin").read_bytes() == bytes(range(256))


def test_the_same_changes_elsewhere_are_the_same_text(linux: Path, tmp_path: Path) -> None:
    git_in(tmp_path, "clone", "--quiet", str(linux), "copy")
    git_in(tmp_path / "copy", "config", "diff.mnemonicPrefix", "true")
    git_in(tmp_path / "copy", "config", "diff.algorithm", "patience")
    git_in(tmp_path / "copy", "config", "diff.context", "9")
    for folder in (linux, tmp_path / "copy"):
        (folder / "net" / "a.c").write_text("int other;\n")
    assert changes(linux) == changes(tmp_path / "copy") != ""
    assert tree_kernel.named(str(linux)) == tree_kernel.named(str(tmp_path / "copy"))


def test_a_tree_is_not_written(linux: Path) -> None:
    (linux / "net" / "a.c").write_text("int other;\n")
    (linux / "new.c").write_text("int new;\n")
    os.utime(linux / "Makefile", ns=(5, 5))  # git status would write the index anew for it
    before = state(linux)
    assert changes(linux)
    tree_kernel.named(str(linux))
    assert state(linux) == before


def test_lists_of_ignored_files(
    linux: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in ("of-tree", "of-user", "of-nobody"):
        (linux / name).write_text("x\n")
    (linux / ".git" / "info").mkdir(exist_ok=True)
    (linux / ".git" / "info" / "exclude").write_text("of-tree\n")
    (tmp_path / "ignored").write_text("of-user\n")
    (tmp_path / ".gitconfig").write_text("[core]\n\texcludesFile = ~/ignored\n")
    text = changes(linux)
    assert "of-nobody" in text
    assert "of-tree" not in text
    assert "of-user" not in text


def test_nothing_that_a_tree_configures_is_run(linux: Path, tmp_path: Path) -> None:
    (linux / ".gitattributes").write_text("*.c filter=x diff=x\n")
    commit_all(linux)
    script, mark = tmp_path / "script", tmp_path / "was-run"
    script.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "filter.x.clean", "filter.x.process",
                "filter.x.smudge", "diff.x.textconv", "diff.x.command"):  # fmt: skip
        git_in(linux, "config", key, str(script))
    hooks = linux / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "pre-commit", "fsmonitor-watchman"):
        (hooks / name).write_text(script.read_text())
        (hooks / name).chmod(0o755)
    (linux / "net" / "a.c").write_text("int other;\n")
    assert "+int other;" in changes(linux)
    assert not mark.exists()


def test_a_repository_inside_is_none_of_it(linux: Path) -> None:
    git_in(linux, "init", "--quiet", "inner")
    (linux / "inner" / "Makefile").write_text("x\n")
    commit_all(linux / "inner")
    assert changes(linux) == ""


def test_what_is_too_large_is_named(linux: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_changes, "MOST_BYTES", 1 << 20)
    (linux / "core.1234").write_bytes(b"x" * (3 << 20))
    with pytest.raises(StudyError, match="too large: wanted at most 1 MiB, got 3 MiB in 1 files, "):
        changes(linux)


def test_a_name_is_kept_with_its_patch(linux: Path) -> None:
    (linux / "net" / "a.c").write_text("int other;\n")
    name = tree_kernel.named(str(linux))
    base, part = name.split("+")
    assert base == opened(str(linux)).base
    assert part.startswith("local-")
    assert kept.patch(part) == changes(linux).encode()
    assert kept.origin(base) == kept.Origin(str(linux), opened(str(linux)).commit)
    assert tree_kernel.named(f"{linux}@HEAD") == base
