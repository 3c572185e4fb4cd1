"""Runs of one study in several labs: what may be compared, what is found, and how it is told."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from model import run_folder
from model.check import Check
from model.errors import StudyError
from model.run_files.comparing.crosscheck import CROSSCHECK, Comparison, Crosscheck
from model.run_files.json_file import parse, text_of
from model.run_files.point import Point
from model.run_files.quantity import Quantity
from model.units import NS_PER_S
from reports.agreement import tables as agreement
from reports.agreement.comparable import Measured
from reports.agreement.compare import crosscheck
from reports.agreement.lab_facts import facts
from reports.inference.equivalence import LEVEL
from reports.measures import judged
from reports.measures.metrics import Value
from reports.page.review_tables import TABLE_FILES
from reports.store.run import read_run
from reports.store.timer import read_timer_hz
from reports.terminal.screen import print_grids
from reports.verdict.points import ordered_metrics, summarise_cells
from tests.support.runs.report_run import Goodputs, build_run, only_cell, write_json

LOSSES = (0.008, 0.01)
#: Of each seed at each point, how far its runs lie from the mean, as a part of it.
LUCK = np.random.default_rng(3).normal(0, 0.01, (2, 40))


def goodputs(more: float = 1.0, shift: int = 0) -> Goodputs:
    """Return goodputs of 100 and 120 kbit/s, SCTP's so many times as much, seeds with luck."""

    def of(index: int, seed: int) -> dict[str, float]:
        luck = 1 + LUCK[index][(seed + shift) % 40]
        return {"T": 100_000 * luck, "S": 120_000 * more * luck}

    return of


def measured(
    folder: Path, label: str = "virtual", given: Goodputs | None = None, **run: Any
) -> Measured:
    """Return a run as it is compared."""
    options: dict[str, Any] = {"losses": LOSSES, "seeds": 12} | run
    found = read_run(build_run(folder, goodputs=given or goodputs(), **options))
    return Measured(
        label=label, name=folder.name, manifest_sha256="0" * 64,
        facts={"kernel": "6.12", "lab": label}, run=found,
        cells=summarise_cells(found, ordered_metrics(found.study)),
    )  # fmt: skip


def at(found: Crosscheck, metric: str, index: int = 0) -> Comparison:
    return [one for one in found.comparisons if one.metric == metric][index]


def test_labs_that_agree_are_equivalent(tmp_path: Path) -> None:
    found = crosscheck(
        [measured(tmp_path / "a"), measured(tmp_path / "b", "stock", goodputs(1.001, shift=15))]
    )
    for metric in ("goodput_T_bps", "goodput_S_bps", "pct_increase", "utilisation_pct"):
        assert [at(found, metric, i).verdict for i in (0, 1)] == ["equivalent", "equivalent"]
    assert found.having("different") == found.having("not shown") == ()
    one = at(found, "goodput_S_bps")
    assert one.first.n == one.other.n == 12
    assert one.first.mean == pytest.approx(120_000 * (1 + LUCK[0][1:13].mean()), rel=1e-6)
    assert one.margin == 0.03
    # The increase is the same in all runs of a lab: 20 % and 20.12 %.
    increase = at(found, "pct_increase")
    assert increase.difference == pytest.approx(0.12)
    assert increase.ci95 is None
    assert increase.p_equivalent == 0.5**12
    # Realised losses are drawn from the seeds: they have no margin.
    assert at(found, "loss_T_frac").verdict == "not judged"
    assert "owd_mean_T_s" in found.missing
    assert [lab.seeds for lab in found.labs] == [12, 12]


def test_a_planted_difference_is_found_and_named_first(tmp_path: Path) -> None:
    found = crosscheck(
        [measured(tmp_path / "a"), measured(tmp_path / "b", "stock", goodputs(1.06, shift=15))]
    )
    one = at(found, "goodput_S_bps")
    assert one.verdict == "different"
    assert one.difference == pytest.approx(0.06 / 1.03, abs=0.01)
    assert one.p_different is not None
    assert one.p_different <= 0.05
    assert one.p_distributions is not None
    assert one.p_distributions < 0.01
    assert at(found, "goodput_T_bps").verdict == "equivalent"
    # 20 % more are 27.2 %.
    assert at(found, "pct_increase").difference == pytest.approx(7.2)
    ranked = judged.ranked(found)
    assert {row.verdict for row in ranked[: len(found.having("different"))]} == {"different"}
    assert ranked[0].metric == "pct_increase"  # 2.4 of its margin
    words = agreement.verdict_words(found)
    assert words.startswith("stock against virtual, 12 seeds: ")
    assert f"{len(found.having('different'))} different" in words


