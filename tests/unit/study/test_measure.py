"""The measuring window in a study file: what is read, and what is refused."""

from __future__ import annotations

import pytest

from testbed.points.resolve import resolve_cell
from tests.support.study_file import Edit, edited, line_of, problems, study


def measured(text: str) -> Edit:
    """Return the edit that adds a measuring window."""
    return ("seeds:", f"measure: {text}\nseeds:")


@pytest.mark.parametrize(
    ("edits", "window"),
    [
        ((), (0.0, 1000.0)),
        ((measured("{}"),), (0.0, 1000.0)),
        ((measured("{from: 50 s}"),), (50.0, 1000.0)),
        ((measured("{from: 50 s, to: end}"),), (50.0, 1000.0)),
        ((measured("{from: 0.5 s, to: 150 s}"),), (0.5, 150.0)),
    ],
)
def test_the_window_is_the_whole_run_unless_the_study_says_less(
    edits: tuple[Edit, ...], window: tuple[float, float]
) -> None:
    loaded = study(*edits)
    cell = resolve_cell(loaded, loaded.points[0], seed=1, replicate=1, lab={})
    assert (cell.measure_from_s, cell.measure_to_s) == window
    assert cell.measured_s() == window[1] - window[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{to: 1001 s}", ("to: after the end of the run: wanted at most 1000 s (duration),"
         " got 1001 s")),
        ("{from: 1000 s}", ("from: ends before it begins: wanted less than 1000 s (duration),"
         " got 1000 s")),
        ("{from: 9 s, to: 9 s}", ("from: ends before it begins: wanted less than 9 s (its to),"
         " got 9 s")),
        ("{from: 50}", "from: no unit: wanted a time such as '250 ms', got 50"),
        ("{form: 50 s}", "form: unknown key: wanted one of from, to (did you mean from?)"),
    ],
)  # fmt: skip
def test_a_window_outside_the_run_is_refused(text: str, message: str) -> None:
    found = edited(measured(text))
    assert problems(found) == [f"w.yaml:{line_of(found, 'measure:')}: measure.{message}"]


def test_iperf3_counts_the_whole_run_only() -> None:
    text = edited(measured("{from: 50 s}"), ("generator: probe", "generator: iperf3"))
    assert problems(text) == [
        (
            f"w.yaml:{line_of(text, 'measure:')}: measure: iperf3 cannot count a part of the run:"
            " wanted generator probe, or the whole run, got generator iperf3"
            " (its intervals count from its own start)"
        )
    ]
    whole = study(measured("{from: 0 s, to: end}"), ("generator: probe", "generator: iperf3"))
    assert whole.settings.generator == "iperf3"


@pytest.mark.parametrize(
    ("start", "got"),
    [
        ("start: 999.6 s", "400 ms"),
        ("start: 0.5 s", "999.5 s"),
        ("start_spread: 1 s", "starts spread over a time"),
    ],
)
def test_iperf3_sends_for_whole_seconds_only(start: str, got: str) -> None:
    iperf3: Edit = ("generator: probe", "generator: iperf3")
    flow: Edit = ("    protocol: tcp\n", f"    protocol: tcp\n    {start}\n")
    text = edited(iperf3, flow)
    assert problems(text) == [
        (
            f"w.yaml:{line_of(text, '- id: T')}: flows.T: iperf3 cannot send so long: wanted whole"
            f" seconds from start to stop, 1 s to 86400 s, got {got}"
            " (generator probe sends for any time)"
        )
    ]
    assert study(flow).settings.generator == "probe"
