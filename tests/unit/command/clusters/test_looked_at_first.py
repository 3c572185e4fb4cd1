"""A cluster that cannot be used is found out before kernels are built and folders made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from model import run_folder
from testbed.cluster import address, artefacts
from testbed.command.cli import command_status
from testbed.labs import registry
from testbed.labs.virtual import virtual_lab
from tests.support.fake_lab import FakeLab
from tests.support.said import Said

#: Every command that runs cells into new folders.
BEGIN = [
    "run wireless --reps 2",
    "run wireless --reps 2 --simulator ns-2",
    "run wireless --reps 2 --kernel 7.3,6.12",
    "explain wireless --reps 2",
    "bisect wireless --claim lost-again-times-out --reps 2 6.12 7.3",
    "crosscheck wireless --reps 2 --labs virtual,stock",
]
Use = Callable[..., None]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Use:
    """Return what names a cluster and how cells come back; nothing can be built."""
    monkeypatch.chdir(tmp_path)

    def never(*_: object) -> None:
        raise AssertionError("it is built")

    monkeypatch.setattr(virtual_lab, "ensure_per_kernel", never)

    def named(cluster: str, keys: str = "nowhere", through: str = "") -> None:
        monkeypatch.setenv(address.VARIABLE, cluster)
        monkeypatch.setenv(address.KEYS_VARIABLE, keys)
        monkeypatch.setenv(artefacts.VARIABLE, through)

    return named


@pytest.mark.parametrize("line", BEGIN)
def test_without_a_clusters_keys_nothing_is_begun(
    line: str, use: Use, said: Said, tmp_path: Path
) -> None:
    use("tls://127.0.0.1:9", str(tmp_path / "nowhere"))
    assert command_status([*line.split(), "-D", "r"]) == 4
    assert "nowhere/authority.pem: a cluster's key is missing" in said()[1]
    assert not Path("r").exists()


@pytest.mark.parametrize("line", BEGIN)
def test_with_no_store_of_artefacts_nothing_is_begun(line: str, use: Use, said: Said) -> None:
    use("tcp://127.0.0.1:9", through="ftp://there/cells")
    assert command_status([*line.split(), "-D", "r"]) == 2
    assert "ARTEFACTS: not a store of artefacts" in said()[1]
    assert not Path("r").exists()


def test_keys_in_nobodys_home_are_told(use: Use, said: Said) -> None:
    use("tls://127.0.0.1:9", "~nobody-of-this-name/keys")
    assert command_status(["run", "wireless", "--reps", "1", "-D", "r"]) == 2
    assert said()[1].endswith(
        "groundtruth: GROUNDTRUTH_CLUSTER_KEYS: nobody's home: wanted a path, with ~ or ~USER of "
        "a user of this machine, got ~nobody-of-this-name/keys\n"
    )


@pytest.mark.parametrize("line", ["run wireless", "crosscheck wireless --labs virtual,host"])
def test_a_lab_in_real_time_is_not_begun(line: str, use: Use, said: Said) -> None:
    use("tcp://127.0.0.1:9")
    lab = [] if "--labs" in line else ["--lab", "host"]
    assert command_status([*line.split(), *lab, "--reps", "2", "-j", "1", "-D", "r"]) == 2
    assert "LAB=host: a lab in real time on a cluster" in said()[1]
    assert not Path("r").exists()


def test_what_is_resumed_asks_for_keys_before_it_builds(
    lab: FakeLab, said: Said, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as alone:
        alone.setattr(virtual_lab, "ensure_per_kernel", lambda *_args: lab)
        assert command_status(["run", "w.yaml", "--reps", "1", "-D", "r"]) == 0
        with monkeypatch.context() as of_cluster:  # what has finished needs none
            of_cluster.setenv(address.VARIABLE, "tls://127.0.0.1:9")
            of_cluster.setenv(address.KEYS_VARIABLE, "nowhere")
            assert command_status(["resume", "r/latest"]) == 0
    for done in Path("r").glob(f"2*/cells/*/{run_folder.DONE}"):
        done.unlink()
    said()
    use("tls://127.0.0.1:9")
    assert command_status(["resume", "r/latest"]) == 4
    assert "a cluster's key is missing" in said()[1]
    use("tcp://127.0.0.1:9")
    with monkeypatch.context() as in_real_time:
        in_real_time.setitem(registry.LABS, "virtual", registry.LABS["host"])
        assert command_status(["resume", "r/latest"]) == 2
    assert "LAB=host: a lab in real time on a cluster" in said()[1]
