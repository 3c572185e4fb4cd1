"""The glossary explains every word that the program uses as a verdict, and each word once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from model.cell import Fidelity
from model.run_files.comparing import judged
from reports.verdict.verdicts import VERDICTS
from testbed.labs.registry import LABS
from testbed.points.load_study import HOSTS_FOLDER

PAGE = (Path(__file__).parents[3] / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
ENTRIES = {
    word: text for words, text in ROWS if words != "word" for word in re.split(r", | \(|\)", words)
}


@pytest.mark.parametrize("verdict", [*VERDICTS, *get_args(judged.Verdict)])
def test_each_verdict_is_a_word_of_its_own(verdict: str) -> None:
    assert ENTRIES[verdict].endswith((".", ")."))


def test_labs_host_profiles_and_fidelities_are_named() -> None:
    assert set(LABS) <= set(re.findall(r"`(\w+)`", ENTRIES["lab"]))
    profiles = {path.stem for path in HOSTS_FOLDER.glob("*.yaml")}
    assert profiles <= set(re.findall(r"`(\w+)`", ENTRIES["host profile"]))
    assert set(get_args(Fidelity)) <= set(re.findall(r"`(\w+)`", ENTRIES["ledger"]))


def test_no_word_is_explained_twice_and_none_that_is_used_is_missing() -> None:
    words = [words for words, _ in ROWS if words != "word"]
    assert [word for word, times in Counter(words).items() if times > 1] == []
    used = set(re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", "".join(text for _, text in ROWS)))
    known = {word.lower() for word in ENTRIES}
    missing = {word for word in used if not {word.lower(), word.lower().rstrip("s")} & known}
    assert missing == set()
