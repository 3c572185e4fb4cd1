"""Alternatives of assumptions in a study file: which points they make, and what is refused."""

from __future__ import annotations

from testbed.points.load_study import Study
from tests.support.study_file import (
    PLAIN_PROFILE,
    UNPUBLISHED,
    Edit,
    study,
)

DELAY = (
    "    why: The published parameter table prints 25, the text says GEO satellite and 250 ms.\n"
)


def with_alternatives(*lines: str) -> Edit:
    """Return the edit that adds lines to the first assumption."""
    return (DELAY, DELAY + "".join(f"    {line}\n" for line in lines))


def own_values(loaded: Study) -> list[dict[str, object]]:
    return [dict(point.values) for point in loaded.alternatives.points]


def test_a_study_without_alternatives_has_no_variations() -> None:
    loaded = study()
    assert loaded.variations == ()
    assert loaded.all_points == loaded.points


def test_an_alternative_is_every_point_again_with_its_settings() -> None:
    loaded = study(with_alternatives("alternatives: [{network.bottleneck.delay: 25 ms}]"))
    (variation,) = loaded.variations
    assert (variation.assumption, variation.settings) == ("bottleneck-delay", {"owd_s": 0.025})
    assert variation.words == "bottleneck delay 25 ms"
    assert variation.of == tuple(range(7))
    assert variation.points == tuple(range(7, 14))
    assert own_values(loaded)[2] == {"loss_frac": 0.01, "owd_s": 0.025}
    at = loaded.alternatives.points[2].settings.network.links()[1]
    assert (at.loss.loss_frac, at.owd_s) == (0.01, 0.025)
    assert [(p.name, p.path) for p in loaded.alternatives.parameters] == [
        ("owd_s", "network.bottleneck.delay")
    ]
    assert [p.name for p in loaded.parameters] == ["loss_frac"]


def test_at_restricts_where_and_a_swept_setting_is_overridden() -> None:
    loss, queue = "network.bottleneck.loss.data", "network.bottleneck.queue"
    loaded = study(
        with_alternatives(
            f"alternatives: [{{{loss}: 5 %, {queue}: 20 packets}}, {{{loss}: 3 %}}]",
            f"at: {{{loss}: 1 %}}",
        )
    )
    first, second = loaded.variations
    assert first.words == "bottleneck loss data 5 %, bottleneck queue 20 packets"
    assert first.settings == {"loss_frac": 0.05, "queue_pkts": 20}
    assert own_values(loaded) == [{"loss_frac": 0.05, "queue_pkts": 20}]
    assert (first.of, first.points) == ((2,), (7,))
    # 3 % is a point of the study already: nothing is run twice.
    assert (second.of, second.points) == ((2,), (6,))


def test_names_that_are_taken_become_longer_and_the_studys_stay() -> None:
    rates = "network.source_access.rate: 1 Mbit/s"
    edit = ("sweep:\n", "sweep:\n  network.bottleneck.rate: [2 Mbit/s, 3 Mbit/s]\n")
    text = (with_alternatives(f"alternatives: [{{{rates}}}]"), edit)
    loaded = study(*text, UNPUBLISHED)
    assert [p.name for p in loaded.parameters] == ["rate_bps", "loss_frac"]
    assert [p.name for p in loaded.alternatives.parameters] == ["source_access_rate_bps"]


def test_hosts_of_an_alternative_are_loaded() -> None:
    own = ("seeds:", f"{PLAIN_PROFILE}seeds:")
    loaded = study(with_alternatives("alternatives: [{hosts: plain}]"), own)
    assert set(loaded.profiles) == {"paper", "plain"}
