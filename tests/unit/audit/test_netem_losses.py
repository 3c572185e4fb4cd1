"""What a run's loss models lost is what their seeds draw: in a recorded cell, and not otherwise."""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import Any

import pytest

from collectors.audit import netem_losses, packet_balance
from collectors.audit.packet_balance import Evidence
from model import netem_draws
from model.cell import Cell, from_dict
from model.links import BurstLoss, Loss
from tests.support.recorded import value

CELL: Cell = from_dict(value("lab-cell-7.3/cell.json"))
END: dict[str, list[dict[str, Any]]] = value("lab-cell-7.3/raw/qdiscs.json")
EVIDENCE = Evidence(
    stretches=packet_balance.stretches(value("lab-cell-7.3/raw/path.json"), CELL), qdiscs={},
    counters={}, tally=None, sent_data={}, repeated={}, received_bytes={},
)  # fmt: skip
WHERE = "bottleneck channel (r2: ifb-bottleneck)"


@pytest.mark.parametrize("seed", [0, 1, 7491548076416030204, (1 << 63) - 1])
@pytest.mark.parametrize("count", [0, 1, 511, 512, 513, 5000])
def test_draws_made_side_by_side_are_those_made_in_turn(seed: int, count: int) -> None:
    made = netem_losses.uniform(seed, count).tolist()
    assert made == list(itertools.islice(netem_draws.uniform(seed), count))


def test_losses_of_every_model_are_counted_alike() -> None:
    bursts = BurstLoss(
        model="gilbert_elliott", to_bad_frac=0.02, to_good_frac=0.25, loss_bad_frac=0.8,
        loss_good_frac=0.001,
    )  # fmt: skip
    for loss in (bursts, Loss(model="random", loss_frac=0.02)):
        fates = itertools.islice(netem_draws.fates([loss], 3), 3000)
        assert netem_losses.lost_pkts(loss, 3, 3000) == sum(gone for (gone,) in fates)
    for model in ("none", "paired", "equal_drops"):
        loss = Loss(model=model, loss_frac=0.0 if model == "none" else 0.5)
        assert netem_losses.lost_pkts(loss, 3, 3000) == 0


def test_the_recorded_cell_lost_what_its_seed_draws() -> None:
    found = netem_losses.checks(CELL, EVIDENCE, END)
    assert [check.where for check in found] == [
        WHERE, "bottleneck channel, acknowledgements (r1: ifb-bottleneck)",
    ]  # fmt: skip
    assert [check.agrees for check in found] == [True, True]
    assert found[0].got != "0 packets"


def test_another_loss_another_seed_or_a_drop_of_others_is_seen() -> None:
    more = json.loads(json.dumps(END))
    next(q for q in more["r2"] if q["dev"] == "ifb-bottleneck")["drops"] += 1
    assert netem_losses.checks(CELL, EVIDENCE, more)[0].agrees is False
    seed = dataclasses.replace(CELL, seed=CELL.seed + 1)
    assert not all(check.agrees for check in netem_losses.checks(seed, EVIDENCE, END))
