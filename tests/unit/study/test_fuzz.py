"""Whatever a file holds, reading it gives a study or a study error whose lines name the file."""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from model.errors import StudyError
from testbed.planning import plan
from testbed.planning.findings import find
from testbed.planning.resolved import resolved_json
from testbed.points.load_study import load_study, parse_study
from tests.support.study_file import HOSTS, PAPER, WIRELESS

LINE = re.compile(r"w\.yaml:[0-9]+: \S.*")


def use(text: str) -> None:
    """Read a text; if it is a study, go all the way to its plan."""
    try:
        study = parse_study(text, "w.yaml", hosts_folders=[HOSTS])
    except StudyError as error:
        for line in str(error).splitlines():
            assert LINE.fullmatch(line), line
        return
    seeds = study.settings.seeds
    findings = find(study, seeds=seeds)
    planned = plan.make_plan(study, seeds=seeds[:2], lab={})
    json.loads(resolved_json(planned, findings))
    assert len({cell.id for cell in planned.cells}) == len(planned.cells)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@given(content=st.binary(max_size=200))
def test_bytes(folder: Path, content: bytes) -> None:
    path = folder / "f.yaml"
    path.write_bytes(content)
    with pytest.raises(StudyError) as caught:
        load_study(path)
    assert all(line.startswith(str(path)) for line in str(caught.value).splitlines())


@given(st.text(alphabet="abc:-[]{}&*!|>'\"%@`#?,\n\t \\x0u~<=.", max_size=60))
def test_yaml_like_text(text: str) -> None:
    use(text)


KEYS = st.sampled_from(re.findall(r"([a-z_]+):", WIRELESS + PAPER))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=10),
    st.sampled_from(["1 s", "1 %", "3 Mbit/s", "10 packets", "9 bytes", "tcp", "same", "paper"]),
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@example({"loss": None})  # an unknown key that may have been meant for a missing one
@given(st.dictionaries(KEYS, DATA, max_size=8))
def test_any_data_under_known_keys(data: dict[str, object]) -> None:
    use(json.dumps(data))


PIECES = [
    *re.findall(r"\S+", WIRELESS),
    *WIRELESS.splitlines(keepends=True),
    *PAPER.splitlines(keepends=True),
    *(
        "reverse: {}",
        "reverse: same",
        "streams: 2",
        "rate: 16 kbit/s",
        "udp",
        "udp\n    rate: 8 kbit/s",
    ),
    *("0 %", "100 %", "0 s", "1 ns", "1000000 s", "1 bit/s", "8 bit/s", "1000 Gbit/s", "1 packets"),
    *("16 MiB", "1 byte", "- ", "  ", "\t", "\n", "&a ", "*a", "{}", "[]", "null", "''", "\0", "é"),
]


def mutated(seed: int) -> str:
    """Return the wireless study after one to six random edits."""
    rng = random.Random(seed)
    text = WIRELESS
    for _ in range(rng.randint(1, 6)):
        words = [match.span() for match in re.finditer(r"\S+|\n", text)]
        start, end = rng.choice(words)
        new = rng.choice(PIECES) if rng.random() < 0.8 else ""
        text = text[: start if rng.random() < 0.9 else end] + new + text[end:]
    return text


@given(st.integers(0, 2**32))
def test_a_mutated_study(seed: int) -> None:
    use(mutated(seed))
