"""Options of `mn --topo`: each quantity of each link and way can be said, and means the cell's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mininet_topos import dumbbell, options
from mininet_topos.layout import Layout
from model.links import BurstLoss, Direction, Link, Loss, Network
from model.network_path import derived_channel_limit_pkts

NONE = Loss(model="none", loss_frac=0.0)


def direction(rate_bps: int, queue_pkts: int, owd_s: float, loss: Loss | BurstLoss) -> Direction:
    return Direction(
        rate_bps=rate_bps, queue_pkts=queue_pkts, owd_s=owd_s, loss=loss,
        channel_limit_pkts=derived_channel_limit_pkts(rate_bps, owd_s),
    )  # fmt: skip


def commands(laid_out: Layout) -> list[str]:
    return [f"{stage.node} {stage.command()}" for stage in laid_out.stages]


def test_a_papers_dumbbell_is_a_cells() -> None:
    access = direction(10_000_000, 100, 0.002, NONE)
    network = Network(
        topology="dumbbell",
        sources=3,
        destinations=1,
        source_access=Link(forward=access, reverse=direction(10_000_000, 5, 0.002, NONE)),
        bottleneck=Link(
            forward=direction(2_000_000, 10, 0.25, Loss(model="random", loss_frac=0.01)),
            reverse=direction(128_000, 10, 0.3, NONE),
        ),
        destination_access=Link(forward=access, reverse=access),
    )
    given = dumbbell.Dumbbell.lay_out(
        pairs=3, destinations=1, seed=9, rate_bps=2_000_000, queue_pkts=10, owd_s=0.25,
        forward_loss_frac=0.01, bottleneck_reverse_rate_bps=128_000, reverse_owd_s=0.3,
        source_access_reverse_queue_pkts=5,
    )  # fmt: skip
    wanted = dumbbell.lay_out(network, 9)
    assert commands(given) == commands(wanted)
    assert given.links == wanted.links
    assert given.routes == wanted.routes


def test_losses_in_bursts() -> None:
    burst: dict[str, Any] = {
        "to_bad_frac": 0.005, "to_good_frac": 0.25, "loss_bad_frac": 0.8, "loss_good_frac": 0.001,
    }  # fmt: skip
    given = dumbbell.Dumbbell.lay_out(**{f"forward_{name}": value for name, value in burst.items()})
    lossy = [command for command in commands(given) if " loss " in command]
    assert [line.partition(" seed ")[0].partition(" loss ")[2] for line in lossy] == [
        "gemodel 0.5% 25% 80% 0.1%"
    ]


def link(given: dict[str, Any]) -> Any:
    return options.Options(given).link(options.SOURCE_ACCESS, options.ACCESS)


@pytest.mark.parametrize(
    ("given", "forward_bps", "reverse_bps"),
    [
        ({}, 10_000_000, 10_000_000),
        ({"access_rate_bps": 7}, 7, 7),
        ({"access_rate_bps": 7, "access_reverse_rate_bps": 8}, 7, 8),
        ({"access_reverse_rate_bps": 8, "source_access_rate_bps": 9}, 9, 9),
        ({"source_access_rate_bps": 9, "source_access_forward_rate_bps": 10}, 10, 9),
        ({"rate_bps": 5}, 10_000_000, 10_000_000),
    ],
)
def test_the_nearest_name_wins(given: dict[str, Any], forward_bps: int, reverse_bps: int) -> None:
    asked = link(given)
    assert (asked.forward.rate_bps, asked.reverse.rate_bps) == (forward_bps, reverse_bps)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rate_mbps": 3}, "unknown option rate_mbps; known are access_channel_limit_pkts, "),
        ({"pairs": 0}, "pairs: wanted a whole number at least 1, got 0"),
        ({"queue_pkts": 1.5}, "queue_pkts: wanted a whole number at least 1, got 1.5"),
        ({"owd_s": "250ms"}, "owd_s: wanted a number at least 0, got '250ms'"),
        ({"forward_loss_frac": 1.01}, "forward_loss_frac: wanted a number from 0 to 1, got 1.01"),
        ({"seed": -1}, "seed: wanted a whole number at least 0, got -1"),
    ],
)
def test_what_cannot_be_is_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(options.OptionError) as caught:
        dumbbell.Dumbbell.lay_out(**given)
    assert str(caught.value).startswith(said)


def test_a_whole_number_may_be_written_as_a_float() -> None:
    assert link({"access_rate_bps": 3e6}).forward == SimpleNamespace(
        rate_bps=3_000_000, queue_pkts=100, owd_s=0.002, channel_limit_pkts=1019,
        loss=SimpleNamespace(model="none", loss_frac=0.0), discipline=options.DROP_TAIL,
    )  # fmt: skip
