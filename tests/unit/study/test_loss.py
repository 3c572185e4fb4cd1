"""Loss models and spread starts in a study file: what is read, resolved, swept, and refused."""

from __future__ import annotations

import pytest

from model.cell import BurstLoss, Cell, Loss
from testbed.findings import find
from testbed.points.resolve import resolve_cell
from tests.support.study_file import SWEEP, UNPUBLISHED, Edit, edited, problems, study

BURSTS = """model: gilbert_elliott
      to_bad: 0.5 %
      to_good: 25 %
      loss_bad: 80 %
      loss_good: 0 %"""
LINK_LOSS = "    loss: {data: 1 %, acknowledgements: 0 %, process: paired}\n"
NO_SWEEP: Edit = (SWEEP, "  network.bottleneck.rate: [3 Mbit/s]\n")


def cells(*edits: Edit, seed: int = 1) -> list[Cell]:
    """Return the cells of the edited study, one per point."""
    loaded = study(UNPUBLISHED, *edits)
    return [resolve_cell(loaded, p, seed=seed, replicate=1, lab={}) for p in loaded.points]


def losses(*edits: Edit) -> list[Loss | BurstLoss]:
    return [cell.network.bottleneck.forward.loss for cell in cells(*edits)]


def wrong(*edits: Edit) -> list[str]:
    """Return what is said of the edited study, without its place in the file."""
    return [line.split(": ", 1)[1] for line in problems(edited(UNPUBLISHED, *edits))]


def test_losses_in_bursts() -> None:
    (found,) = losses(NO_SWEEP, ("data: 1 %", BURSTS))
    assert found == BurstLoss(
        model="gilbert_elliott", to_bad_frac=0.005, to_good_frac=0.25, loss_bad_frac=0.8,
        loss_good_frac=0.0,
    )  # fmt: skip


def test_a_part_of_the_model_can_be_swept() -> None:
    found = cells((SWEEP, "  network.bottleneck.loss.to_bad: [1 %, 2 %]\n"), ("data: 1 %", BURSTS))
    assert [cell.point for cell in found] == [{"to_bad_frac": 0.01}, {"to_bad_frac": 0.02}]
    assert [cell.network.bottleneck.forward.loss.loss_frac for cell in found] == [
        pytest.approx(0.8 * 1 / 26), pytest.approx(0.8 * 2 / 27),
    ]  # fmt: skip


def test_paired_loss_is_of_the_data_alone_and_none_is_none() -> None:
    paired: Edit = ("data: 1 %", "data: 1 %\n      process: paired")
    assert losses(NO_SWEEP, paired) == [Loss(model="paired", loss_frac=0.01)]
    (cell,) = cells(NO_SWEEP, paired, ("acknowledgements: 0 %", "acknowledgements: 2 %"))
    assert cell.network.bottleneck.reverse.loss == Loss(model="random", loss_frac=0.02)
    (none,) = losses(NO_SWEEP, ("data: 1 %", "data: 0 %\n      process: paired"))
    assert none == Loss(model="none", loss_frac=0.0)


EQUAL: Edit = ("data: 1 %", "data: 1 %\n      process: equal_drops")


def test_equal_drops_are_of_the_data_alone() -> None:
    assert losses(NO_SWEEP, EQUAL) == [Loss(model="equal_drops", loss_frac=0.01)]
    alike: list[Edit] = [(f"pair: {n}\n", f"pair: {n}\n    start: 5 s\n") for n in (1, 2)]
    assert losses(NO_SWEEP, EQUAL, *alike) == [Loss(model="equal_drops", loss_frac=0.01)]


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([("protocol: tcp", "protocol: udp\n    rate: 1 Mbit/s"),
          ("    streams: 1\n    ordered: true\n", ""), ("protocol: sctp", "protocol: tcp")],
         ("too few flows to lose equally many: wanted shared, or two flows of tcp or sctp, got"
         " equal_drops, and 1 of them (what is sent over udp is the same whatever is lost)")),
        ([("    pair: 1\n", "    pair: 1\n    stop: 90 s\n")],
         ("not all flows last as long: wanted shared, or the same start, start_spread and stop for"
         " all flows, got equal_drops, and flow S unlike T (a flow that is not there cannot lose"
         " what the others do)")),
        ([("    pair: 2\n", "    pair: 2\n    generator: iperf3\n")],
         ("cannot number the data packets of iperf3: wanted shared, or generator probe, got"
         " equal_drops, and flow S over iperf3 (its control connection has the same port)")),
    ],
)  # fmt: skip
def test_flows_that_cannot_lose_equally_many_are_refused(edits: list[Edit], said: str) -> None:
    found = [line for line in wrong(NO_SWEEP, EQUAL, *edits) if "process" in line]
    assert found == [f"network.bottleneck.loss.process: {said}"]


