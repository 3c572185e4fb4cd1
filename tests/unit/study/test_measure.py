"""The measuring window in a study file: what is read, and what is refused."""

from __future__ import annotations

import pytest

from testbed.points.resolve import resolve_cell
from tests.support.study_file import Edit, study


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


IPERF3: Edit = ("generator: probe", "generator: iperf3")


def test_iperf3_counts_the_whole_run_if_it_is_called_a_window() -> None:
    assert study(measured("{from: 0 s, to: end}"), IPERF3).settings.generator == "iperf3"


@pytest.mark.parametrize("start", ["start: 999.6 s", "start: 0.5 s", "start_spread: 1 s"])
def test_a_probe_sends_for_any_time(start: str) -> None:
    flow: Edit = ("    protocol: tcp\n", f"    protocol: tcp\n    {start}\n")
    assert study(flow).settings.generator == "probe"
