"""Movements that setdest drew: hops between nodes as setdest itself says, whenever it says so."""

from __future__ import annotations

import itertools
import re

import pytest

from model.movement.closeness import links
from model.movement.measures import hops_over_time, speeds
from model.movement.paths import Field
from simulators.movements.claimed import Claimed
from simulators.movements.read import read
from tests.support.recorded import DATA

S = 1_000_000_000
NODES, UNTIL_NS = 8, 200 * S
FIELD = Field(width_mm=1_000_000, height_mm=300_000)
#: What setdest says of nodes that nothing joins, and how near its times of a change are to ours.
NEVER, NEAR_S = 0x00FFFFFF, 0.001
_HOPS = re.compile(r'(?:\$ns_ at (\S+) ")?\$god_ set-dist (\d+) (\d+) (\d+)"?')

Steps = list[tuple[float, int | None]]


def theirs(text: str) -> dict[tuple[int, int], Steps]:
    """Return the steps that setdest wrote, those that are taken back at once left out."""
    found: dict[tuple[int, int], Steps] = {
        pair: [] for pair in itertools.combinations(range(NODES), 2)
    }
    for line in text.splitlines():
        if match := _HOPS.fullmatch(line):
            t_s, hops = float(match[1] or 0), int(match[4])
            steps = found[int(match[2]), int(match[3])]
            if steps and steps[-1][0] == t_s:
                steps.pop()
            if not steps or steps[-1][1] != (None if hops == NEVER else hops):
                steps.append((t_s, None if hops == NEVER else hops))
    return found


@pytest.mark.parametrize("name", ["v1.txt", "v2.txt"])
def test_hops_are_those_of_setdest(name: str) -> None:
    file = DATA / "setdest-2.35" / name
    found = read(file, "setdest", Claimed(nodes=NODES, field=FIELD, until_ns=UNTIL_NS))
    (note,) = found.notes
    text = file.read_text()
    assert note == f"{file}: {text.count('god_')} lines of $god_ passed over"
    met = links(found.movement, 250_000, UNTIL_NS)
    compared = 0
    for pair, wanted in theirs(text).items():
        steps = [(step.t_ns / S, step.hops) for step in hops_over_time(met, *pair)]
        inside = [step for step in wanted if step[0] < UNTIL_NS / S]
        assert [hops for _, hops in steps] == [hops for _, hops in inside], pair
        for (t_s, _), (their_s, _) in zip(steps, inside, strict=True):
            assert abs(t_s - their_s) < NEAR_S
        compared += len(steps)
    assert compared > 100
    assert 1 < speeds(found.movement, 0, UNTIL_NS).mean_mps < 20
