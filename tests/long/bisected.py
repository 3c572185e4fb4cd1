"""A bisection over a made-up history of Debian's kernel source finds the commit that turns a claim.

    python -m pytest tests/long/bisected.py

Nine commits, one of them a merge; one does not build, and lies where a bisection looks first; one
makes SCTP repeat on the 4th report instead of the 3rd; the others change comments. It fetches the
source and builds six kernels, all but the first in the tree that is there.
"""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import pytest

from model import run_folder
from model.run_files.comparing.bisection import BISECTION
from model.run_files.json_file import read
from testbed.command.cli import command_status
from testbed.labs.booted import debian
from testbed.labs.virtual.patched_kernel import PATCHES

pytestmark = pytest.mark.timeout(7200)
VERSION = "6.12"
#: Where nothing of the lab's kernels comes from, and which need not be in the tree.
LEFT_OUT = ("Documentation/", "sound/soc/", "tools/testing/", "drivers/gpu/drm/amd/include/")
BROKEN, FILE = "c does not compile", "net/sctp/associola.c"


class Tree:
    """A git repository of the kernel's source, with the commits of these tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commits: dict[str, str] = {}

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "core.compression=0",
               "-c", "gc.auto=0")  # fmt: skip
        done = subprocess.run(
            ["git", "-C", str(self.folder), *who, *words],
            check=True, capture_output=True, text=True, timeout=1800,
        )  # fmt: skip
        return done.stdout.strip()

    def commit(self, subject: str) -> None:
        self.git("commit", "-q", "--no-verify", "-a", "-m", subject)
        self.commits[subject] = self.git("rev-parse", "HEAD")

    def comment(self, file: str, subject: str) -> None:
        """Commit a change that compiles to the same."""
        path = self.folder / file
        path.write_text(f"/* {subject} */\n{path.read_text()}")
        self.commit(subject)


def unpacked(folder: Path) -> Path:
    """Return Debian's source of the kernel, unpacked."""
    package = f"linux-source-{VERSION}"
    with debian.lists() as apt:
        deb = apt.download(package, folder)
    subprocess.run(["dpkg-deb", "-x", str(deb), str(folder / "deb")], check=True, timeout=600)
    (archive,) = (folder / "deb" / "usr" / "src").glob("*.tar.xz")
    with tarfile.open(archive) as packed:
        # Known from Python 3.11.4 on; without it all Debian packed is taken as it is.
        packed.extraction_filter = getattr(tarfile, "tar_filter", None)
        packed.extractall(folder, members=(one for one in packed if not _left_out(one.name)))
    return folder / package


def _left_out(name: str) -> bool:
    inner = name.removeprefix("./").partition("/")[2]
    return inner.startswith(LEFT_OUT) and not inner.endswith(("Kconfig", "Makefile"))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = Tree(unpacked(tmp_path_factory.mktemp("source")))
    made.git("init", "-q", "-b", "main")
    made.git("add", "-A", "--force")
    made.commit("base")
    made.comment("net/ipv4/tcp_input.c", "a says something of TCP")
    made.git("checkout", "-q", "-b", "side")
    made.comment("net/ipv4/tcp_output.c", "s says something else of TCP")
    made.git("checkout", "-q", "main")
    made.comment("net/sctp/transport.c", "b says something of SCTP")
    made.comment("net/core/dev.c", "e says something of devices")
    good = (made.folder / FILE).read_text()
    (made.folder / FILE).write_text(good.replace("sctp_association_free(", "(", 1))
    made.commit(BROKEN)
    (made.folder / FILE).write_text(good)
    made.commit("d compiles again")
    made.git("merge", "-q", "--no-ff", "-m", "Merge the side", "side")
    made.commits["merge"] = made.git("rev-parse", "HEAD")
    subprocess.run(
        ["patch", "-s", "-p1", "-i", str(PATCHES / "sctp-4th-duplicate.patch")],
        cwd=made.folder, check=True, timeout=60,
    )  # fmt: skip
    made.commit("f waits for one report more")
    made.comment("net/sctp/output.c", "g says something of packets")
    return made


def test_the_commit_that_turns_a_claim_is_found(
    tree: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = tree.git("status", "--porcelain", "--untracked-files=no")
    words = ["bisect", "anatomy", "--claim", "sctp-fourth", "--tree", str(tree.folder)]
    ends = [tree.commits["base"], "main"]
    assert command_status([*words, *ends, "-D", str(tmp_path / "r")]) == 0
    folder = tmp_path / "r" / "latest"
    found = read(BISECTION, folder / run_folder.BISECTION_JSON)
    culprit = tree.commits["f waits for one report more"]
    assert found.between == 9
    assert found.candidates == (culprit,)
    assert found.commits[0].files == ("include/net/sctp/structs.h", "net/sctp/outqueue.c")
    good, bad = (found.step(one) for one in (tree.commits["merge"], culprit))
    assert good is not None
    assert bad is not None
    assert (good.verdict, bad.verdict) == ("refuted", "holds")
    assert [good.compared[0].estimate, bad.compared[0].estimate] == [3, 4]
    skipped = found.step(tree.commits[BROKEN])
    assert skipped is not None
    assert skipped.outcome == "skipped"
    assert f"{FILE}:" in str(skipped.reason)
    assert len(found.steps) == 7
    assert tree.git("status", "--porcelain", "--untracked-files=no") == status
    out = capsys.readouterr().out
    assert culprit in out
    assert "f waits for one report more" in out