def test_few_seeds_that_scatter_show_nothing_and_say_how_many_would(tmp_path: Path) -> None:
    def wild(shift: int) -> Goodputs:
        def of(index: int, seed: int) -> dict[str, float]:
            luck = 1 + 5 * LUCK[index][(seed + shift) % 40]
            return {"T": 100_000 * luck, "S": 120_000.0 * luck}

        return of

    found = crosscheck(
        [
            measured(tmp_path / "a", given=wild(0), seeds=3),
            measured(tmp_path / "b", "stock", wild(15), seeds=3),
        ]
    )
    one = at(found, "goodput_T_bps")
    assert one.verdict == "not shown"
    wanted = [c.seeds_wanted for c in found.having("not shown") if c.seeds_wanted is not None]
    assert all(seeds > 3 for seeds in wanted)
    assert any(f"not shown ({seeds})" in markdown(found) for seeds in wanted)
    assert any(note.startswith("not shown: ") for note in agreement.notes(found))


def test_pairs_of_a_seed_are_told(tmp_path: Path) -> None:
    runs = [measured(tmp_path / "a"), measured(tmp_path / "b", "stock")]
    pairing = {one.metric: one for one in crosscheck(runs).pairings}
    assert (pairing["goodput_T_bps"].pairs, pairing["goodput_T_bps"].correlation) == (24, 1.0)
    assert pairing["share_T_pct"].correlation is None  # it has no spread
    assert "owd_mean_T_s" not in pairing
    fewer = crosscheck([runs[0], measured(tmp_path / "c", "stock", seeds=5)])
    assert {one.pairs for one in fewer.pairings} == {10}
    assert at(fewer, "goodput_T_bps").first.n == 5


def test_cells_that_do_not_count_are_left_out_and_told(tmp_path: Path) -> None:
    runs = [measured(tmp_path / "a"), measured(tmp_path / "b", "stock")]
    cells = [*runs[1].cells]
    cells[3] = dataclasses.replace(cells[3], excluded="a check failed")
    found = crosscheck([runs[0], dataclasses.replace(runs[1], cells=tuple(cells))])
    ns = {(one.point, one.other.n) for one in found.comparisons}
    assert ns == {
        (Point.of({"loss_frac": loss}), n) for loss, n in zip(LOSSES, (11, 12), strict=True)
    }
    assert "stock: 1 cell not counted: a check failed, see its report" in agreement.notes(found)


def test_what_unequal_luck_with_losses_does_is_taken_off(tmp_path: Path) -> None:
    random = np.random.default_rng(7)

    def unlucky(one: Measured, more: float) -> Measured:
        """Return the run with losses of its own, and TCP's goodput by them."""
        cells = []
        for cell in one.cells:
            losses = 0.01 * np.exp(random.normal(0, 0.1, 2))
            goodput_bps = 100_000 * more * (losses[0] / 0.01) ** -0.6 * random.normal(1, 0.005)
            given = {
                "loss_T_frac": losses[0], "loss_S_frac": losses[1], "goodput_T_bps": goodput_bps
            }  # fmt: skip
            values = {**cell.values, **{name: Value(float(v), None) for name, v in given.items()}}
            cells.append(dataclasses.replace(cell, values=values))
        return dataclasses.replace(one, cells=tuple(cells))

    runs = [unlucky(measured(tmp_path / "a"), 1.0)]
    runs.append(unlucky(measured(tmp_path / "b", "stock"), 1.005))
    one = at(crosscheck(runs), "goodput_T_bps")
    assert one.at_equal_loss
    assert one.verdict == "equivalent"
    assert one.difference == pytest.approx(0.005, abs=0.006)
    assert one.ci95 is not None
    assert one.plain_ci95 is not None
    assert np.ptp(one.plain_ci95) > 5 * np.ptp(one.ci95)
    assert one.plain_p_equivalent is not None
    assert one.plain_p_equivalent > LEVEL
    told_of = [c for c in crosscheck(runs).comparisons if c.margin is not None]
    shown = sum(c.plain_p_equivalent is not None and c.plain_p_equivalent <= LEVEL for c in told_of)
    assert shown < len(told_of)
    (told,) = (line for line in agreement.notes(crosscheck(runs)) if "the luck of loss" in line)
    assert f"show {shown} of the {len(told_of)} equivalent" in told
    assert agreement.plain_words(one, Quantity("kbit/s", 1e-3, 1)).count("%") == 1
    assert not at(crosscheck(runs), "loss_T_frac").at_equal_loss


def markdown(found: Crosscheck) -> str:
    return TABLE_FILES[0].text(agreement.attachment(found))


def printed(found: Crosscheck) -> str:
    stream = io.StringIO()
    print_grids(
        agreement.verdict_words(found),
        [agreement.facts_grid(found), agreement.worst_grid(found)],
        agreement.notes(found),
        Console(file=stream, width=80),
    )
    return stream.getvalue()


def test_the_file_is_read_as_it_was_written_and_a_terminal_shows_it_whole(tmp_path: Path) -> None:
    found = crosscheck(
        [
            measured(tmp_path / "a"),
            measured(tmp_path / "b", "stock", goodputs(1.06, shift=15)),
            measured(tmp_path / "c", "host", goodputs(1.02, shift=20)),
        ]
    )
    text = text_of(CROSSCHECK, found)
    again = parse(CROSSCHECK, text, "crosscheck.json")
    assert text_of(CROSSCHECK, again) == text
    assert markdown(again) == markdown(parse(CROSSCHECK, text, "x"))
    lines = printed(again).splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert sum("different" in line for line in lines) >= 4
    assert "The same: kernel 6.12." in printed(again)
    rows = [line for line in markdown(found).splitlines() if line.startswith("| Goodput, TCP SACK")]
    assert len(rows) == 4  # two points, two labs
    assert all("equivalent" in row for row in rows)


