"""A metric that a network never has a value of is refused where a study names it."""

from __future__ import annotations

import pytest

from model.run_files.metrics.every import ALWAYS, ASKED, metric_made_of
from reports.measures.radio import RADIO_FUNCTIONS
from tests.support import ad_hoc_study
from tests.support.study_file import Edit, edited, problems

METRICS: Edit = ("metrics: [goodput_T_bps]", "metrics: [goodput_T_bps, {}]")
HINT = "air_data_frac and its like say how busy a channel is: docs/guides/manet.md"
CLAIM = """\
claims:
  - id: one
    text: It is so.
    where: S
    metric: {}
    {}is: {{above: 0}}
"""


def of_radios(old: str, new: str) -> list[str]:
    return ad_hoc_study.problems((old, new))


def test_utilisation_of_a_network_without_a_bottleneck() -> None:
    assert of_radios(METRICS[0], METRICS[1].format("utilisation_pct")) == [
        (
            "a.yaml:33: metrics[1]: a metric of networks of links alone: wanted one that a network"
            f" of topology ad-hoc has, got utilisation_pct ({HINT})"
        )
    ]


@pytest.mark.parametrize(
    "metric", ["loss_T_frac", "queueing_C_s", "flow_jitter_cbr_s", "hol_wait_p99_T_s"]
)
def test_packets_that_are_followed_over_links(metric: str) -> None:
    (line,) = of_radios(METRICS[0], METRICS[1].format(metric))
    assert line.startswith("a.yaml:33: metrics[1]: a metric of networks of links alone")
    assert f"got {metric} " in line


@pytest.mark.parametrize(
    ("claim", "key"),
    [
        (("jitter_T_s", ""), "claims.one.metric"),
        (("goodput_T_bps", "versus: {metric: wire_rate_T_bps}\n    "), "claims.one.versus.metric"),
        (("goodput_T_bps", "versus: {metric: goodput_C_bps}\n    per: wire_rate_C_bps\n    "),
         "claims.one.per"),
    ],
)  # fmt: skip
def test_claims_name_no_such_metric_either(claim: tuple[str, str], key: str) -> None:
    (line,) = of_radios("groups:", CLAIM.format(*claim) + "groups:")
    assert f"{key}: a metric of networks of links alone" in line


def test_links_have_none_of_radios() -> None:
    (line,) = problems(edited(("metrics: [", "metrics: [link_breaks, ")))
    assert "metrics[0]: a metric of networks of radios alone: wanted one that a network of" in line
    assert "topology dumbbell has, got link_breaks (networks of topology ad-hoc have it)" in line


def test_all_of_radios_are_of_radios_alone() -> None:
    made_of = metric_made_of((), ())
    assert {name for name, made in made_of.items() if made == "radios"} == set(RADIO_FUNCTIONS)
    both = [one for one in (*ALWAYS, *ASKED) if one.only is None]
    assert {"goodput_{group}_bps", "timeouts_{group}"} < {one.name for one in both}
