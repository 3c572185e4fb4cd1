"""A fixed few of the fuzzer's inputs, some for every reader; long runs are tests/fuzz/fuzz.py's."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz.fuzz import content_of, planned, try_one
from tests.fuzz.target import Target
from tests.fuzz.targets import targets

SEED, INPUTS = 2026, 12
HUGE = b"1" + b"0" * 400
#: What long runs found, by target.
FOUND = (
    ("manifest.json", b'{"schema": 1, "sha256": 0.5, "writing": {}}'),
    ("manifest.json", b'{"schema": 1, "sha256": {"plan.json": {}}, "writing": {}}'),
    ("manifest.json", b'{"schema": 1, "sha256": {"plan.json": []}, "writing": {}}'),
    ("qdiscs.json", b"[" + HUGE + b"]"),
    ("qdiscs.json", b'["r1", 5]'),
)  # fmt: skip


@pytest.fixture(scope="module")
def shares(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Target]]:
    place = tmp_path_factory.mktemp("fuzz")
    yield targets(place / "all")
    shutil.rmtree(place)


def test_every_reader_gives_a_value_or_a_projects_error(shares: dict[str, Target]) -> None:
    wrong = {
        (name, number): what
        for name, target in shares.items()
        for number in range(INPUTS)
        if (what := try_one(target, content_of(target, name, SEED, number), memory=False))
    }
    assert wrong == {}


@pytest.mark.parametrize(("name", "content"), FOUND)
def test_what_was_found_is_mended(shares: dict[str, Target], name: str, content: bytes) -> None:
    assert try_one(shares[name], content, memory=False) == ""


@pytest.mark.parametrize("name", ["cells.json", "cell.json", "resolved.json"])
def test_a_duration_that_no_computer_can_hold(shares: dict[str, Target], name: str) -> None:
    content = re.sub(rb'("duration_s": )[0-9.]+', rb"\g<1>" + HUGE, shares[name].corpus[0])
    assert HUGE in content
    assert try_one(shares[name], content, memory=False) == ""


@pytest.mark.parametrize("number", [b"-" + HUGE, b"1e400", b"1e-400"])
def test_a_printed_number_that_no_publication_prints(
    shares: dict[str, Target], number: bytes
) -> None:
    target = shares["resolved.json to summary"]
    content = re.sub(rb'("utilisation_pct": )[0-9.]+', rb"\g<1>" + number, target.corpus[0])
    assert number in content
    assert try_one(target, content, memory=False) == ""


@pytest.mark.parametrize("flows", [b"protocol: &a tcp x", b"stop: 28 null"])
def test_figures_of_flows_that_are_none(shares: dict[str, Target], flows: bytes) -> None:
    target = shares["every study"]
    (content,) = (one for one in target.corpus if b"study: anatomy\n" in one)
    key = flows.split(b":")[0]
    content = re.sub(key + rb": \S.*", flows, content, count=1)
    assert flows in content
    assert try_one(target, content, memory=False) == ""


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    def act(content: bytes) -> None:
        if content == b"odd":
            raise KeyError("a bug")

    target = Target(corpus=[b""], mutate=lambda rng, corpus: b"", run=act, share=1)
    assert try_one(target, b"even", memory=False) == ""
    assert "KeyError: 'a bug'" in try_one(target, b"odd", memory=False)


def test_so_many_inputs_are_planned_as_asked_for() -> None:
    tasks = planned({"a": 1, "b": 3}, 1001)
    assert sum(count for _, _, count in tasks) == 1001
    assert [start for name, start, _ in tasks if name == "a"] == [0, 200]
