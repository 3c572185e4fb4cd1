"""Campaigns and builds killed at a few fixed moments; ``tests/long`` has hundreds of others."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.labs.booted import image
from testbed.labs.confinement import host_tools
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.machine import cache
from tests.support.killing import (
    Campaign,
    Machine,
    contents,
    differences,
    kill_at_a_lab,
    left_behind,
    short_wireless,
    start,
)


@pytest.fixture
def before(tmp_path: Path, lab: VirtualLab) -> Iterator[Machine]:
    """The machine as it was; it is so again afterwards."""
    seen = Machine.seen(tmp_path)
    yield seen
    assert left_behind(seen, tmp_path) == []


@pytest.fixture(scope="module")
def campaign(lab: VirtualLab, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """A short study, run once without a disturbance."""
    folder = tmp_path_factory.mktemp("campaign")
    assert lab.image.is_dir()  # built before the time runs
    study = folder / "study.yaml"
    study.write_text(short_wireless(duration="20 s", seeds="[1]"))
    made = Campaign(study=study, folder=folder / "runs", chance=random.Random(1))
    made.undisturbed()
    return made


@pytest.mark.timeout(1800)  # on a machine that does much else
@pytest.mark.usefixtures("before")
def test_a_campaign_killed_at_any_moment_ends_as_if_it_had_not_been(campaign: Campaign) -> None:
    campaign.disturbed(3, lambda _: None)
    assert campaign.kills == 3
    assert campaign.problems == []


@pytest.mark.parametrize("after_s", [0, 0.003, 0.006, 0.01, 0.02])
def test_no_lab_outlives_who_started_it(tmp_path: Path, before: Machine, after_s: float) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(short_wireless(duration="1000 s", seeds="[1]"))
    results = tmp_path / "results"
    words = ["run", str(study), "--no-sensitivity", "--data-dir", str(results)]
    assert kill_at_a_lab(start(words, tmp_path / "log"), results, 1, after_s)
    assert left_behind(before, tmp_path) == []


def test_an_image_build_leaves_nothing_and_the_next_removes_the_rest(
    tmp_path: Path, before: Machine
) -> None:
    """Killed while its mounts are there: of the host's /dev, and in the end of all of it."""
    into = tmp_path / "cache" / "groundtruth"
    into.mkdir(parents=True)
    for tool in (host_tools.MMDEBSTRAP, host_tools.BUBBLEWRAP):
        if (made := cache.root() / f"tool-{tool.package}").is_dir():
            shutil.copytree(made, into / made.name)
    log = tmp_path / "log"
    for _ in range(2):
        child = start(["build"], log, tmp_path / "cache")
        while not list(into.glob(f"{cache.BUILDING}*/mmdebstrap.*/usr/bin")):
            assert child.poll() is None, log.read_text()
            time.sleep(0.01)
        child.kill()
        child.wait()
        assert left_behind(before, tmp_path) == []
        assert len(list(into.glob(f"{cache.BUILDING}*"))) == 1
    assert not (into / f"image-{image.key()}").exists()


@pytest.mark.parametrize("after_s", [0.0, 1.0, 3.0])
@pytest.mark.usefixtures("before")
def test_a_report_killed_while_it_is_written_is_the_old_one_or_can_be_written_again(
    tmp_path: Path, campaign: Campaign, after_s: float
) -> None:
    (undisturbed,) = (campaign.folder / "undisturbed").glob("2*")
    run = shutil.copytree(undisturbed, tmp_path / undisturbed.name, symlinks=True)
    child = start(["report", str(run)], tmp_path / "log")
    time.sleep(after_s)
    child.kill()
    child.wait()
    again = [sys.executable, "-m", "testbed", "report", str(run)]
    subprocess.run(again, cwd=Path(__file__).parents[3], check=True, capture_output=True)
    assert differences(campaign.wanted, contents(run)) == []
