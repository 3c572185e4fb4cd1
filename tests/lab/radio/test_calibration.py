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


def saturate(
    run_radios: Any, places_m: list[list[float]], senders: list[str], for_s: int, **options: int
) -> Measured:
    """Send from nodes to n0 as fast as the medium takes it; what the second half came to."""
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
    sent = list(calibrate.data_frames(ran.frames(), PAYLOAD_BYTES))
    from_ns = sent[0].begin_ns + SETTLED_S * NS_PER_S
    return calibrate.measure(sent, from_ns, sent[0].begin_ns + (for_s - 1) * NS_PER_S)


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
    places = [[250.0, 0.0], [0.0, 0.0], [500.0, 0.0]]
    options = {"carrier-sense-m": 300}
    got = saturate(run_radios, places, ["n1", "n2"], 40, **options)
    calibrate.check_hidden(Dcf(), got)
