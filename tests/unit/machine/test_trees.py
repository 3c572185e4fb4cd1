"""Trees are removed whatever is in them, and nothing beside them is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.machine import trees

PROJECT = Path(__file__).parents[3]


def test_a_folder_a_file_a_link_and_nothing(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(kept)
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    (tmp_path / "folder" / "deep" / "link").symlink_to(kept)
    os.mkfifo(tmp_path / "folder" / "pipe")
    for name in ("file", "link", "folder", "nonesuch", "nonesuch/below"):
        trees.remove(tmp_path / name)
    assert sorted(tmp_path.rglob("*")) == [kept, kept / "file"]


def test_however_deep(tmp_path: Path) -> None:
    top = tmp_path / "tree"
    top.mkdir()
    place = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=place)
        with open("f", "w", opener=lambda name, flags: os.open(name, flags, dir_fd=place)):  # noqa: B023
            below = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)
    trees.remove(top)
    assert list(tmp_path.iterdir()) == []


def test_names_that_it_uses_itself(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / "tree" / f".removed-{number}" / ".removed-0" / ".removed-1").mkdir(parents=True)
        (tmp_path / "tree" / f".removed-{number}" / ".removed-2").touch()
    trees.remove(tmp_path / "tree")
    assert list(tmp_path.iterdir()) == []


REMOVER = """
import os, sys
from pathlib import Path
from testbed.machine import trees
os.chdir(sys.argv[1])  # from here on by relative paths: the folders above are the first user's
if os.geteuid() == 0:
    os.chown(".", 65534, 65534)
    os.setgid(65534)
    os.setuid(65534)
tree = Path("tree")
(tree / "a" / "b").mkdir(parents=True)
(tree / "a" / "b" / "f").touch()
(tree / "c").mkdir()
(tree / "c" / "f").touch()
Path("other").mkdir(0o755)
(tree / "link").symlink_to("../other")
for name, mode in (("a/b", 0), ("a", 0o100), ("c", 0o500), (".", 0o500)):
    (tree / name).chmod(mode)
trees.remove(tree)
print(tree.exists(), oct(Path("other").stat().st_mode & 0o777))
"""


def test_a_tree_its_owner_may_not_enter_is_removed(tmp_path: Path) -> None:
    """Run as an ordinary user, because root may enter everything."""
    done = subprocess.run(
        [sys.executable, "-c", REMOVER, str(tmp_path)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    # What the link points to is not touched.
    assert (done.stdout, done.stderr) == ("False 0o755\n", "")


MOUNTED = """
import os, subprocess, sys
from pathlib import Path
from testbed.machine import trees
from model.errors import RunError
tree, other, unseen = Path(sys.argv[1], "tree"), Path(sys.argv[1], "other"), sys.argv[2]
subprocess.run(["mount", "--bind", other, tree / sys.argv[3]], check=True)
if unseen == "unseen":  # mounted a moment after the look
    trees.MOUNTS = Path("/dev/null")
try:
    trees.remove(tree)
except RunError as error:
    print(error)
"""


@pytest.mark.parametrize("seen", ["seen", "unseen"])
@pytest.mark.parametrize("mounted", ["", "a", "a/b", "a/b/c/d/e", "with space"])
def test_no_mount_is_crossed_not_even_one_of_the_same_disk(
    tmp_path: Path, seen: str, mounted: str
) -> None:
    (tmp_path / "tree" / mounted).mkdir(parents=True)
    other = tmp_path / "other"
    (other / "below").mkdir(parents=True)
    (other / "below" / "file").write_text("kept")
    other.chmod(0o555)
    own = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    done = subprocess.run(
        [*own, sys.executable, "-c", MOUNTED, str(tmp_path), seen, mounted],
        cwd=PROJECT, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.startswith(f"{tmp_path}/tree: not removed, because something is mounted")
    assert (other / "below" / "file").read_text() == "kept"
    assert other.stat().st_mode & 0o777 == 0o555
    if seen == "seen":
        assert (tmp_path / "tree" / mounted).is_dir()
        assert f"{tmp_path}/tree/{mounted}".rstrip("/") in done.stdout
    other.chmod(0o755)