def test_losses_of_both_kinds_leave_something_to_chance() -> None:
    for text in (BURSTS, "data: 1 %\n      process: paired"):
        (cell,) = cells(NO_SWEEP, ("data: 1 %", text))
        assert "losses" in cell.left_to_chance()


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([("data: 1 %", BURSTS.replace("      loss_bad: 80 %\n", ""))],
         "network.bottleneck.loss.loss_bad: missing key: wanted a percentage such as '100 %'"),
        ([("data: 1 %", f"data: 1 %\n      {BURSTS}")],
         ("network.bottleneck.loss.data: a model gilbert_elliott has no such key: wanted no such"
         " key, or model: independent")),
        ([("data: 1 %", f"process: paired\n      {BURSTS}")],
         ("network.bottleneck.loss.process: losses in bursts have no other process: wanted shared,"
         " or model: independent, got paired (a burst is of packets in a row, whoever sent"
         " them)")),
        ([("data: 1 %", f"process: equal_drops\n      {BURSTS}")],
         ("network.bottleneck.loss.process: losses in bursts have no other process: wanted shared,"
         " or model: independent, got equal_drops (a burst is of packets in a row, whoever sent"
         " them)")),
        ([("data: 1 %", BURSTS.replace("25 %", "0 %"))],
         ("network.bottleneck.loss.to_good: a state that is never left or never reached: wanted"
         " more than 0 %, got 0 %")),
        ([("data: 1 %", BURSTS.replace("loss_good: 0 %", "loss_good: 90 %"))],
         ("network.bottleneck.loss.loss_bad: the bad state loses no more than the good one: wanted"
         " more than 90 % (loss_good), got 80 %")),
        ([("    delay: 2 ms", LINK_LOSS + "    delay: 2 ms")],
         ("network.source_access.loss.process: only the bottleneck has it: wanted shared, got"
         " paired (what is lost there is measured and counted by flow)")),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(edits: list[Edit], said: str) -> None:
    assert wrong(NO_SWEEP, *edits) == [said]


def test_iperf3s_packets_cannot_be_paired() -> None:
    paired: Edit = ("data: 1 %", "data: 1 %\n      process: paired")
    over: Edit = ("generator: probe", "generator: iperf3")
    alone: Edit = ("    pair: 2\n", "    pair: 2\n    generator: iperf3\n")
    for edit, flows in ((over, ("T", "S")), (alone, ("S",))):
        assert wrong(NO_SWEEP, paired, edit) == [
            "network.bottleneck.loss.process: cannot number the data packets of iperf3: wanted"
            f" shared, or generator probe, got paired, and flow {flow} over iperf3 (its control"
            " connection has the same port)"
            for flow in flows
        ]


SPREAD: Edit = ("    pair: 1\n", "    pair: 1\n    start: 10 s\n    start_spread: 2 s\n")


def starts(seed: int) -> list[tuple[float, float]]:
    found = cells(NO_SWEEP, SPREAD, seed=seed)[0].flows
    return [(flow.start_s, flow.start_spread_s) for flow in found]


def test_starts_are_drawn_from_the_seed_and_the_flows_name() -> None:
    (first, spread_s), other = starts(1)
    assert 10 <= first < 12
    assert first == round(first, 9)
    assert (spread_s, other) == (2.0, (0.0, 0.0))
    assert starts(1) == starts(1)
    assert starts(2)[0] != starts(1)[0]


def test_each_copy_starts_at_a_time_of_its_own() -> None:
    copied: Edit = ("    pair: 1\n", "    pair: 1\n    copies: 3\n    start_spread: 1 s\n")
    more = (("pairs: 2", "pairs: 4"), ("    pair: 2\n", "    pair: next\n"))
    times = [flow.start_s for flow in cells(NO_SWEEP, copied, *more)[0].flows]
    assert len(set(times[:3])) == 3
    assert times[3] == 0.0


def test_a_spread_start_is_chance_and_one_without_losses_and_heartbeats_is_none() -> None:
    short = (("duration: 1000 s", "duration: 14 s"), ("data: 1 %", "data: 0 %"), NO_SWEEP)
    assert cells(*short)[0].left_to_chance() == ()
    assert cells(*short, SPREAD)[0].left_to_chance() == ("starts",)
    longer = [("duration: 1000 s", "duration: 20 s"), *short[1:]]
    assert cells(*longer)[0].left_to_chance() == ("heartbeats",)
    loaded = study(UNPUBLISHED, *longer, SPREAD)
    assert "one-seed" in {found.rule for found in find.find(loaded, seeds=(1,)).warnings}


def test_a_flow_must_be_able_to_start_before_it_ends() -> None:
    late: Edit = ("    pair: 1\n", "    pair: 1\n    start: 999 s\n    start_spread: 1 s\n")
    assert wrong(NO_SWEEP, late) == [
        (
            "flows.T.start_spread: starts when it has already ended: wanted less than 1000 s"
            " (duration), got 1000 s"
        )
    ]
