"""Alternatives of assumptions in a study file: which points they make, and what is refused."""

from __future__ import annotations

import pytest

from testbed.points.load_study import Study
from tests.support.study_file import (
    PLAIN_PROFILE,
    UNPUBLISHED,
    Edit,
    edited,
    line_of,
    problems,
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
    at = loaded.alternatives.points[2].settings.network.bottleneck
    assert (at.loss.loss_frac, at.owd_s) == (0.01, 0.025)
    assert [(p.name, p.path) for p in loaded.alternatives.parameters] == [
        ("owd_s", "network.bottleneck.delay")
    ]
    assert [p.name for p in loaded.parameters] == ["loss_frac"]


def test_an_alternative_of_a_setting_that_cannot_be_read_is_not_compared_with_it() -> None:
    text = edited(
        ("streams: 1\n", "streams: one\n"),
        with_alternatives("alternatives: [{flows.S.streams: 2}]"),
    )
    line = line_of(text, "streams: one")
    (told,) = problems(text)
    assert told.startswith(f"w.yaml:{line}: flows.S.streams: wrong kind: wanted a whole number")


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


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ("alternatives: [{network.bottleneck.delay: 250 ms}]",
             "at: {network.bottleneck.loss.data: 1 %}"),
            ("alternatives[0].network.bottleneck.delay: what the study has already: wanted another"
            " value (at loss_frac=0.01; 'at' says where to vary)"),
        ),
        (("alternatives: [{}]",), "alternatives[0]: empty: wanted at least one setting"),
        (
            ("alternatives: [{network.bottleneck.dealy: 25 ms}]",),
            "network.bottleneck.dealy: unknown key: wanted one of rate, delay, queue,",
        ),
        (
            ("alternatives: [{network.botleneck.delay: 25 ms}]",),
            ("alternatives[0].network.botleneck.delay: no such setting: network.botleneck (did you"
            " mean bottleneck?)"),
        ),
        (
            ("alternatives: [{seeds: 3}]",),
            "alternatives[0].seeds: cannot be swept:",
        ),
        (
            ("alternatives: [{network.bottleneck.delay: 25}]",),
            "network.bottleneck.delay: no unit: wanted a time such as",
        ),
        (
            ("alternatives: [{network.bottleneck.delay: 25 ms}]",
             "at: {network.bottleneck.loss.data: 7 %}"),
            "at: not a point of the study: got loss_frac=0.07",
        ),
        (
            ("alternatives: [{network.bottleneck.delay: [1 ms, 2 ms]}]",),
            "alternatives[0].network.bottleneck.delay: not one value: wanted one value each",
        ),
        (
            ("at: {network.bottleneck.loss.data: 1 %}",),
            "at: nothing is varied here: wanted the key 'alternatives' beside",
        ),
    ],
)  # fmt: skip
def test_an_alternative_that_cannot_be_is_told_with_its_line(
    lines: tuple[str, ...], message: str
) -> None:
    text = edited(with_alternatives(*lines))
    told = problems(text)
    assert any(message in line for line in told), told
    first = line_of(text, "alternatives" if "alternatives" in lines[0] else "    at:")
    assert all(int(line.split(":")[1]) in (first, first + 1) for line in told)


def test_an_alternative_is_checked_like_a_point() -> None:
    text = edited(with_alternatives("alternatives: [{flows.S.pair: 3}]"))
    told = problems(text)
    line = line_of(text, "alternatives")
    assert told == [
        f"w.yaml:{line}: flows.S.pair: no such pair: wanted at most 2 (network.pairs), got 3"
    ]


def test_hosts_of_an_alternative_are_loaded() -> None:
    own = ("seeds:", f"{PLAIN_PROFILE}seeds:")
    loaded = study(with_alternatives("alternatives: [{hosts: plain}]"), own)
    assert set(loaded.profiles) == {"paper", "plain"}
    text = edited(with_alternatives("alternatives: [{hosts: stok}]"))
    (told,) = problems(text)
    assert told.startswith(f"w.yaml:{line_of(text, 'alternatives')}: hosts: unknown host profile")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{metric: pct_increase}", "replication.half_width: missing key"),
        ("{metric: pct_increase, half_width: 0}", ("replication.half_width: out of range: wanted"
         " more than 0.0, got 0")),
        ("{metric: increase, half_width: 3}", ("replication.metric: unknown metric: wanted one of"
         " share_T_pct, share_S_pct, pct_increase, utilisation_pct")),
        ("{metric: pct_increase, half_width: 3, at_least: 1}",
         "replication.at_least: out of range: wanted at least 2, got 1"),
        ("{metric: pct_increase, half_width: 3, at_least: 9, at_most: 8}",
         "replication.at_least: no number of seeds is both: wanted at most 8 (at_most), got 9"),
        ("{metric: pct_increase, half_width: 3, at_most: 4}",
         "replication.at_most: no number of seeds is both: wanted at least 5 (at_least), got 4"),
    ],
)  # fmt: skip
def test_a_precision_that_cannot_be(text: str, message: str) -> None:
    whole = edited(("metrics:", f"replication: {text}\nmetrics:"))
    (told,) = problems(whole)
    assert told.startswith(f"w.yaml:{line_of(whole, 'replication:')}: {message}"), told
