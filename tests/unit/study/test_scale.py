"""Times of the experiment multiplied by ``--scale``: which, how exactly, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from model.cell import Cell
from model.errors import StudyError
from testbed.planning.findings import find
from testbed.points.load_study import Study, load_study
from testbed.points.resolve import resolve_cell
from testbed.study.scaling import CONTEXT_KEY, FULL, parse_scale
from testbed.study.setting_types import RunS, StopS, WhenS
from tests.support.study_file import STUDIES, UNPUBLISHED, Edit, edited

TENTH = Decimal("0.1")
ONE_POINT: Edit = ("[0.8 %, 0.9 %, 1 %, 1.5 %, 2 %, 2.5 %, 3 %]", "[1 %]")
TIMES: Edit = (
    "sweep:\n",
    (
        "delivered: {from: 100 s, to: 300 s}\n"
        "windows: {from: 20 s, to: 120 s}\n"
        "bins: {from: 50 s, to: 60 s, bin: 200 ms}\n"
        "figures:\n"
        "  - {kind: over_time, from: 30 s, to: 200 s, bin: 5 s}\n"
        "  - {kind: single_loss, before: 2 s, after: 4 s}\n"
        "sweep:\n"
    ),
)
T: Edit = ("    pair: 1\n", ("    pair: 1\n    copies: 1\n    start: 10 s\n    start_spread: 5 s\n"
           "    stop: 900 s\n"))  # fmt: skip


def written(folder: Path, *edits: Edit) -> Path:
    file = folder / "w.yaml"
    file.write_text(edited(UNPUBLISHED, ("hosts: paper", "hosts: stock"), *edits))
    return file


def scaled(folder: Path, *edits: Edit, scale: Decimal = TENTH) -> Study:
    return load_study(written(folder, *edits), scale=scale)


def cell_of(study: Study) -> Cell:
    lab = {"kernel": study.kernel_at(study.points[0])}
    return resolve_cell(study, study.points[0], seed=1, replicate=1, lab=lab)


def test_times_of_the_experiment_are_scaled_and_nothing_else(tmp_path: Path) -> None:
    study = scaled(tmp_path, ONE_POINT, TIMES, T)
    at = study.points[0].settings
    assert (at.duration_s, at.flows[0].start_s, at.flows[0].start_spread_s) == (100, 1, 0.5)
    assert (at.flows[0].stop_s, at.flows[1].stop_s) == (90, "end")
    for span, bounds in ((at.delivered, (10, 30)), (at.windows, (2, 12)), (at.bins, (5, 6))):
        assert span is not None
        assert (span.from_s, span.to_s) == bounds
    over_time, loss = at.figures
    assert (over_time.from_s, over_time.to_s, loss.from_s, loss.to_s) == (3, 20, 0, "end")
    assert at.bins is not None
    assert (at.bins.bin_s, over_time.bin_s) == (0.2, 5)
    assert (loss.before_s, loss.after_s) == (2, 4)
    full = load_study(tmp_path / "w.yaml")
    assert (study.scale, full.scale) == (TENTH, FULL)
    assert at.network == full.points[0].settings.network
    assert at.collect == full.points[0].settings.collect
    short, long = cell_of(study), cell_of(full)
    assert short.network == long.network
    assert short.hosts == long.hosts
    assert (short.duration_s, long.duration_s) == (100, 1000)


def test_the_measuring_window_is_scaled(tmp_path: Path) -> None:
    at = scaled(tmp_path, ONE_POINT, ("seeds:", "measure: {from: 50 s, to: 500 s}\nseeds:"))
    measure = at.settings.measure
    assert (measure.measure_from_s, measure.measure_to_s) == (5, 50)


def test_a_swept_time_is_scaled_where_it_is_swept_and_where_it_is_looked_for(
    tmp_path: Path,
) -> None:
    sweep = ("network.bottleneck.loss.data: [0.8 %, 0.9 %, 1 %, 1.5 %, 2 %, 2.5 %, 3 %]",
             "duration: [200 s, 500 s]")  # fmt: skip
    figures = ("sweep:\n", "figures: [{kind: cwnd, at: {duration: 500 s}}]\nsweep:\n")
    study = scaled(tmp_path, figures, sweep)
    assert [point.values for point in study.points] == [{"duration_s": 20}, {"duration_s": 50}]
    assert [point.settings.duration_s for point in study.points] == [20, 50]
    assert study.figure_points == ((1,),)


def test_an_alternative_time_is_scaled_and_said_as_it_is_run(tmp_path: Path) -> None:
    other = "    alternatives: [{duration: 500 s, network.bottleneck.delay: 25 ms}]\n"
    edit = ("  - id: payload\n", f"{other}  - id: payload\n")
    (variation,) = scaled(tmp_path, ONE_POINT, edit).variations
    assert variation.settings == {"duration_s": 50, "owd_s": 0.025}
    assert variation.words == "duration 50 s, bottleneck delay 25 ms"


REFUSED = [
    (("sweep:\n", "delivered: {from: 55 s, to: 155 s}\nsweep:\n"), "0.1",
     ("delivered.from: not the bound of a receiver's interval: wanted a multiple of 1 s, got 5.5 s"
     " (times are scaled by 0.1)")),
    (("sweep:\n", "bins: {from: 10 s, to: 11 s, bin: 500 ms}\nsweep:\n"), "0.4",
     ("bins.bin: longer than what is counted: wanted at most 400 ms (from 'from' to 'to'), got"
     " 500 ms (times are scaled by 0.4)")),
    (("sweep:\n", "figures: [{kind: over_time, to: 40 s, bin: 10 s}]\nsweep:\n"), "0.2",
     "figures[0].bin: longer than what is drawn: wanted at most 8 s, got 10 s (times are scaled"),
    (("generator: probe", "generator: iperf3"), "0.0015",
     "flows.T: iperf3 cannot send so long: wanted whole seconds"),
    (("    pair: 1\n", "    pair: 1\n    start: 4 ns\n"), "0.1",
     "flows.T.start: nothing is left of it: wanted at least 1 ns when scaled, got '4 ns' times"),
    (("sweep:\n", "drops:\n  T: {data_packets: [8]}\nsweep:\n"), "0.9",
     "drops.T: packets lost by their number: wanted the study's own times, got times scaled"),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "scale", "message"), REFUSED)
def test_what_no_longer_fits_is_refused_at_its_line(
    edit: Edit, scale: str, message: str, tmp_path: Path
) -> None:
    load_study(written(tmp_path, ONE_POINT, edit))
    with pytest.raises(StudyError) as caught:
        load_study(tmp_path / "w.yaml", scale=Decimal(scale))
    assert message in str(caught.value)


def test_no_study_of_packets_by_their_number_is_scaled() -> None:
    for name in ("anatomy", "anatomy-wireless"):
        with pytest.raises(StudyError, match="packets lost by their number"):
            load_study(STUDIES / f"{name}.yaml", scale=TENTH)


@pytest.mark.parametrize("name", ["wireless", "satellite", "wired"])
def test_the_default_studies_can_be_a_tenth_as_long(name: str) -> None:
    study = load_study(STUDIES / f"{name}.yaml", scale=TENTH)
    full = load_study(STUDIES / f"{name}.yaml")
    lengths = [[point.settings.duration_s for point in found.all_points] for found in (study, full)]
    assert lengths[0] == [pytest.approx(0.1 * whole_s) for whole_s in lengths[1]]


def test_reasons_for_the_written_length_do_not_answer_for_another(tmp_path: Path) -> None:
    start = ("acknowledged:\n", "acknowledged:\n  - {rule: short-run, why: meant so}\n")
    short = ("duration: 1000 s", "duration: 9 s")
    study = scaled(tmp_path, ONE_POINT, short, start, scale=Decimal("0.5"))
    full = load_study(tmp_path / "w.yaml")
    warned = [{one.rule for one in find(read, seeds=[1, 2]).warnings} for read in (full, study)]
    assert "short-run" not in warned[0]
    assert {"short-run", "too-few-losses"} <= warned[1]
    assert "needless-acknowledgement" not in warned[1]


def test_a_window_over_before_an_answer_is_back_is_warned_of(tmp_path: Path) -> None:
    window = ("sweep:\n", "windows: {from: 10 s, to: 11 s}\nsweep:\n")
    study = scaled(tmp_path, ONE_POINT, window, scale=Decimal("0.2"))
    (text,) = [one.text for one in find(study, seeds=[1, 2]).warnings if one.rule == "short-run"]
    assert text == (
        "windows looks at 200 ms, less than one round trip of 508 ms: what it finds is when a"
        " packet happened to pass"
    )
    full = find(load_study(tmp_path / "w.yaml"), seeds=[1, 2])
    assert "short-run" not in {one.rule for one in full.warnings}


@pytest.mark.parametrize("text", ["0", "0.0", "1.0001", "2", "-0.1", "x", "", ".5", "1e-1", "0,1",
                                  "0.00001", "nan", " 0.1", "10 %", "1/10"])  # fmt: skip
def test_what_is_no_scale(text: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse_scale(text)
    assert str(caught.value).startswith("SCALE: no such scale: wanted a number such as 0.1")


SCALES = st.integers(1, 10_000).map(lambda parts: Decimal(parts) / 10_000)
NANOSECONDS = st.integers(10**9, 10**15)


@given(scale=SCALES)
def test_a_scale_is_read_back_as_it_is_printed(scale: Decimal) -> None:
    assert parse_scale(f"{scale:f}") == scale
    assert parse_scale(str(parse_scale(f"{scale:f}"))) == scale


@settings(deadline=None)
@given(NANOSECONDS, SCALES, SCALES, st.sampled_from([RunS, StopS, WhenS]))
def test_scales_compose_up_to_rounding(t_ns: int, one: Decimal, other: Decimal, kind: type) -> None:
    def read(time_ns: int, scale: Decimal) -> int:
        context = {CONTEXT_KEY: scale}
        time_s: float = TypeAdapter(kind).validate_python(f"{time_ns} ns", context=context)
        return round(time_s * 10**9)

    assert read(t_ns, FULL) == t_ns
    once = read(t_ns, one)
    assert abs(once - t_ns * one) <= 1
    assert abs(read(once, other) - read(t_ns, one * other)) <= 1
