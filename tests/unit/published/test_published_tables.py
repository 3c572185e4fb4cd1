"""What rows and tables say against each other: the published ones, and ones that are fine."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.run_files.point import Point
from model.run_files.publication import Claim, Comparison, Published, PublishedEpisode, Versus
from model.run_files.summary_points import TableContradiction
from reports.published.contradictions import table_contradictions, tables_in_doubt
from tests.support.published_study import flow, path, published_study

Rows = Sequence[Sequence[str]]
#: Rate in bit/s, delay and jitter in s of the wired study's pairs, as printed.
SCTP = [("67350", "1.2125", "0.0330629"), ("62560", "1.30789", "0.0356384"),
        ("65890", "1.24205", "0.0338442"), ("58570", "1.39766", "0.0380793"),
        ("64980", "1.26042", "0.0343397")]  # fmt: skip
TCP = [("97590", "0.839674", "0.0125925"), ("90050", "0.90996", "0.0136463"),
       ("88090", "0.930282", "0.013951"), ("94910", "0.863958", "0.0129476"),
       ("84070", "0.975418", "0.0146181")]  # fmt: skip
WIRED_FLOWS = {
    protocol: [
        *(flow(f"B{i}", "B", protocol) for i in range(1, 6)),
        *(flow(f"C{i}", "C", "udp", 25_000) for i in range(1, 6)),
    ]
    for protocol in ("sctp", "tcp")
}


NAMES = ("flow_goodput_B{}_bps", "flow_owd_mean_B{}_s", "flow_jitter_B{}_s")


def flow_row(flows: Rows) -> dict[str, str]:
    return {
        name.format(i): text
        for i, texts in enumerate(flows, 1)
        for name, text in zip(NAMES, texts, strict=False)
    }


def wired(sctp: Rows, tcp: Rows, **settings: Any) -> Any:
    """Return the wired study with these rows; its path has 512 kbit/s and 140 ms one way."""
    rows = [
        ({"protocol": protocol, "queue_pkts": queue}, "Tables 3 and 4", flow_row(flows))
        for queue in (50, 20)
        for protocol, flows in (("sctp", sctp), ("tcp", tcp))
    ]
    way = {"bottleneck_bps": 512e3, "access_bps": 1e6, "base_owd_s": 0.14, **settings}
    paths = {Point.of(at): path(WIRED_FLOWS[str(at["protocol"])], **way) for at, _, _ in rows}
    parameters = [("protocol", "flows.B.protocol"), ("queue_pkts", "network.bottleneck.queue")]
    return published_study(rows, paths, parameters)


def rules(found: tuple[TableContradiction, ...]) -> list[str]:
    return [one.rule for one in found]


def test_the_wired_tables() -> None:
    found = table_contradictions(wired(SCTP, TCP))
    assert rules(found) == [
        "rate-times-delay-constant", "jitter-over-delay-constant", "jitter-over-delay-constant",
        "wire-rates-apart",
    ]  # fmt: skip
    product, of_sctp, of_tcp, wire = found
    # 67.35 x 1.2125 = 81.662 and 84.07 x 0.975418 = 82.003: 0.4 % apart; 97.59 / 58.57 = 1.666.
    assert product.text.startswith(
        "printed rate times printed delay is 81.66 to 82.00 kbit for all 10 flows, 0.4 % apart, "
        "while their rates are up to 67 % apart."
    )
    assert len(product.points) == 4  # said once, wherever it stands
    # 38.0793 / 1397.66 = 0.027245, 33.0629 / 1212.5 = 0.027268; 12.5925 / 839.674 = 0.014997.
    assert "0.02724 to 0.02727 for all 5 flows" in of_sctp.text
    assert "0.01499 to 0.01500 for all 5 flows" in of_tcp.text
    assert [point.as_dict()["protocol"] for point in of_tcp.points] == ["tcp", "tcp"]
    # 454.71 x 1488 / 1448 = 467.27; 319.35 x 1496 / 1448 = 329.94; 467.27 x 2 / 3 = 311.51.
    assert "454.7 kbit/s x 1488 / 1448 = 467.3 kbit/s, sctp: 319.4 kbit/s x 1496" in wire.text
    assert "329.9 kbit/s on the wire, 42 % apart" in wire.text
    assert wire.text.endswith(
        "Counting 1000 bytes of each 1500-byte packet of sctp would print 467.3 x 1000 / 1500 = "
        "311.5 kbit/s, within 2.5 % of the 319.4 printed"
    )
    assert set(wire.metrics) == {f"flow_goodput_B{i}_bps" for i in range(1, 6)}
    warnings = tables_in_doubt(found)
    assert len(warnings) == 3
    assert {warning.rule for warning in warnings} == {"published-contradicts-itself"}


def test_one_protocols_delays_can_be_computed_from_its_rates_alone() -> None:
    measured = [(rate, f"{0.9 + 0.02 * i:.3f}", f"{0.02 + 0.001 * i * i:.4f}")
                for i, (rate, _, _) in enumerate(TCP)]  # fmt: skip
    found = table_contradictions(wired(SCTP, measured))
    assert rules(found) == [
        "rate-times-delay-constant", "jitter-over-delay-constant", "wire-rates-apart",
    ]  # fmt: skip
    assert {point.as_dict()["protocol"] for point in found[0].points} == {"sctp"}


@pytest.mark.parametrize(
    "settings",
    [{"loss_frac": 0.01}, {"base_owd_s": 0.5}],
    ids=["a link that loses", "a path as long as the delays: the buffer may be empty"],
)
def test_wire_rates_are_compared_on_full_links_only(settings: dict[str, float]) -> None:
    assert "wire-rates-apart" not in rules(table_contradictions(wired(SCTP, TCP, **settings)))


def test_without_paths_only_the_columns_are_checked() -> None:
    rows = [({"protocol": "sctp"}, "Table 3", flow_row(SCTP))]
    found = table_contradictions(published_study(rows))
    assert rules(found) == ["rate-times-delay-constant", "jitter-over-delay-constant"]
    assert found[0].where == "Table 3"


@pytest.mark.parametrize("repeated", [0.0, 0.1, 0.15])
def test_wire_rates_that_repeated_packets_explain_are_fine(repeated: float) -> None:
    # Equal wire rates of 440 kbit/s, of which SCTP repeats some; delays that vary by themselves.
    sctp = [(f"{440e3 / 5 * 1448 / 1496 * (1 - repeated):.0f}", "1.21")] * 5
    tcp = [(f"{440e3 / 5 * 1448 / 1488:.0f}", "0.93")] * 5
    assert table_contradictions(wired(sctp, tcp)) == ()


def test_measured_columns_are_hardly_ever_taken_for_computed_ones() -> None:
    # Flows of one buffer: rates 10 %, delays and jitters 3 % about a common value, by themselves.
    draws = np.random.default_rng(3)
    wrong = 0
    for _ in range(2000):
        rates = 90e3 * (1 + draws.normal(0, 0.1, 5))
        delays, jitters = (
            1.2 * (1 + draws.normal(0, 0.03, 5)),
            0.03 * (1 + draws.normal(0, 0.03, 5)),
        )
        columns = zip(rates, delays, jitters, strict=True)
        printed = [[f"{value:.6g}" for value in row] for row in columns]
        study = published_study([({"protocol": "sctp"}, "Table 3", flow_row(printed))])
        wrong += bool(table_contradictions(study))
    assert wrong == 0


PAIRS = [("pairs", "network.pairs")]


def satellite(utilisation: str, cwnd_t: str, cwnd_s: str, **settings: Any) -> Any:
    flows = [flow("T", "T", "tcp"), flow("S", "S", "sctp")]
    at = {"pairs": 2}
    rows = [
        (at, "Table II", {"utilisation_pct": utilisation}),
        (at, "figures", {"cwnd_mean_T_segments": cwnd_t, "cwnd_mean_S_segments": cwnd_s}),
    ]
    return published_study(rows, {Point.of(at): path(flows, **settings)}, PAIRS)


def test_the_windows_of_the_satellite_study() -> None:
    # 21.5 % of 2 Mbit/s x (504 ms + 1488 x 8 bit / 10, 2 and 10 Mbit/s = 8.333 ms) / 11584 bit:
    # 430 kbit/s x 0.51233 s / 11584 = 19.02, over packets of 1496 bytes 18.41, with the least that
    # rounds to 21.5 18.36; windows with rounding and one more each: 18.
    (found,) = table_contradictions(satellite("21.5", "7", "8"))
    assert found.rule == "utilisation-against-windows"
    assert found.where == "Table II; figures"
    assert found.text == (
        "printed utilisation 21.5 % of 2 Mbit/s over a round trip of at least 512.3 ms needs 18.4 "
        "packets under way if it counts headers, 19.0 if user data, 9.5 for each of 2 flows; "
        "printed mean windows are 7 (TCP SACK) and 8 (SCTP), at most 18 in all with rounding and "
        "1 segment more for each"
    )
    assert table_contradictions(satellite("21.5", "8", "9")) == ()  # at most 20
    assert table_contradictions(satellite("21.0", "7", "8")) == ()  # at least 17.94


@given(st.floats(2, 40), st.floats(2, 40), st.floats(1, 3), st.floats(0.5, 1), st.integers(0, 2))
def test_windows_that_were_measured_always_carry_their_goodput(
    cwnd_t: float, cwnd_s: float, queueing: float, efficiency: float, decimals: int
) -> None:
    rtt_s = (0.504 + 8 * 1488 * (2 / 10e6 + 1 / 2e6)) * queueing
    used = 100 * efficiency * 8 * 1448 * (cwnd_t + cwnd_s) / rtt_s / 2e6
    printed = [f"{value:.{decimals}f}" for value in (used, cwnd_t, cwnd_s)]
    assert table_contradictions(satellite(*printed)) == ()


def test_windows_are_not_judged_without_all_numbers() -> None:
    study = published_study(
        [({"pairs": 2}, "Table II", {"utilisation_pct": "90", "cwnd_mean_T_segments": "1"})],
        {Point.of({"pairs": 2}): path([flow("T", "T", "tcp"), flow("S", "S", "sctp")])},
        PAIRS,
    )
    assert table_contradictions(study) == ()


def printed_utilisations(*values: str) -> Any:
    rows = [({"pairs": n}, "Table III", {"utilisation_pct": v}) for n, v in enumerate(values)]
    flows = [flow("T", "T", "tcp"), flow("S", "S", "sctp")]
    paths = {Point.of(at): path(flows, bottleneck_bps=2e5, loss_frac=0.015) for at, _, _ in rows}
    return published_study(rows, paths, PAIRS)


def test_what_the_satellite_study_can_have_counted() -> None:
    # 1448 of 1488 bytes are 97.31 %, of which 98.5 % are delivered: 95.85 %.
    (found,) = table_contradictions(printed_utilisations("96", "90.5", "99.7", "96.1"))
    assert (found.rule, found.where) == ("utilisation-of-what", "Table III")
    assert [point.as_dict()["pairs"] for point in found.points] == [2, 3]
    assert found.text == (
        "printed utilisation counts more than the user data that is delivered, or it could not be "
        "96.1 % (delivered user data is 95.9 % at most, all user data with lost and repeated "
        "packets 97.3 %); 99.7 % (delivered user data is 95.9 % at most, all user data 97.3 %: "
        "only whole packets, with headers, reach it)"
    )
    (beyond,) = table_contradictions(printed_utilisations("100.6"))
    assert "whole packets 100 %: no reading reaches it" in beyond.text


@given(st.floats(0, 1))
def test_delivered_data_of_a_full_link_is_never_in_doubt(efficiency: float) -> None:
    delivered = 100 * efficiency * 1448 / 1488 * 0.985
    assert table_contradictions(printed_utilisations(f"{delivered:.1f}")) == ()


def claimed(study: Any, metric: str, low: float | None, high: float | None, **versus: Any) -> Any:
    point = study.points[-1]
    other = Versus(metric=metric, point=Point.of(versus)) if versus else None
    made = tuple(
        Comparison(metric=metric.format(i), point=point, versus=other, relative=False, low=low,
                   high=high, strict=True, quotient=None)
        for i in range(1, 6)
    )  # fmt: skip
    claim = Claim(id="c", text="So it is.", where="Section 3", untested=None, comparisons=made)
    return dataclasses.replace(study, claims=(claim,), paths={})


def by_rule(study: Any) -> list[TableContradiction]:
    return [one for one in table_contradictions(study) if one.rule == "claim-against-table"]


def test_words_that_the_tables_contradict() -> None:
    """Printed: all below 900 ms, and three of five are not; jitter above 1.4 s, and it is 14 ms."""
    rows = [({"protocol": "tcp"}, "Table 4", flow_row(TCP))]
    (found,) = by_rule(claimed(published_study(rows), "flow_owd_mean_B{}_s", None, 0.9))
    assert found.where == "Section 3; Table 4"
    assert found.text == (
        "the text says: So it is. Its own numbers say otherwise in 3 of 5: "
        "flow_owd_mean_B2_s 0.90996; flow_owd_mean_B3_s 0.930282; flow_owd_mean_B5_s 0.975418"
    )
    (jitter,) = by_rule(claimed(published_study(rows), "flow_jitter_B{}_s", 1.4, None))
    assert "in 5 of 5" in jitter.text
    assert by_rule(claimed(published_study(rows), "flow_owd_mean_B{}_s", None, 1.0)) == []


def test_words_about_the_mean_of_all_flows() -> None:
    """The mean jitter of the five is 13.55 ms, and the text says 1.4 s."""
    study = published_study([({"protocol": "tcp"}, "Table 3", flow_row(TCP))])
    paths = {study.points[-1]: path(WIRED_FLOWS["tcp"], bottleneck_bps=512e3, access_bps=1e6)}

    def found(low: float, high: float) -> list[TableContradiction]:
        claim = claimed(study, "jitter_B_s", low, high)
        ways = tuple(dataclasses.replace(way, point=at) for at, way in paths.items())
        return by_rule(dataclasses.replace(claim, paths=ways))

    (one,) = found(1.35, 1.45)
    assert one.text.endswith("in 5 of 5: " + "; ".join(["jitter_B_s 0.0135511"] * 5))
    assert found(0.0135, 0.0145) == []
    assert by_rule(claimed(study, "jitter_B_s", 1.35, 1.45)) == []  # whose flows is not known


def said_of_losses(metric: str, *, high: float | None = None, **how: Any) -> list[str]:
    """Return what the two printed losses of segment 8 say against a claim: TCP's, then SCTP's."""
    printed: dict[str, dict[str, int | str]] = {
        "T": {"dupacks": 3, "acks_to_new_data_pkts": 3, "flight_at_act_segments": 6,
              "cwnd_after_segments": 4, "cwnd_at_recovery_segments": 4,
              "cwnd_after_recovery_segments": "4.25", "regrow_s": "1.05"},
        "S": {"dupacks": 4, "acks_to_new_data_pkts": 4, "new_data_on_dupack_1_pkts": 1,
              "flight_at_act_bytes": 11584, "cwnd_after_bytes": 6516, "regrow_s": "0.52"},
    }  # fmt: skip
    study = published_study([({"protocol": "both"}, "Table 1", {})])
    (at,) = study.points
    episodes = tuple(
        PublishedEpisode(
            flow=name, episode=0, where=f"Figure {name}", points=(at,), grown_s=None,
            values={column: Decimal(value) for column, value in values.items()},
        )
        for name, values in printed.items()
    )  # fmt: skip
    flows = [flow("T", "T", "tcp"), flow("S", "S", "sctp")]
    way = path(flows, bottleneck_bps=2e6, access_bps=1e7, loss_frac=how.pop("loss_frac", 0.0))
    versus = how.pop("versus", None)
    made = Comparison(
        metric=metric, point=at, relative=False, low=how.pop("low", None), high=high, strict=True,
        versus=Versus(metric=versus, point=at) if versus else None, quotient=None,
    )  # fmt: skip
    claim = Claim(id="c", text="So.", where="Section 5", untested=None, comparisons=(made,))
    published = Published(where="Table 1", rows=(), episodes=episodes)
    paths = (dataclasses.replace(way, point=at),)
    whole = dataclasses.replace(study, published=published, claims=(claim,), paths=paths)
    found = table_contradictions(whole)
    assert {one.rule for one in found} <= {"claim-against-episode"}
    return [f"{one.where}: {one.text.partition(': So. ')[2]}" for one in found]


def test_words_that_the_printed_losses_contradict() -> None:
    says = "Its own numbers say otherwise in 1 of 1:"
    of_tcp, needs = f"Section 5; Figure T: {says}", "acks_to_new_data_T_pkts"
    assert said_of_losses(needs, low=0, versus="acks_to_new_data_S_pkts") == [
        f"Section 5; Figure T; Figure S: {says} acks_to_new_data_pkts 3 against 4"
    ]
    assert said_of_losses(needs, high=0, versus="acks_to_new_data_S_pkts") == []
    assert said_of_losses("grows_at_recovery_T_frac", high=0.1) == [
        f"{of_tcp} cwnd_at_recovery_segments 4, cwnd_after_recovery_segments 4.25"
    ]
    assert said_of_losses("repeats_on_dupack_3_S_frac", low=0.9) == [
        f"Section 5; Figure S: {says} dupacks 4"
    ]
    assert said_of_losses("dupacks_S_pkts", high=4) == [f"Section 5; Figure S: {says} dupacks 4"]


@pytest.mark.parametrize(
    ("metric", "how"),
    [
        ("cwnd_stays_T_frac", {"low": 0.9}),
        ("flight_full_T_frac", {"low": 0.9}),
        ("flight_full_S_frac", {"low": 0.9}),
        ("sends_on_dupack_1_S_frac", {"low": 0.9}),
        ("sends_on_dupack_2_S_frac", {"high": 0.1}),  # is not printed
        ("regrow_S_s", {"high": 0, "versus": "regrow_T_s"}),
        ("regrow_S_s", {"high": 0.515}),  # 0.52 is 0.515 rounded
        ("repeats_on_dupack_3_S_frac", {"low": 0.9, "loss_frac": 0.01}),  # one loss of many
    ],
)
def test_words_that_the_printed_losses_bear_out(metric: str, how: dict[str, Any]) -> None:
    assert said_of_losses(metric, **how) == []


def test_words_about_a_difference_and_what_is_not_printed() -> None:
    rows = [
        ({"protocol": "sctp"}, "Table 4", flow_row(SCTP)),
        ({"protocol": "tcp"}, "Table 4", flow_row(TCP)),
    ]
    study = published_study(rows)
    metric = "flow_goodput_B{}_bps"
    claim = claimed(study, metric, 0, None)
    lower = dataclasses.replace(
        claim.claims[0],
        comparisons=tuple(
            dataclasses.replace(one, versus=Versus(metric=one.metric, point=study.points[0]))
            for one in claim.claims[0].comparisons
        ),
    )
    assert by_rule(dataclasses.replace(claim, claims=(lower,))) == []
    higher = dataclasses.replace(
        lower,
        comparisons=tuple(
            dataclasses.replace(one, low=None, high=0.0) for one in lower.comparisons
        ),
    )
    (found,) = by_rule(dataclasses.replace(claim, claims=(higher,)))
    assert "flow_goodput_B1_bps 97590 against 67350 (protocol tcp)" in found.text
    assert by_rule(claimed(study, "flow_wire_rate_B{}_bps", None, 1)) == []


def test_rounding_is_allowed_to_the_words() -> None:
    rows = [({"protocol": "tcp"}, "Table 4", {f"flow_owd_mean_B{i}_s": "0.9" for i in range(1, 6)})]
    assert by_rule(claimed(published_study(rows), "flow_owd_mean_B{}_s", None, 0.9)) == []


def test_a_study_without_published_numbers_has_nothing_to_contradict() -> None:
    assert table_contradictions(published_study([])) == ()
