"""A cell as settings for ns-2: what it becomes, and what is refused by name."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from model.cell import Cell, Flow
from model.draws import seed_for
from model.errors import StudyError, UnsupportedError
from model.links import Loss, PeriodicLoss
from simulators.ns2 import ledger, profiles, settings
from tests.support.recorded import with_bottleneck
from tests.support.simulators.ns2 import RECORDED, ns2_cell


def test_a_recorded_cell_gives_its_recorded_settings() -> None:
    assert settings.text(ns2_cell(), profiles.ERA2001) == (RECORDED / "settings.txt").read_text()


def test_settings_hold_links_flows_and_lists() -> None:
    lines = settings.text(ns2_cell(), profiles.ERA2001).splitlines()
    seed = 1 + seed_for(1, "ns-2 bottleneck forward") % ((1 << 31) - 2)
    assert f"link bottleneck forward 2000000 0.25 10 0 {seed}" in lines
    assert "set Agent/TCP singledup_ 0" in lines
    # A list counts all packets of a flow from 0: behind a SYN, or three packets of SCTP's.
    assert "flow 1 tcp 0 0 0 8 1448 1488 45 0 8" in lines
    assert "flow 2 sctp 1 0 20 28 1448 1496 65536 0 10" in lines


def test_every_seed_draws_other_losses() -> None:
    cell = ns2_cell()
    texts = {settings.text(dataclasses.replace(cell, seed=k), profiles.NS235) for k in range(20)}
    assert len(texts) == 20


def _flow(cell: Cell, **changes: Any) -> Cell:
    return dataclasses.replace(
        cell, flows=(dataclasses.replace(cell.flows[0], **changes), *cell.flows[1:])
    )


@pytest.mark.parametrize(
    ("cell", "named"),
    [
        (with_bottleneck(ns2_cell(), loss=Loss(model="equal_drops", loss_frac=0.01)),
         "bottleneck forward loss equal_drops"),
        (with_bottleneck(ns2_cell(), loss=Loss(model="paired", loss_frac=0.01)),
         "bottleneck forward loss paired"),
        (with_bottleneck(
            ns2_cell(), loss=PeriodicLoss(model="periodic", every_pkts=100, first_pkt=1)),
         "bottleneck forward loss periodic"),
        (_flow(ns2_cell(), congestion_control="bbr"), "congestion control bbr"),
        (_flow(ns2_cell(), generator="iperf3"), "generator iperf3"),
        (_flow(ns2_cell(), rate_bps=1000), "tcp at a rate"),
        (_flow(ns2_cell(), message_bytes=2000), "messages of 2000 bytes"),
        (_flow(ns2_cell(), streams=2), "2 streams"),
        (_flow(ns2_cell(), protocol="udp"), "listed packets of UDP"),
        (dataclasses.replace(
            ns2_cell(), hosts=dataclasses.replace(ns2_cell().hosts, id="stock")), "hosts stock"),
        (dataclasses.replace(
            ns2_cell(), hosts=dataclasses.replace(ns2_cell().hosts, entries=())),
         "hosts without window_clamp_bytes"),
        (dataclasses.replace(
            ns2_cell(), collect=dataclasses.replace(ns2_cell().collect, messages=True)),
         "collect messages"),
    ],
)  # fmt: skip
def test_what_ns2_cannot_do_is_refused_by_name(cell: Cell, named: str) -> None:
    with pytest.raises(UnsupportedError, match="ns-2 cannot run this") as told:
        settings.text(cell, profiles.ERA2001)
    assert named in str(told.value)


def test_chunks_that_share_a_packet_are_refused() -> None:
    cell = ns2_cell()
    small: tuple[Flow, ...] = tuple(
        dataclasses.replace(flow, message_bytes=700) for flow in cell.flows
    )
    with pytest.raises(UnsupportedError, match="flow S: messages of 700 bytes"):
        settings.check(dataclasses.replace(cell, flows=small))


def test_a_host_parameter_that_is_not_known_is_refused() -> None:
    cell = ns2_cell()
    unknown = dataclasses.replace(cell.hosts.entries[0], parameter="Pacing")
    hosts = dataclasses.replace(cell.hosts, entries=(*cell.hosts.entries, unknown))
    with pytest.raises(UnsupportedError, match="got Pacing"):
        ledger.check_known(dataclasses.replace(cell, hosts=hosts))


def test_profiles_are_found_by_name_and_version() -> None:
    assert profiles.named("era2001") is profiles.named("2.35-era2001") is profiles.ERA2001
    with pytest.raises(StudyError, match="era2001 or ns235"):
        profiles.named("6.12")


def test_profiles_set_the_same_variables() -> None:
    of = [
        {(one.of, one.name) for one in profile.parameters} for profile in profiles.PROFILES.values()
    ]
    assert of[0] == of[1]
    assert all(one.why for profile in profiles.PROFILES.values() for one in profile.parameters)
