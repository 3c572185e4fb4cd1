"""Every metric has its margin, or a reason for none."""

from collections import Counter

from model.run_files.comparing.margins import MARGINS, margins
from model.run_files.metrics.every import ALWAYS, ASKED


def test_every_metric_is_in_one_kind() -> None:
    named = Counter(name for margin in MARGINS for name in margin.metrics)
    assert named == Counter(one.name for one in (*ALWAYS, *ASKED))
    assert all(margin.why for margin in MARGINS)


def test_margins_by_the_metrics_of_a_study() -> None:
    found = margins(["T", "S"], ["T", "b1"])
    assert (found["goodput_S_bps"].bound, found["goodput_S_bps"].relative) == (0.03, True)
    assert (found["pct_increase"].bound, found["pct_increase"].relative) == (3.0, False)
    assert found["flow_goodput_b1_bps"] == found["flow_goodput_T_bps"]
    assert found["loss_T_frac"].bound is None
