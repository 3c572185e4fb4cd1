"""Samples of queues become one row per sample and qdisc; a line that is none is named."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.trace.queue import COLUMNS, queue
from model.errors import ParseError
from tests.support.recorded import text, value

PLACES = value("trace-7.3/places.json")
SAMPLES = text("trace-7.3/queue.jsonl")
EPOCH_NS = 4_000_000_000


def test_recorded_samples() -> None:
    rows = queue(SAMPLES, PLACES, EPOCH_NS, "q")
    assert rows.schema == COLUMNS
    assert rows.height == 5 * len(PLACES)
    assert rows["t_s"].unique(maintain_order=True).to_list() == [0.0, 1.0, 2.0, 3.0, 4.0]
    shaper = rows.filter(device="r1-bottleneck")
    assert shaper["dropped_pkts"].to_list() == [0, 0, 0, 11, 14]
    assert shaper["sent_pkts"].is_sorted()
    assert shaper.row(-1)[1:5] == ("r1", "r1-bottleneck", "10:", "shaper")


def test_no_sample_has_the_same_columns() -> None:
    assert queue("", PLACES, EPOCH_NS, "q").schema == COLUMNS


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (SAMPLES[:-9], "q:5: not JSON"),
        ("{}\n", "q:1: not a sample of every qdisc: wanted t_ns and 20 counts each of backlog_pk"),
        (SAMPLES.replace("t_ns", "t_us"), "q:1: not a sample of every qdisc"),
        (SAMPLES.replace("[0, ", "[", 1), "q:1: not a sample of every qdisc"),
        (SAMPLES.replace("[0, ", "[-1, ", 1), "q:1: not a sample of every qdisc"),
        (SAMPLES.replace("[0, ", "[null, ", 1), "q:1: not a sample of every qdisc"),
        (SAMPLES + "[]\n", "q:6: not a JSON object"),
    ],
)
def test_what_is_no_sample_is_named(content: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        queue(content, PLACES, EPOCH_NS, "q")
    assert str(caught.value).startswith(message)


FIRST = json.loads(SAMPLES.splitlines()[0])
ANYTHING = st.integers() | st.text() | st.lists(st.integers(), min_size=19, max_size=21)


@given(name=st.sampled_from(sorted(FIRST)), put=ANYTHING)
def test_any_value_in_a_sample_is_taken_or_a_parse_error(name: str, put: object) -> None:
    line = json.dumps({**FIRST, name: put})
    with contextlib.suppress(ParseError):
        queue(line, PLACES, EPOCH_NS, "q")