def varied(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    """Return what changes the cells of a run."""

    def edit(run: Path) -> None:
        for path in run.glob(f"cells/*/{run_folder.CELL}"):
            content = json.loads(path.read_text())
            change(content)
            write_json(path, content)

    return edit


def longer(cell: dict[str, Any]) -> None:
    cell["network"]["bottleneck"]["forward"]["owd_s"] = 0.3


def captured(cell: dict[str, Any]) -> None:
    cell["collect"] |= {"pcap": True, "telemetry": False}


def other_lab(cell: dict[str, Any]) -> None:
    cell["lab"] = {"name": "stock", "kernel": "7.3"}
    cell["limits"]["wall_s"] = 9.0


@pytest.mark.parametrize(
    ("run", "edit", "words"),
    [
        ({"changes": {"study": "other"}}, None, "id differs: wanted wireless, got other"),
        ({"changes": {"duration_s": 100.0}}, None, "duration_s differs: wanted 1000.0, got 100.0"),
        ({"losses": (0.008,)}, None, "points differs"),
        ({}, varied(longer), "network.bottleneck.forward.owd_s differs: wanted 0.25, got 0.3"),
        ({}, varied(captured), "without trace events captures instead: --pcap --no-telemetry"),
        ({"seeds": 1}, None, "too few runs to compare with a"),
        (
            {"changes": {"replication": {"half_width": 3.0, "at_least": 5, "at_most": 40}}}, None,
            "wanted a fixed number of seeds",
        ),
    ],
)  # fmt: skip
def test_what_is_not_one_study_is_refused(
    run: dict[str, Any], edit: Callable[[Path], None] | None, words: str, tmp_path: Path
) -> None:
    first = measured(tmp_path / "a")
    study = (run.get("changes") or {}).get("study")
    changes = {key: value for key, value in (run.get("changes") or {}).items() if key != "study"}
    other = measured(tmp_path / "b", "stock", **{**run, "changes": changes})
    if edit:
        edit(tmp_path / "b")
        other = dataclasses.replace(other, run=read_run(tmp_path / "b"))
    if study:
        renamed = dataclasses.replace(other.run.study, id=study)
        other = dataclasses.replace(other, run=dataclasses.replace(other.run, study=renamed))
    with pytest.raises(StudyError) as refused:
        crosscheck([first, other])
    assert words in str(refused.value)
    assert "b" in refused.value.where


def test_labs_and_kernels_may_differ(tmp_path: Path) -> None:
    first, other = measured(tmp_path / "a"), measured(tmp_path / "b", "stock")
    varied(other_lab)(tmp_path / "b")
    other = dataclasses.replace(other, run=read_run(tmp_path / "b"))
    assert crosscheck([first, other]).having("different") == ()


def test_seeds_that_have_nothing_in_common_are_refused(tmp_path: Path) -> None:
    first, other = measured(tmp_path / "a"), measured(tmp_path / "b", "stock")
    cells = tuple(dataclasses.replace(cell, seed=100 + cell.seed) for cell in other.cells)
    with pytest.raises(StudyError, match=r"seeds that count in both, got 0 \(of 12 and 12\)"):
        crosscheck([first, dataclasses.replace(other, cells=cells)])


def test_facts_of_a_lab_are_what_its_cells_recorded(tmp_path: Path) -> None:
    run = build_run(tmp_path / "a", losses=(0.01,), seeds=2)
    found = read_run(run)
    checks = (
        Check(check="rtt", where="src1 to dst1 and back", wanted="509.092 ms within 1.000 ms",
              got="509.179 ms", agrees=True),
        Check(check="start", where="flow T", wanted="0.000000 s within 12 ms", got="0.003083 s",
              agrees=True),
        Check(check="start", where="flow S", wanted="0.000000 s within 12 ms", got="never",
              agrees=False),
    )  # fmt: skip
    cells = tuple(dataclasses.replace(cell, checks=checks) for cell in found.finished)
    told = facts(dataclasses.replace(found, finished=cells), [250.0])
    assert told == {
        "kernel": "6.12.48", "lab": "virtual", "timer": "250 Hz",
        "round trip, calibrated": "at most 0.09 ms off (1 allowed)",
        "a flow begins": "at most 3.08 ms off (12 allowed)",
    }  # fmt: skip
    assert "timer" not in facts(found, [])

    cell = only_cell(run)
    assert read_timer_hz(run, cell.name) is None
    write_json(cell / run_folder.SOCKET_SOURCES, {"tick_ns": NS_PER_S // 250, "sources": []})
    assert read_timer_hz(run, cell.name) == 250
