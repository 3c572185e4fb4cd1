"""One direction of a link as two netem stages: tc's lines, and what is read back compared."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from mininet_topos.channel import Role, Stage
from model.links import BurstLoss, Direction, Loss
from tests.support.recorded import direction

BURSTY = direction(
    loss=BurstLoss(
        model="gilbert_elliott", to_bad_frac=0.005, to_good_frac=0.25, loss_bad_frac=0.8,
        loss_good_frac=0.001,
    )
)  # fmt: skip
#: What iproute2 6.15 shows of it.
GEMODEL = {"p": 0.005, "r": 0.25, "1-h": 0.8, "1-k": 0.001}
LOSSY = direction(loss=Loss(model="random", loss_frac=0.01))


def stage(
    role: Role, link: Direction, *, parent: str = "root", seed: int = 7, feeds: bool = False
) -> Stage:
    return Stage(
        node="r1",
        device="r1-src1",
        parent=parent,
        handle="1:",
        role=role,
        direction=link,
        seed=seed,
        feeds_shaper=feeds,
    )


def losing(model: Literal["random", "paired"], loss_frac: float) -> Direction:
    return direction(loss=Loss(model=model, loss_frac=loss_frac))


DELAYED = "limit 3458 delay 250000000ns"


@pytest.mark.parametrize(
    ("made", "options"),
    [
        (stage("shaper", LOSSY), "limit 10 rate 3000000bit -14"),
        (stage("channel", LOSSY), f"{DELAYED} loss random 1% seed 7"),
        # Its child shaper's ten packets count against the channel's own limit.
        (stage("channel", direction(), feeds=True), "limit 3468 delay 250000000ns"),
        (stage("channel", direction(owd_s=0.0)), "limit 3458 delay 0ns"),
        (stage("channel", direction(owd_s=0.0123456789)), "limit 3458 delay 12345679ns"),
        (
            stage("channel", losing("random", 0.00123456789)),
            f"{DELAYED} loss random 0.123456789% seed 7",
        ),
        (stage("channel", losing("random", 0.3)), f"{DELAYED} loss random 30% seed 7"),
        (stage("channel", BURSTY), f"{DELAYED} loss gemodel 0.5% 25% 80% 0.1% seed 7"),
        # What is drawn by number is dropped before netem, which must lose nothing besides.
        (stage("channel", losing("paired", 0.3)), DELAYED),
    ],
)
def test_options(made: Stage, options: str) -> None:
    assert made.options() == options


def test_command_names_device_place_and_handle() -> None:
    assert stage("shaper", LOSSY).command() == (
        "qdisc add dev r1-src1 root handle 1: netem limit 10 rate 3000000bit -14\n"
    )
    assert stage("shaper", LOSSY, parent="1:1").command().startswith(
        "qdisc add dev r1-src1 parent 1:1 handle 1: netem "
    )  # fmt: skip
    assert stage("shaper", LOSSY).where() == "r1:r1-src1 1:"


def shaper(**options: Any) -> dict[str, Any]:
    """Return what tc shows of the shaper, with changes; 375000 bytes/s are 3 Mbit/s."""
    rate = {"celloverhead": 0, "cellsize": 0, "packetoverhead": -14, "rate": 375_000}
    return {"options": {"ecn": False, "gap": 0, "limit": 10, "rate": rate, "seed": 1} | options}


def channel(**options: Any) -> dict[str, Any]:
    """Return what tc shows of the channel, with changes."""
    shown = {
        "limit": 3458,
        "delay": {"correlation": 0, "delay": 0.25, "jitter": 0},
        "loss-random": {"correlation": 0, "loss": 0.01},
        "seed": 7,
    }
    return {"options": shown | options}


def test_what_was_asked_is_no_mismatch() -> None:
    assert stage("shaper", LOSSY).mismatches(shaper()) == []
    assert stage("channel", LOSSY).mismatches(channel()) == []


def test_overhead_may_be_printed_as_an_unsigned_number() -> None:
    rate = {"packetoverhead": (1 << 32) - 14, "rate": 375_000}
    assert stage("shaper", LOSSY).mismatches(shaper(rate=rate)) == []


@pytest.mark.parametrize(
    ("role", "shown", "mismatch"),
    [
        ("shaper", shaper(limit=11), ("limit_pkts", "10", "11")),
        (
            "shaper",
            shaper(rate={"packetoverhead": -14, "rate": 375_001}),
            ("rate_bps", "3000000", "3000008"),
        ),
        (
            "shaper",
            shaper(rate={"packetoverhead": 0, "rate": 375_000}),
            ("rate_overhead_bytes", "-14", "0"),
        ),
        ("shaper", shaper(delay={"delay": 0.25}), ("delay_s", "0", "0.25")),
        ("shaper", shaper(**{"loss-random": {"loss": 0.01}}), ("loss_frac", "0", "0.01")),
        ("channel", channel(limit=1000), ("limit_pkts", "3458", "1000")),
        ("channel", channel(delay={"delay": 0.2501}), ("delay_s", "0.25", "0.2501")),
        ("channel", channel(**{"loss-random": {"loss": 0.0101}}), ("loss_frac", "0.01", "0.0101")),
        ("channel", channel(**{"loss-random": {}}), ("loss_frac", "0.01", "0")),
        ("channel", channel(seed=8), ("seed", "7", "8")),
    ],
)
def test_each_altered_setting_is_named(
    role: Role, shown: dict[str, Any], mismatch: tuple[str, str, str]
) -> None:
    assert stage(role, LOSSY).mismatches(shown) == [mismatch]


def test_a_channel_with_a_rate_is_named() -> None:
    shown = channel(rate={"packetoverhead": -14, "rate": 375_000})
    assert [name for name, _, _ in stage("channel", LOSSY).mismatches(shown)] == [
        "rate_bps",
        "rate_overhead_bytes",
    ]


def test_a_qdisc_that_shows_nothing_agrees_with_nothing() -> None:
    assert [name for name, _, _ in stage("shaper", LOSSY).mismatches({})] == [
        "limit_pkts",
        "rate_bps",
        "rate_overhead_bytes",
    ]


def bursty(**changes: float) -> dict[str, Any]:
    """Return what tc shows of the channel with losses in bursts, with changes."""
    return channel(**{"loss-random": {}, "loss-gemodel": {**GEMODEL, **changes}})


def test_each_altered_part_of_a_model_of_bursts_is_named() -> None:
    made = stage("channel", BURSTY)
    assert made.mismatches(bursty()) == []
    for word, name in (("p", "to_bad_frac"), ("r", "to_good_frac"), ("1-h", "loss_bad_frac"),
                       ("1-k", "loss_good_frac")):  # fmt: skip
        assert [wrong for wrong, _, _ in made.mismatches(bursty(**{word: 0.5}))] == [name]
    assert [name for name, _, _ in made.mismatches(channel())] == [
        "loss_frac", "to_bad_frac", "to_good_frac", "loss_bad_frac", "loss_good_frac",
    ]  # fmt: skip
    no_seed = bursty()
    no_seed["options"]["seed"] = 8
    assert [wrong for wrong, _, _ in made.mismatches(no_seed)] == ["seed"]


def test_loss_may_differ_by_the_kernels_resolution_only() -> None:
    # The kernel holds a 32-bit fraction: 0.01 is 42949673 / 2**32 = 0.0100000000093...
    kernel = round(0.01 * 2**32) / 2**32
    assert stage("channel", LOSSY).mismatches(channel(**{"loss-random": {"loss": kernel}})) == []
    wrong = channel(**{"loss-random": {"loss": 0.0100001}})
    assert stage("channel", LOSSY).mismatches(wrong) != []
    # A seed is not rounded: these two differ in the last of 63 bits.
    one = stage("channel", LOSSY, seed=2**63 - 1)
    assert one.mismatches(channel(seed=2**63 - 1)) == []
    assert [name for name, _, _ in one.mismatches(channel(seed=2**63 - 2))] == ["seed"]
