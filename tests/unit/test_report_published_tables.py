"""What rows and tables say against each other: the published ones, and ones that are fine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.contradicted import table_contradictions, tables_in_doubt
from reports.published_tables import TableContradiction
from reports.records import Point
from tests.published_study import flow, path, published_study

pytestmark = pytest.mark.unit

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
    # 430 kbit/s x 0.51233 s / 11584 = 19.02; windows with rounding and one more each: 18.
    (found,) = table_contradictions(satellite("21.5", "7", "8"))
    assert found.rule == "utilisation-against-windows"
    assert found.where == "Table II; figures"
    assert found.text == (
        "printed utilisation 21.5 % of 2 Mbit/s over a round trip of at least 512.3 ms needs 19.0 "
        "segments of 1448 bytes under way, 9.5 for each of 2 flows; printed mean windows are "
        "7 (TCP SACK) and 8 (SCTP), at most 18 in all with rounding and 1 segment more for each"
    )
    assert table_contradictions(satellite("21.5", "8", "9")) == ()  # at most 20
    assert table_contradictions(satellite("20.3", "7", "8")) == ()  # at least 17.91


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
        [({"pairs": 2}, "Table II", {"utilisation_pct": "99", "cwnd_mean_T_segments": "1"})],
        {Point.of({"pairs": 2}): path([flow("T", "T", "tcp"), flow("S", "S", "sctp")])},
        PAIRS,
    )
    assert table_contradictions(study) == ()


def test_a_study_without_published_numbers_has_nothing_to_contradict() -> None:
    assert table_contradictions(published_study([])) == ()
