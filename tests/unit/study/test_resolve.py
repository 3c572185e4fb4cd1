"""Points and cells: known numbers for the wireless study, and an id for all that matters."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.cell import Cell, Collect, Flow, cell_id, cell_json, from_dict, to_dict
from model.links import Direction, Link, Loss
from model.network_path import derived_channel_limit_pkts
from testbed.points.load_study import Study
from testbed.points.resolve import resolve_cell
from tests.support.recorded import value
from tests.support.study_file import SWEEP, UNPUBLISHED, Edit, study

LAB = {"kernel": "k", "image": "i"}


def cell(loaded: Study, index: int = 0, *, telemetry: bool = True) -> Cell:
    point = loaded.points[index]
    return resolve_cell(loaded, point, seed=1, replicate=1, lab=LAB, telemetry=telemetry)


def lossless(rate_bps: int, queue_pkts: int, owd_s: float, limit_pkts: int) -> Direction:
    return Direction(
        rate_bps=rate_bps,
        queue_pkts=queue_pkts,
        owd_s=owd_s,
        channel_limit_pkts=limit_pkts,
        loss=Loss(model="none", loss_frac=0.0),
    )


def test_the_wireless_study_in_base_units() -> None:
    loaded = study()
    assert [p.name for p in loaded.parameters] == ["loss_frac"]
    values = [0.008, 0.009, 0.01, 0.015, 0.02, 0.025, 0.03]
    assert [p.values for p in loaded.points] == [{"loss_frac": value} for value in values]
    assert loaded.published_points == ((0,), (1,), (2,), (3,), (4,), (5,), (6,))
    first = cell(loaded)
    access = lossless(10_000_000, 100, 0.002, 1063)
    back = lossless(3_000_000, 10, 0.25, 3344)
    forward = Direction(
        rate_bps=3_000_000,
        queue_pkts=10,
        owd_s=0.25,
        channel_limit_pkts=3344,
        loss=Loss(model="random", loss_frac=0.008),
    )
    assert first.wired.source_access == Link(forward=access, reverse=access)
    assert first.wired.destination_access == Link(forward=access, reverse=access)
    assert first.wired.bottleneck == Link(forward=forward, reverse=back)
    assert (first.wired.sources, first.wired.destinations) == (2, 2)
    assert first.wired.base_rtt_s() == 0.508
    assert first.flows[1] == Flow(
        id="S",
        group="S",
        protocol="sctp",
        generator="probe",
        source=1,
        destination=1,
        port=5002,
        start_s=0.0,
        start_spread_s=0.0,
        congestion_control="hosts",
        stop_s=1000.0,
        message_bytes=1448,
        streams=1,
        ordered=True,
        rate_bps=0,
        drop_data_pkts=(),
    )
    assert first.duration_s == 1000.0
    assert (first.limits.wall_s, first.limits.virtual_s) == (160.0, 1400.0)
    assert first.collect == Collect(
        interval_s=1.0, queue_s=5.0, sockets_s=10.0, counters_s=100.0, telemetry=True, pcap=False
    )
    assert first.lab == LAB


def test_a_cell_survives_json() -> None:
    first = cell(study())
    assert from_dict(json.loads(cell_json(first))) == first


def test_a_shared_destination_and_a_flow_of_its_own_kind() -> None:
    keys = ("protocol: udp", "rate: 16 kbit/s", "generator: iperf3", "start: 10 s", "stop: 20 s")
    udp = ("protocol: tcp\n", "\n    ".join(keys) + "\n")
    found = cell(study(("shared_destination: false", "shared_destination: true"), udp))
    assert (found.wired.sources, found.wired.destinations) == (2, 1)
    assert [(flow.source, flow.destination) for flow in found.flows] == [(0, 0), (1, 0)]
    flow = found.flows[0]
    assert (flow.generator, flow.rate_bps, flow.start_s, flow.stop_s) == ("iperf3", 16000, 10, 20)
    assert found.flows[1].generator == "probe"


def test_an_asymmetric_link() -> None:
    keys = (
        "    rate: 3 Mbit/s",
        "channel_limit: 500 packets",
        "reverse: {rate: 64 kbit/s, queue: 5 packets}",
    )
    edit: Edit = ("    rate: 3 Mbit/s", "\n    ".join(keys))
    link = cell(study(edit)).wired.bottleneck
    assert link.forward.channel_limit_pkts == 500
    assert link.reverse == lossless(64_000, 5, 0.25, derived_channel_limit_pkts(64_000, 0.25))


def test_an_access_link_that_loses() -> None:
    loss = "    queue: 100 packets\n    loss: {data: 1 %, acknowledgements: 2 %}\n"
    link = cell(study(("    queue: 100 packets\n", loss))).wired.source_access
    assert (link.forward.loss.loss_frac, link.reverse.loss.loss_frac) == (0.01, 0.02)


@pytest.mark.parametrize(
    ("duration", "sockets_s", "counters_s"),
    [("30 s", 1.0, 3.0), ("1000 s", 10.0, 100.0), ("5000 s", 50.0, 500.0)],
)
def test_samples_are_neither_rare_nor_dense(
    duration: str, sockets_s: float, counters_s: float
) -> None:
    found = cell(study(("duration: 1000 s", f"duration: {duration}")))
    assert (found.collect.sockets_s, found.collect.counters_s) == (sockets_s, counters_s)


def test_a_study_may_choose_how_often_sockets_are_sampled() -> None:
    chosen = study(("seeds:", "collect: {sockets: 500 ms}\nseeds:"))
    found = cell(chosen)
    assert (found.collect.sockets_s, found.collect.counters_s) == (0.5, 100.0)
    assert cell(chosen, telemetry=False).collect.sockets_s == 0.0


def test_a_channel_holds_the_smallest_packets() -> None:
    assert derived_channel_limit_pkts(3_000_000, 0.25) == 2344 + 1000
    assert derived_channel_limit_pkts(8, 0.0) == 1000


@pytest.mark.parametrize(("sweep", "names"), value("cases/parameter-names.json"))
def test_parameters_carry_their_unit_and_differ(sweep: str, names: list[str]) -> None:
    edits: list[Edit] = [UNPUBLISHED, (SWEEP, sweep)]
    if "reverse" in sweep:
        edits.append(("    delay: 250 ms\n", "    delay: 250 ms\n    reverse: {}\n"))
    assert [p.name for p in study(*edits).parameters] == names


def test_a_sweep_is_every_combination_in_file_order() -> None:
    queues = "  network.bottleneck.queue: [5 packets, 20 packets]\n"
    loaded = study(UNPUBLISHED, (SWEEP, f"{queues}  flows.S.ordered: [true, false]\n"))
    assert [tuple(p.values.values()) for p in loaded.points] == [
        (5, "true"), (5, "false"), (20, "true"), (20, "false"),
    ]  # fmt: skip
    last = cell(loaded, 3)
    assert last.wired.bottleneck.forward.queue_pkts == 20
    assert not last.flows[1].ordered


def test_points_are_taken_as_listed() -> None:
    points = """points:
  - {network.bottleneck.rate: 2 Mbit/s, network.bottleneck.queue: 10 packets}
  - {network.bottleneck.queue: 40 packets, network.bottleneck.rate: 4 Mbit/s}
