"""Queue disciplines in a study file: what is read, resolved, swept, and what their kernels are."""

from __future__ import annotations

import pytest

from model.cell import cell_json, from_dict
from model.fields import to_dict
from model.links import FIFO, Discipline
from testbed.study_checks.queues import bottlenecks
from tests.support.study_file import SWEEP, UNPUBLISHED, Edit, cells, study

LOSS = "    loss:\n      data: 1 %"
KIND: Edit = (LOSS, f"    queue_discipline: {{kind: codel}}\n{LOSS}")
NO_SWEEP: Edit = (SWEEP, "  network.bottleneck.rate: [3 Mbit/s]\n")


def managed(words: str) -> Discipline:
    before, after = KIND
    (cell,) = cells(NO_SWEEP, (before, after.replace("{kind: codel}", words)))
    assert cell.wired.bottleneck.reverse.discipline == cell.wired.bottleneck.forward.discipline
    assert cell.wired.source_access.forward.discipline == FIFO
    assert from_dict(to_dict(cell)) == cell
    return cell.wired.bottleneck.forward.discipline


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("{kind: fifo}", FIFO),
        (
            "{kind: codel}",
            Discipline(kind="codel", target_s=0.005, interval_s=0.1, ecn=False, queues=0,
                       quantum_bytes=0),
        ),
        (
            "{kind: codel, target: 20 ms, interval: 400 ms, ecn: true}",
            Discipline(kind="codel", target_s=0.02, interval_s=0.4, ecn=True, queues=0,
                       quantum_bytes=0),
        ),
        (
            "{kind: fq_codel}",
            Discipline(kind="fq_codel", target_s=0.005, interval_s=0.1, ecn=False, queues=1024,
                       quantum_bytes=1514),
        ),
        (
            "{kind: fq_codel, queues: 16, quantum: 300 bytes}",
            Discipline(kind="fq_codel", target_s=0.005, interval_s=0.1, ecn=False, queues=16,
                       quantum_bytes=300),
        ),
        (
            "{kind: pie, ecn: true}",
            Discipline(kind="pie", target_s=0.015, interval_s=0.016, ecn=True, queues=0,
                       quantum_bytes=0),
        ),
    ],
)  # fmt: skip
def test_what_is_left_out_is_as_the_discipline_has_it(words: str, found: Discipline) -> None:
    assert managed(words) == found


def test_a_cell_without_one_says_nothing_of_it() -> None:
    assert "discipline" not in cell_json(cells(NO_SWEEP)[0])
    (said,) = cells(NO_SWEEP, (KIND[0], KIND[1].replace("codel", "fifo")))
    assert cell_json(said) == cell_json(cells(NO_SWEEP)[0])


def test_kinds_and_parameters_can_be_swept() -> None:
    kinds = "  network.bottleneck.queue_discipline.kind: [codel, pie]\n"
    marks = "  network.bottleneck.queue_discipline.ecn: [false, true]\n"
    found = cells(KIND, (SWEEP, kinds + marks))
    assert [(cell.point["queue_discipline"], cell.point["ecn"]) for cell in found] == [
        ("codel", "false"), ("codel", "true"), ("pie", "false"), ("pie", "true"),
    ]  # fmt: skip
    assert [cell.wired.bottleneck.forward.discipline.ecn for cell in found] == [False, True] * 2


@pytest.mark.parametrize(
    ("kinds", "named"),
    [
        ("fifo, codel", "7.3+aqm"), ("pie", "7.3+aqm"), ("fifo, fq_codel", "7.3"),
        ("fifo", "7.3"),
    ],
)  # fmt: skip
def test_all_points_of_a_study_have_one_kernel(kinds: str, named: str) -> None:
    first = kinds.split(",")[0]
    read = study(
        UNPUBLISHED,
        (KIND[0], KIND[1].replace("codel", first)),
        (SWEEP, f"  network.bottleneck.queue_discipline.kind: [{kinds}]\n"),
    )
    assert {read.kernel_at(point) for point in read.points} == {named}


def test_what_the_seed_decides() -> None:
    def chance(words: str) -> tuple[str, ...]:
        edit = (KIND[0], KIND[1].replace("{kind: codel}", words))
        (cell,) = cells(NO_SWEEP, edit, ("data: 1 %", "data: 0 %"))
        return cell.left_to_chance()

    assert "queues" not in chance("{kind: codel}")
    assert "queues" in chance("{kind: pie}")
    assert "queues" in chance("{kind: fq_codel}")


def test_events_name_the_bottlenecks_of_both_paths() -> None:
    (place, name, _), *others = bottlenecks(study(UNPUBLISHED, NO_SWEEP).settings.network)
    assert (place, name, others) == (("network", "bottleneck"), "bottleneck", [])
