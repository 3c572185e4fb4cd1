"""A study's text, edited: what the tests of study files start from.

The text is a copy of the wireless study, so that the tests do not follow its every change.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from model.cell import Cell
from model.errors import StudyError
from testbed.points.load_study import Study, parse_study
from testbed.points.resolve import resolve_cell

ROOT = Path(__file__).resolve().parents[2]
STUDIES = ROOT / "studies"
DATA = ROOT / "tests" / "data" / "study"
HOSTS = DATA / "hosts"
WIRELESS = (DATA / "wireless.yaml").read_text(encoding="utf-8")
PAPER = (HOSTS / "paper.yaml").read_text(encoding="utf-8")

Edit = tuple[str, str]

SWEEP = "  network.bottleneck.loss.data: [0.8 %, 0.9 %, 1 %, 1.5 %, 2 %, 2.5 %, 3 %]\n"
#: Leaves out the published table, whose rows are at points of the sweep.
UNPUBLISHED: Edit = (WIRELESS[WIRELESS.index("published:") : WIRELESS.index("assumptions:")], "")
#: A host profile on which no rule about hosts fires but the window's.
PLAIN_PROFILE = """\
profiles:
  plain:
    title: As the kernel is, without memory
    entries:
      - parameter: no memory
        fidelity: exact
        sysctl: {net.ipv4.tcp_no_metrics_save: 1}
"""


def edited(*edits: Edit) -> str:
    """Return the wireless study with the first occurrence of each text replaced."""
    text = WIRELESS
    for old, new in edits:
        assert old in text, f"no {old!r} in the study"
        text = text.replace(old, new, 1)
    return text


def study(*edits: Edit) -> Study:
    """Return the edited wireless study, read."""
    return parse_study(edited(*edits), "w.yaml", hosts_folders=[HOSTS])


def cells(*edits: Edit, seed: int = 1, pcap: bool = False) -> list[Cell]:
    """Return the cells of the edited study, its published table left out, one per point."""
    made = study(UNPUBLISHED, *edits)
    return [
        resolve_cell(made, point, seed=seed, replicate=1, lab={}, pcap=pcap)
        for point in made.points
    ]


def swept(text: str) -> Edit:
    """Return the edit that sweeps this instead of the loss."""
    return (SWEEP, f"  {text}\n")


def problems(text: str) -> list[str]:
    """Return the lines of the error a study's text raises."""
    with pytest.raises(StudyError) as caught:
        parse_study(text, "w.yaml", hosts_folders=[HOSTS])
    assert caught.value.exit_status == 2
    return str(caught.value).splitlines()


def line_of(text: str, part: str) -> int:
    """Return the number of the first line that holds a text."""
    return next(i for i, line in enumerate(text.splitlines(), 1) if part in line)


#: Sections, and metrics, of parts of a run that a short form of it does not have.
OF_PARTS = ("windows:", "bins:", "collect:")
_METRIC_OF_PARTS = re.compile(r"^  - cwnd_(min|max)_.*\n", re.MULTILINE)


def whole_runs_only(text: str) -> str:
    """Return a study's text without what looks at some part of its runs, or captures it."""
    sections = re.split(r"^(?=[a-z]\w*:)", text, flags=re.MULTILINE)
    kept = "".join(part for part in sections if not part.startswith(OF_PARTS))
    return _METRIC_OF_PARTS.sub("", kept)
