"""The study bbr-share: what it has as published is its publication's equations at its settings."""

from __future__ import annotations

import pytest

from model.cell import Cell
from testbed.points.load_study import STUDIES_FOLDER, load_study
from testbed.points.resolve import resolve_cell

STUDY = load_study(STUDIES_FOLDER / "bbr-share.yaml")
PACKET_BITS = 8 * 1500


def model_pct(cell: Cell) -> float:
    """Return BBR's share by Equations 9 to 11 of Ware et al., IMC 2019; p is the others'."""
    way = cell.wired.bottleneck.forward
    flows = sum(flow.congestion_control == "bbr" for flow in cell.flows)
    packets_per_s, rtt_s = way.rate_bps / PACKET_BITS, cell.wired.base_rtt_s()
    buffer_bdp = way.queue_pkts / (packets_per_s * rtt_s)
    p = max(0.0, 1 / 2 - 1 / (2 * buffer_bdp) - 4 * flows / way.queue_pkts)
    silent_s_in_10_s = way.queue_pkts / packets_per_s + 0.2 + rtt_s
    return 100 * (1 - p) * (1 - silent_s_in_10_s / 10)


def test_it_is_what_its_equations_give_by_hand() -> None:
    """4 BDP: 133 packets, 3.99 times 33 1/3; p = 1/2 - 1/7.98 - 4/133 = 0.34461; 0.3996 s."""
    point = next(point for point in STUDY.points if point.values["queue_pkts"] == 133)
    cell = resolve_cell(STUDY, point, seed=1, replicate=1, lab={})
    assert model_pct(cell) == pytest.approx(65.539 * 0.96004, abs=0.01)


def test_published_values_are_the_models_to_their_last_digit() -> None:
    assert STUDY.settings.published
    rows = list(STUDY.settings.published.rows)
    assert len(rows) == len(STUDY.points)
    for row, (index,) in zip(rows, STUDY.published_points, strict=True):
        cell = resolve_cell(STUDY, STUDY.points[index], seed=1, replicate=1, lab={})
        assert row.values["share_bbr_pct"] == pytest.approx(model_pct(cell), abs=0.05), cell.point


def test_claims_on_the_model_are_a_tenth_of_it_either_way() -> None:
    told = {1: 33, 2: 67, 4: 133, 8: 267, 16: 533, 32: 1067}
    by_queue = {
        cell.wired.bottleneck.forward.queue_pkts: model_pct(cell)
        for cell in (
            resolve_cell(STUDY, point, seed=1, replicate=1, lab={}) for point in STUDY.points
        )
    }
    claims = {claim.id: claim for claim in STUDY.settings.claims}
    for bdp, queue_pkts in told.items():
        claim = claims[f"model-{bdp}"]
        model = round(by_queue[queue_pkts], 1)
        assert f"a buffer of {bdp} BDP one BBR flow has {model} %" in claim.text
        assert claim.is_
        assert claim.is_.between
        wanted = (0.9 * model, min(100.0, 1.1 * model))
        assert claim.is_.between == pytest.approx(wanted, abs=0.051)
