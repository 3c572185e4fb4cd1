"""The gallery is the one made from the study files, with every one of them."""

from __future__ import annotations

import re

from docs.generate import gallery
from testbed.points.load_study import STUDIES_FOLDER, load_study

PAGE = gallery.FILE.read_text(encoding="utf-8")


def test_it_is_what_the_study_files_give() -> None:
    assert gallery.written() == PAGE, "run: .venv/bin/python -m docs.generate.gallery"


def test_every_study_is_there_once() -> None:
    files = [path for path in STUDIES_FOLDER.rglob("*.yaml") if path.parent.name != "hosts"]
    names = sorted(load_study(path).settings.study for path in files)
    assert sorted(re.findall(r"^### (.+)$", PAGE, re.MULTILINE)) == names


def test_an_entry_says_what_the_study_is() -> None:
    _, _, entry = PAGE.partition("### wireless\n")
    row = next(line for line in entry.splitlines() if line.startswith("| SCTP"))
    compares, path, varied, runs, claims, virtual = row.strip("| ").split(" | ")
    study = load_study(STUDIES_FOLDER / "wireless.yaml")
    assert compares == "SCTP over TCP SACK"
    assert path.endswith("3 Mbit/s, round trip 508 ms, buffer 10 packets, random loss 0.8 % to 3 %")
    assert "0.9 %, 1 %, 1.5 %" in varied
    assert (runs, claims) == ("35: 7 points, 5 seeds", str(len(study.settings.claims)))
    assert re.fullmatch(r"\d+ h \d+ min", virtual)