"""
    loaded = study(UNPUBLISHED, (f"sweep:\n{SWEEP}", points))
    assert [p.values for p in loaded.points] == [
        {"rate_bps": 2_000_000, "queue_pkts": 10},
        {"queue_pkts": 40, "rate_bps": 4_000_000},
    ]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every number and text in a cell's dict."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from leaves(inner, (*path, key))
    else:
        yield path


BASE: dict[str, Any] = to_dict(cell(study()))
LEAVES = list(leaves(BASE))


def replaced(path: tuple[Any, ...], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the base cell with the value in one place changed."""
    result = copy.deepcopy(BASE)
    here = result
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = change(here[path[-1]])
    return result


def other_value(old: Any) -> Any:
    if isinstance(old, bool):
        return not old
    return f"{old}x" if isinstance(old, str) else old + 1


def id_of(content: dict[str, Any]) -> str:
    """Return the id of a cell given as a dict, which need not be a legal cell."""
    return cell_id(cast(Cell, content))


@pytest.mark.parametrize("path", LEAVES, ids=lambda path: ".".join(map(str, path)))
def test_every_setting_is_in_the_id(path: tuple[Any, ...]) -> None:
    other = replaced(path, other_value)
    assert (id_of(other) == id_of(BASE)) == (path == ("limits", "wall_s"))


@given(st.sampled_from([path for path in LEAVES if path != ("limits", "wall_s")]), st.data())
def test_cells_that_differ_have_different_ids(path: tuple[Any, ...], data: st.DataObject) -> None:
    kinds: dict[type, st.SearchStrategy[Any]] = {
        bool: st.booleans(),
        int: st.integers(0, 2**62),
        float: st.floats(0, 1e9),
        str: st.text(max_size=20),
    }

    def drawn(old: Any) -> Any:
        return data.draw(kinds[type(old)].filter(lambda value: value != old))

    assert id_of(replaced(path, drawn)) != id_of(BASE)


def test_the_same_cell_has_the_same_id() -> None:
    assert cell_id(cell(study())) == id_of(BASE)
    assert cell_id(from_dict(json.loads(cell_json(cell(study()))))) == id_of(BASE)


def test_far_sources_have_links_of_their_own_and_other_cells_say_nothing_of_them() -> None:
    edit = ("  bottleneck:\n", "  far_sources: {count: 1, delay: 50 ms}\n  bottleneck:\n")
    found, plain = cell(study(edit)), cell(study())
    (far,) = found.wired.far_accesses
    # 10 Mbit/s x 50 ms are 62500 bytes: 1563 packets of 40 bytes, and 1000 more.
    assert far == Link(forward=lossless(10_000_000, 100, 0.05, 2563),
                       reverse=lossless(10_000_000, 100, 0.05, 2563))  # fmt: skip
    assert found.wired.source_access == plain.wired.source_access
    assert [found.wired.base_rtt_s(flow.source) for flow in found.flows] == [0.508, 0.604]
    assert "far_accesses" not in to_dict(plain)["network"]
    assert from_dict(to_dict(found)) == found
