"""The tutorial, followed word by word: its study is what it tells to write, its outputs are real.

What takes a lab is held against the study: each claim, in its order, on the screen that is shown.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from testbed.command.cli import command_status
from testbed.points.load_study import Study, load_study

PAGE = (Path(__file__).parents[3] / "docs" / "tutorial.md").read_text(encoding="utf-8")
NAME = "bbr-cubic"
FILE = f"{NAME}.yaml"
#: A command of the tutorial, and what it says it prints.
SHOWN = re.findall(r"^    \$ groundtruth (.+)\n((?:    (?!\$).+\n)*)", PAGE, re.MULTILINE)
QUICK = [(words, said) for words, said in SHOWN if words.split()[0] in ("new", "validate", "plan")]
#: How long it takes, how much memory, and what is to be built first, depends on the machine.
MACHINES = re.compile(r", about .+ on \d+ cores|, at most .+ of memory with \d+ jobs?")
FIRST = "first built, once"


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """Return the study that the tutorial tells to write, in the current folder."""
    monkeypatch.chdir(tmp_path)
    assert command_status(shlex.split(QUICK[0][0])) == 0
    (claim,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    before, line, after = Path(FILE).read_text(encoding="utf-8").partition("\n# source:")
    assert line
    Path(FILE).write_text(f"{before}{claim}{line}{after}", encoding="utf-8")
    return load_study(Path(FILE))


def on_any_machine(text: str) -> list[str]:
    lines = [MACHINES.sub("", line).strip() for line in text.splitlines()]
    return [line for line in lines if not line.startswith(FIRST)]


def test_what_takes_no_lab_prints_what_is_shown(
    study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [words.split()[0] for words, _ in QUICK] == ["new", "validate", "plan"]
    mine = Path(FILE).rename("mine.yaml")
    capsys.readouterr()
    for words, said in QUICK:
        assert command_status(shlex.split(words)) == 0
        assert on_any_machine(capsys.readouterr().out) == on_any_machine(said)
        if words.startswith("new"):
            mine.replace(FILE)


def test_the_study_is_what_the_tutorial_says(study: Study) -> None:
    network = study.settings.network
    links = network.links()
    assert 2 * sum(link.owd_s for link in links) == pytest.approx(0.04)
    assert (links[1].rate_bps, links[1].queue_pkts) == (20_000_000, 100)
    assert [flow.congestion_control for flow in study.settings.flows] == ["bbr", "cubic"]
    assert study.settings.claims[-1].id == "bbr-drops-more"
    assert "20 Mbit/s and 40 ms that are 67 packets" in PAGE
    assert round(20e6 * 0.04 / 8 / 1500) == 67


def test_the_last_screen_that_is_shown_is_of_this_study(study: Study) -> None:
    (said,) = (said for words, said in SHOWN if words == f"run {FILE}")
    title, ran, tally, *lines = on_any_machine(said)
    runs = len(study.points) * len(study.settings.seeds)
    assert title == study.settings.title
    assert ran.startswith(f"{runs} runs of 60 s at {len(study.points)} points on Linux 7.3")
    claims = [line for line in lines if line[0] in "✓✗?"]
    assert tally.startswith(f"Of {len(claims)} claims {sum(c[0] == '✓' for c in claims)} hold")
    for line, claim in zip(claims, study.settings.claims, strict=True):
        words = re.split(r" \.\.\. |  ", line[2:])[0]
        assert len(words) > 20
        assert claim.text.startswith(words)


def test_every_command_it_names_is_one_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    used = {words.split()[0] for words in re.findall(r"groundtruth ([a-z].*)", PAGE)}
    assert {"new", "validate", "plan", "run", "wireshark", "verify", "list", "resume"} <= used
    for words, _ in SHOWN:
        assert command_status([words.split()[0], "--help"]) == 0
        said = capsys.readouterr().out
        assert all(option in said for option in re.findall(r"--[a-z-]+", words))
