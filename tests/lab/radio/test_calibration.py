"""The medium calibrated: right it passes, with another slot time it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from mininet_topos.radio import calibrate
from mininet_topos.radio.audit import mistakes
from mininet_topos.radio.calibrate import Measured
from mininet_topos.radio.dcf_theory import NS_PER_S, Dcf
from model.errors import RunError

pytestmark = pytest.mark.timeout(1800)  # the first builds a kernel, the others wait for it

PAYLOAD_BYTES = 1000
SETTLED_S = 3
RTS = {"rts-threshold-bytes": 500}
#: A sender on either side of the receiver, out of each other's hearing.
HIDDEN_M = [[250.0, 0.0], [0.0, 0.0], [500.0, 0.0]]


def saturated(
    run_radios: Any, places_m: list[list[float]], senders: list[str], for_s: int, **options: int
) -> Any:
    """Send from nodes to n0 as fast as the medium takes it; what that left."""
    receive = ["n0", "/gt/code/bin/udp_recv", "--port=9000", "--idle-s=5", "&"]
    steps: list[Any] = [receive]
    steps += [[node, "ping", "-c", "4", "-i", "0.2", "10.0.0.1"] for node in senders]
    steps += [
        [
            node, "/gt/code/bin/udp_send", "--host=10.0.0.1", "--port=9000",
            f"--flow-id={number}", "--rate-bps=3000000", f"--message-bytes={PAYLOAD_BYTES}",
            f"--duration-s={for_s}", "&",
        ]
        for number, node in enumerate(senders)
    ]  # fmt: skip
    ran = run_radios(places_m, steps, options=options)
    assert mistakes(ran.totals) == []
    return ran


def measured(ran: Any, for_s: int, kind: str = "data") -> Measured:
    """Return what the settled part of a saturated run came to."""
    sent = list(calibrate.data_frames(ran.frames(), PAYLOAD_BYTES))
    from_ns = sent[0].begin_ns + SETTLED_S * NS_PER_S
    of_kind = calibrate.data_frames(ran.frames(), 0, kind) if kind == "rts" else sent
    return calibrate.measure(of_kind, from_ns, sent[0].begin_ns + (for_s - 1) * NS_PER_S)


def saturate(
    run_radios: Any, places_m: list[list[float]], senders: list[str], for_s: int, **options: int
) -> Measured:
    return measured(saturated(run_radios, places_m, senders, for_s, **options), for_s)


def test_one_sender(run_radios: Any) -> None:
    got = saturate(run_radios, [[0, 0], [100, 0]], ["n1"], 12)
    calibrate.check_one_sender(Dcf(), got, PAYLOAD_BYTES)


def test_other_slot_time_is_refused(run_radios: Any) -> None:
    got = saturate(run_radios, [[0, 0], [100, 0]], ["n1"], 12, **{"slot-us": 9})
    calibrate.check_one_sender(Dcf(slot_ns=9_000), got, PAYLOAD_BYTES)
    with pytest.raises(RunError, match="goodput over one hop is off"):
        calibrate.check_one_sender(Dcf(), got, PAYLOAD_BYTES)


def test_cell_of_five(run_radios: Any) -> None:
    places = [[0.0, 0.0], *([50.0 * i, 50.0] for i in range(5))]
    got = saturate(run_radios, places, [f"n{i}" for i in range(1, 6)], 20)
    calibrate.check_saturated(Dcf(), 5, got, PAYLOAD_BYTES)


def test_hidden_terminals(run_radios: Any) -> None:
    options = {"carrier-sense-m": 300}
    got = saturate(run_radios, HIDDEN_M, ["n1", "n2"], 40, **options)
    calibrate.check_hidden(Dcf(), got)


def test_one_sender_with_rts(run_radios: Any) -> None:
    got = saturate(run_radios, [[0, 0], [100, 0]], ["n1"], 12, **RTS)
    calibrate.check_one_sender(Dcf(rts=True), got, PAYLOAD_BYTES)
    with pytest.raises(RunError, match="goodput over one hop is off"):
        calibrate.check_one_sender(Dcf(), got, PAYLOAD_BYTES)


def test_cell_of_five_with_rts(run_radios: Any) -> None:
    places = [[0.0, 0.0], *([50.0 * i, 50.0] for i in range(5))]
    ran = saturated(run_radios, places, [f"n{i}" for i in range(1, 6)], 20, **RTS)
    calibrate.check_saturated(Dcf(rts=True), 5, measured(ran, 20), PAYLOAD_BYTES)
    # All hear every CTS, so no frame that it precedes collides.
    assert sum(ran.totals["rts_collided"]) > 100
    long = calibrate.data_frames(ran.frames(), PAYLOAD_BYTES)
    assert {sent.outcome for sent in long} == {"delivered"}


def test_hidden_terminals_with_rts_collide_little(run_radios: Any) -> None:
    ran = saturated(run_radios, HIDDEN_M, ["n1", "n2"], 40, **RTS, **{"carrier-sense-m": 300})
    got, asked = measured(ran, 40), measured(ran, 40, "rts")
    calibrate.check_hidden_rts(Dcf(rts=True), got, asked)
    assert got.delivered_per_s > 0.99 * got.attempts_per_s
    assert asked.delivered_per_s < 0.9 * asked.attempts_per_s
