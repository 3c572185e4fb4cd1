"""A calibration's judgements on recorded and hand-worked packet logs."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from testbed import calibration, judge
from testbed.calibration import Way, stages
from testbed.cell import Direction, Link, Loss, Network
from testbed.check import Check
from testbed.errors import ParseError
from testbed.judge import LOG_HEADER, Packet, delay_s, judge_delay, judge_fill, judge_loss
from tests.recorded import both_ways, direction, text, wireless_cell

pytestmark = pytest.mark.unit

MS = 1_000_000
NETWORK = wireless_cell().network


def bottleneck(**changes: Any) -> Network:
    """Return the wireless network with another bottleneck in the data direction."""
    forward = dataclasses.replace(NETWORK.bottleneck.forward, **changes)
    link = dataclasses.replace(NETWORK.bottleneck, forward=forward)
    return dataclasses.replace(NETWORK, bottleneck=link)


def log(*times_ns: tuple[int, int]) -> list[Packet]:
    return [Packet(seq=i, send_ns=s, recv_ns=r) for i, (s, r) in enumerate(times_ns)]


def test_read_log() -> None:
    packets = judge.read_log(f"{LOG_HEADER}\n0\t5\t9\n2\t6\t10\n", "x.tsv")
    assert packets == [
        Packet(seq=0, send_ns=5, recv_ns=9),
        Packet(seq=2, send_ns=6, recv_ns=10),
    ]
    assert judge.read_log(f"{LOG_HEADER}\n", "x.tsv") == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"^x\.tsv: not a packet log"),
        ("seq send recv\n", r"^x\.tsv: not a packet log: wanted 'seq\\tsend_ns\\trecv_ns'"),
        (f"{LOG_HEADER}\n0\t1\n", r"^x\.tsv:2: not a packet log line: got 0\t1"),
        (f"{LOG_HEADER}\n0\t1\t2\n\n", r"^x\.tsv:3: "),
        (f"{LOG_HEADER}\n0\t1\t-2\n", r"^x\.tsv:2: "),
        (f"{LOG_HEADER}\n0\t1\t2.5\n", r"^x\.tsv:2: "),
        (f"{LOG_HEADER}\n0\t1\t²\n", r"^x\.tsv:2: "),
        (f"{LOG_HEADER}\n0\t1\t{'9' * 5000}\n", r"^x\.tsv:2: "),
    ],
)
def test_what_is_no_log_is_named(content: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        judge.read_log(content, "x.tsv")


@given(st.text())
def test_any_text_is_a_log_or_a_parse_error(content: str) -> None:
    for whole in (content, f"{LOG_HEADER}\n{content}"):
        with contextlib.suppress(ParseError):
            judge.read_log(whole, "x.tsv")


def test_path_back_is_the_reverse_of_the_path() -> None:
    source, middle, destination = (
        Link(forward=direction(rate_bps=rate), reverse=direction(rate_bps=10 * rate))
        for rate in (1, 2, 3)
    )
    network = dataclasses.replace(
        NETWORK, source_access=source, bottleneck=middle, destination_access=destination
    )
    assert [stage.rate_bps for stage in stages(network, "forward")] == [1, 2, 3]
    assert [stage.rate_bps for stage in stages(network, "reverse")] == [30, 20, 10]


def test_delay_is_propagation_and_serialisation_of_every_stage() -> None:
    # 128 bytes are 1024 bits: 102.4 us at 10 Mbit/s, 341.333 us at 3 Mbit/s.
    # 2 ms + 102.4 us + 250 ms + 341.333 us + 2 ms + 102.4 us = 254.546133 ms
    assert delay_s(stages(NETWORK, "forward"), 128) == pytest.approx(0.254546133, abs=1e-9)


DELAYS = {"delay_forward": {"ip_bytes": 128}, "delay_reverse": {"ip_bytes": 128}}


def test_recorded_round_trip() -> None:
    logs = {run: judge.read_log(text(f"probes-0.1.0/{run}.tsv"), run) for run in DELAYS}
    assert (len(logs["delay_forward"]), len(logs["delay_reverse"])) == (198, 200)
    # Twice 254.546133 ms, each a few 256 ns clock ticks late.
    assert judge_delay(NETWORK, DELAYS, logs) == Check(
        check="rtt",
        where="src1 to dst1 and back",
        wanted="509.092 ms within 0.020 ms",
        got="509.095 ms",
        agrees=True,
    )


@pytest.mark.parametrize(
    ("late_ns", "agrees"), [(19_000, True), (-19_000, True), (21_000, False), (-21_000, False)]
)
def test_round_trip_within_20_microseconds(late_ns: int, agrees: bool) -> None:
    there, back = 254_546_133, 254_546_133
    logs = {"delay_forward": log((5, 5 + there + late_ns)), "delay_reverse": log((7, 7 + back))}
    assert judge_delay(NETWORK, DELAYS, logs).agrees is agrees


def test_delay_is_the_median_so_that_one_late_packet_does_not_count() -> None:
    logs = {
        "delay_forward": log((0, 254_546_133), (0, 254_546_133), (0, 900 * MS)),
        "delay_reverse": log((0, 254_546_133)),
    }
    assert judge_delay(NETWORK, DELAYS, logs).got == "509.092 ms"


def test_no_packet_arrived_is_never_a_delay() -> None:
    judged = judge_delay(NETWORK, DELAYS, {"delay_forward": [], "delay_reverse": []})
    assert (judged.got, judged.agrees) == ("no packet arrived (forward, reverse)", False)
    half = {"delay_forward": log((0, 509_092_266)), "delay_reverse": []}
    assert judge_delay(NETWORK, DELAYS, half).got == "no packet arrived (reverse)"
    assert judge_delay(NETWORK, DELAYS, half).agrees is False


def lossy(sent: int, lost: int, way: Way = "forward") -> Check:
    found = {f"loss_{way}": {"packets": sent}}
    return judge_loss(NETWORK, way, found, {f"loss_{way}": log(*[(0, 1)] * (sent - lost))})


def test_loss_bounds_are_the_binomials() -> None:
    # 1 % of 30000 is 300, the standard deviation 17.2: 4.9 of them on either side.
    low, high = 220, 388
    half = 0.5e-6
    assert binom.cdf(low - 1, 30_000, 0.01) < half <= binom.cdf(low, 30_000, 0.01)
    assert binom.sf(high, 30_000, 0.01) <= half < binom.sf(high - 1, 30_000, 0.01)
    judged = lossy(30_000, 306)
    assert judged.wanted == "1 %: 220 to 388 of 30000 packets"
    assert judged.got == "306 (1.02 %)"
    inside = {lost: lossy(30_000, lost).agrees for lost in (0, 219, 220, 300, 388, 389, 30_000)}
    assert [lost for lost, agrees in inside.items() if agrees] == [220, 300, 388]


def test_a_way_without_loss_loses_nothing() -> None:
    assert lossy(2000, 0, "reverse") == Check(
        check="loss reverse",
        where="bottleneck, acknowledgements",
        wanted="0 %: 0 to 0 of 2000 packets",
        got="0 (0 %)",
        agrees=True,
    )
    assert lossy(2000, 1, "reverse").agrees is False


def test_losses_of_all_stages_add_up() -> None:
    access = both_ways(direction(loss=Loss(model="random", loss_frac=0.5)))
    network = dataclasses.replace(NETWORK, source_access=access, destination_access=access)
    found, logs = {"loss_reverse": {"packets": 2000}}, {"loss_reverse": log(*[(0, 1)] * 500)}
    # Half, then half again, must pass: 75 % are lost.
    judged = judge_loss(network, "reverse", found, logs)
    assert judged.wanted.startswith("75 %: ")
    assert judged.agrees


def test_a_packet_seen_twice_arrived_once() -> None:
    logs = {"loss_reverse": log((0, 1), (0, 1)) + log((0, 1), (0, 1))}
    assert (
        judge_loss(NETWORK, "reverse", {"loss_reverse": {"packets": 3}}, logs).got == "1 (33.3 %)"
    )


FILL = {"fill_forward": {"ip_bytes": 1500}}


def test_recorded_rate_and_buffer() -> None:
    logs = {"fill_forward": judge.read_log(text("probes-0.1.0/fill_forward.tsv"), "x")}
    rate, buffer = judge_fill(NETWORK, FILL, logs)
    assert (rate.wanted, rate.got) == ("3000000 bit/s within 0.1 %", "3000001 bit/s")
    assert (buffer.wanted, buffer.got) == ("10 packets", "10 packets")
    assert rate.agrees
    assert buffer.agrees


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        ({"rate_bps": 3_004_000}, {"rate", "buffer"}),
        ({"rate_bps": 2_996_000}, {"rate"}),
        ({"rate_bps": 2_997_100}, set()),
        ({"queue_pkts": 9}, {"buffer"}),
        ({"queue_pkts": 11}, {"buffer"}),
    ],
)
def test_another_bottleneck_than_asked_is_caught(asked: dict[str, Any], wrong: set[str]) -> None:
    logs = {"fill_forward": judge.read_log(text("probes-0.1.0/fill_forward.tsv"), "x")}
    judged = judge_fill(bottleneck(**asked), FILL, logs)
    assert {item.check for item in judged if not item.agrees} == wrong


# 1500 bytes are 12000 bits: 4 ms at 3 Mbit/s, 1.2 ms at 10 Mbit/s. A packet that finds the
# bottleneck idle takes 2 + 1.2 + 250 + 4 + 2 + 1.2 = 260.4 ms; 256.4 ms without the 4 ms there.
IDLE_NS = 256_400_000


@pytest.mark.parametrize(
    ("stay_ns", "held"),
    [(4 * MS, 1), (7 * MS, 2), (8 * MS, 2), (8 * MS + 19_000, 2), (8 * MS + 21_000, 3)],
)
def test_buffer_is_the_longest_stay_in_serialisation_times_rounded_up(
    stay_ns: int, held: int
) -> None:
    # 20 us are what clock ticks may add to a whole number.
    sends = [i * 4 * MS for i in range(20)]
    logs = {"fill_forward": log(*[(s, s + IDLE_NS + stay_ns) for s in sends])}
    rate, buffer = judge_fill(bottleneck(queue_pkts=held), FILL, logs)
    assert (buffer.got, buffer.agrees) == (f"{held} packets", True)
    assert (rate.got, rate.agrees) == ("3000000 bit/s", True)


def test_rate_behind_a_buffer_of_one_packet_is_known_as_well_as_a_delay_is() -> None:
    # Nothing waits, so packets leave 5 ms apart however fast the link is. 20 us are 0.5 % of 4 ms.
    logs = {"fill_forward": log(*[(i * 5 * MS, i * 5 * MS + IDLE_NS + 4 * MS) for i in range(20)])}
    rate, buffer = judge_fill(bottleneck(queue_pkts=1), FILL, logs)
    assert (rate.wanted, rate.got) == ("3000000 bit/s within 0.5 %", "3000000 bit/s")
    assert (rate.agrees, buffer.got) == (True, "1 packets")
    assert not judge_fill(bottleneck(queue_pkts=1, rate_bps=2_900_000), FILL, logs)[0].agrees


@pytest.mark.parametrize("count", [0, 1, 9])
def test_too_few_packets_are_no_measurement(count: int) -> None:
    judged = judge_fill(NETWORK, FILL, {"fill_forward": log(*[(0, 1)] * count)})
    assert [(item.check, item.got, item.agrees) for item in judged] == [
        ("rate", f"only {count} packets arrived", False),
        ("buffer", f"only {count} packets arrived", False),
    ]


def test_packets_that_arrive_all_at_once_have_no_rate() -> None:
    rate, buffer = judge_fill(NETWORK, FILL, {"fill_forward": log(*[(0, IDLE_NS)] * 20)})
    assert (rate.got, rate.agrees) == ("inf bit/s", False)
    assert not buffer.agrees


def test_behind_a_slower_access_link_the_bottleneck_is_said_not_to_be_measured() -> None:
    judged = judge_fill(NETWORK, {}, {})
    assert [(item.wanted, item.agrees) for item in judged] == [
        ("3000000 bit/s", True),
        ("10 packets", True),
    ]
    assert {item.got for item in judged} == {
        "not measured: an access link is not faster than the bottleneck"
    }


def test_the_rate_is_seen_through_the_loss_model() -> None:
    # Every other packet is gone, some twice in a row: gaps of 4, 8 and 12 ms, and 4 ms is 1500 B.
    at_ms = [0, 4, 12, 16, 28, 32, 40, 44, 48, 60, 64, 68]
    logs = {"fill_forward": log(*[(0, IDLE_NS + 40 * MS + t * MS) for t in at_ms])}
    rate, _ = judge_fill(NETWORK, FILL, logs)
    assert (rate.got, rate.agrees) == ("3000000 bit/s", True)


def drop_tail(network: Network, packets: int, rate_bps: int, ip_bytes: int) -> list[Packet]:
    """Send packets through an idle path whose bottleneck holds ``queue_pkts`` and drops more."""
    link: Direction = network.bottleneck.forward
    send_ns = ip_bytes * 8e9 / link.rate_bps
    before_s = delay_s([network.source_access.forward], ip_bytes)
    after_s = link.owd_s + delay_s([network.destination_access.forward], ip_bytes)
    leaves: list[float] = []
    arrived = []
    for seq in range(packets):
        sent_ns = seq * ip_bytes * 8e9 / rate_bps
        at_ns = sent_ns + before_s * 1e9
        held = sum(1 for leave_ns in leaves[-link.queue_pkts :] if leave_ns > at_ns)
        if held >= link.queue_pkts:
            continue
        leaves.append(max([at_ns, *leaves[-1:]]) + send_ns)
        # The lab's clock ticks every 256 ns, and seven stages are each some ticks late.
        recv_ns = math.ceil((leaves[-1] + after_s * 1e9 + 3_000) / 256) * 256
        arrived.append(Packet(seq=seq, send_ns=round(sent_ns), recv_ns=recv_ns))
    return arrived


@settings(max_examples=60, deadline=None)
@given(
    queue_pkts=st.integers(1, 50),
    rate_bps=st.integers(100_000, 9_500_000),
)
def test_a_drop_tail_queue_of_n_packets_is_measured_as_n(queue_pkts: int, rate_bps: int) -> None:
    network = bottleneck(queue_pkts=queue_pkts, rate_bps=rate_bps)
    offered_bps = calibration.fill_rate_bps(network)
    assert offered_bps is not None
    count = calibration.fill_packets(network.bottleneck.forward, offered_bps)
    logs = {"fill_forward": drop_tail(network, count, offered_bps, 1500)}
    rate, buffer = judge_fill(network, FILL, logs)
    assert (buffer.got, buffer.agrees) == (f"{queue_pkts} packets", True)
    assert rate.agrees


def test_all_five_properties_are_judged_and_every_pairs_delay() -> None:
    found = {
        **DELAYS,
        **FILL,
        "delay_forward_2": {"ip_bytes": 128},
        "delay_reverse_2": {"ip_bytes": 128},
        "loss_forward": {"packets": 2000},
        "loss_reverse": {"packets": 2000},
    }
    logs = dict.fromkeys(found, log((0, 1)))
    checks = [item.check for item in judge.judge(NETWORK, found, logs)]
    assert checks == ["rtt", "rtt", "loss forward", "loss reverse", "rate", "buffer"]
