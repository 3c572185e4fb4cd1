"""A calibration's checks on recorded and hand-worked packet logs."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.check import Check
from model.errors import ParseError
from model.links import Link, Loss, Network
from model.netem_draws import Foretold
from testbed.campaign import calibration_checks
from testbed.campaign.calibration_checks import Packet, check_delay, check_fill, check_loss, delay_s
from testbed.guest import calibration
from testbed.guest.calibration import Way, stages
from testbed.guest.link_fill import LOG_HEADER, ROUND_FRAC, ROUNDS, Fill, fills
from tests.support.fake_lab import FakeLab, write_calibrated
from tests.support.recorded import both_ways, direction, text, wireless_cell, with_bottleneck
from tests.support.runs import lab_part

TOLERANCES = FakeLab.properties.tolerances

MS = 1_000_000
NETWORK = wireless_cell().wired


def bottleneck(**changes: Any) -> Network:
    """Return the wireless network with another bottleneck in the data direction."""
    return with_bottleneck(wireless_cell(), **changes).wired


def log(*times_ns: tuple[int, int]) -> list[Packet]:
    return [Packet(seq=i, send_ns=s, recv_ns=r) for i, (s, r) in enumerate(times_ns)]


def test_read_log() -> None:
    packets = calibration_checks.read_log(f"{LOG_HEADER}\n0\t5\t9\n2\t6\t10\n", "x.tsv")
    assert packets == [
        Packet(seq=0, send_ns=5, recv_ns=9),
        Packet(seq=2, send_ns=6, recv_ns=10),
    ]
    assert calibration_checks.read_log(f"{LOG_HEADER}\n", "x.tsv") == []


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
        calibration_checks.read_log(content, "x.tsv")


@given(st.text())
def test_any_text_is_a_log_or_a_parse_error(content: str) -> None:
    for whole in (content, f"{LOG_HEADER}\n{content}"):
        with contextlib.suppress(ParseError):
            calibration_checks.read_log(whole, "x.tsv")


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
    logs = {
        run: calibration_checks.read_log(text(f"probes-0.1.0/{run}.tsv"), run) for run in DELAYS
    }
    assert (len(logs["delay_forward"]), len(logs["delay_reverse"])) == (198, 200)
    # Twice 254.546133 ms, each a few 256 ns clock ticks late.
    assert check_delay(NETWORK, DELAYS, logs, TOLERANCES) == Check(
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
    assert check_delay(NETWORK, DELAYS, logs, TOLERANCES).agrees is agrees


def test_delay_is_the_median_so_that_one_late_packet_does_not_count() -> None:
    logs = {
        "delay_forward": log((0, 254_546_133), (0, 254_546_133), (0, 900 * MS)),
        "delay_reverse": log((0, 254_546_133)),
    }
    assert check_delay(NETWORK, DELAYS, logs, TOLERANCES).got == "509.092 ms"


def test_no_packet_arrived_is_never_a_delay() -> None:
    made = check_delay(NETWORK, DELAYS, {"delay_forward": [], "delay_reverse": []}, TOLERANCES)
    assert (made.got, made.agrees) == ("no packet arrived (forward, reverse)", False)
    half = {"delay_forward": log((0, 509_092_266)), "delay_reverse": []}
    assert check_delay(NETWORK, DELAYS, half, TOLERANCES).got == "no packet arrived (reverse)"
    assert check_delay(NETWORK, DELAYS, half, TOLERANCES).agrees is False


def measured(
    network: Network, seed: int = 1, way: Way = "forward", *, packets: int = 0
) -> tuple[dict[str, Any], dict[str, list[Packet]]]:
    """Return what a path that is as asked would show of its losses on the way."""
    path = Foretold(calibration.chances(network, seed, way))
    found, logs = {}, {}
    sent = packets or calibration.loss_packets(network, seed, way)
    for run, count in ((f"delay_{way}", calibration.DELAY_PACKETS), (f"loss_{way}", sent)):
        found[run] = {"packets": count}
        fates = [path.lost() for _ in range(count)]
        arrived = [i for i, gone in enumerate(fates) if not gone]
        logs[run] = [Packet(seq=i, send_ns=0, recv_ns=1) for i in arrived]
    return found, logs


def losing(loss_frac: float) -> Network:
    return bottleneck(loss=Loss(model="random", loss_frac=loss_frac))


def test_the_right_path_loses_exactly_the_packets_that_its_seed_draws() -> None:
    made = check_loss(NETWORK, 1, "forward", *measured(NETWORK))
    assert made.agrees
    assert made.wanted.startswith("1 %: the ")
    assert made.wanted.endswith(" packets that its seed draws; others with 5 % more or less")
    assert made.got.endswith("%), the same")


@pytest.mark.parametrize("other_frac", [0.0095, 0.0105, 0.012, 0.0])
@pytest.mark.parametrize("seed", range(1, 21))
def test_a_loss_a_twentieth_off_is_seen_whatever_the_seed(seed: int, other_frac: float) -> None:
    found, _ = measured(NETWORK, seed)
    sent = found["loss_forward"]["packets"]
    other = losing(other_frac) if other_frac else bottleneck(loss=Loss(model="none", loss_frac=0.0))
    _, logs = measured(other, seed, packets=sent)
    assert check_loss(NETWORK, seed, "forward", found, logs).agrees is False


def test_what_too_few_packets_cannot_tell_is_said() -> None:
    # At 0.01 % no packet of 2000 is likely to tell anything: none lost must not pass for right.
    rare = losing(1e-4)
    made = check_loss(rare, 1, "forward", *measured(rare, packets=2000))
    assert made.agrees is None
    assert made.wanted.endswith("; cannot tell 5 % more or less")


def test_one_packet_with_another_fate_is_seen() -> None:
    found, logs = measured(NETWORK)
    del logs["loss_forward"][7]
    made = check_loss(NETWORK, 1, "forward", found, logs)
    assert made.got.endswith("%), 1 packets with another fate")
    assert made.agrees is False


def test_a_way_without_loss_loses_nothing() -> None:
    found, logs = measured(NETWORK, way="reverse")
    assert check_loss(NETWORK, 1, "reverse", found, logs) == Check(
        check="loss reverse",
        where="bottleneck, acknowledgements",
        wanted="0 %: the 0 of 1200 packets that its seed draws",
        got="0 (0 %), the same",
        agrees=True,
    )
    logs["delay_reverse"].pop()
    assert check_loss(NETWORK, 1, "reverse", found, logs).agrees is False


def test_losses_of_all_stages_add_up() -> None:
    access = both_ways(direction(loss=Loss(model="random", loss_frac=0.5)))
    network = dataclasses.replace(NETWORK, source_access=access, destination_access=access)
    made = check_loss(network, 1, "reverse", *measured(network, way="reverse"))
    # Half, then half again, must pass: 75 % are lost.
    assert made.wanted.startswith("75 %: ")
    assert made.agrees


def test_a_packet_seen_twice_arrived_once() -> None:
    found, logs = measured(NETWORK, way="reverse")
    logs["loss_reverse"][5] = logs["loss_reverse"][6]
    assert check_loss(NETWORK, 1, "reverse", found, logs).agrees is False


FILL = fills(NETWORK)[0]
SEND_NS = 4 * MS  # 1500 bytes at 3 Mbit/s
OWD_NS = 250 * MS


def filling(**changes: Any) -> Fill:
    return dataclasses.replace(FILL, direction=dataclasses.replace(FILL.direction, **changes))


def full(held: int, send_ns: int = SEND_NS) -> list[Packet]:
    """Return what a link that holds so many packets shows: each leaves one sending time later."""
    return log(*[
        (max(0, i + 1 - held) * send_ns, OWD_NS + (i + 1) * send_ns) for i in range(held + 20)
    ])  # fmt: skip


def test_rate_and_buffer_of_a_link() -> None:
    rate, buffer = check_fill(FILL, 1500, full(10), TOLERANCES)
    assert rate.where == buffer.where == "bottleneck, r1 to r2"
    assert (rate.wanted, rate.got) == ("3000000 bit/s within 0.1 %", "3000000 bit/s")
    assert (buffer.wanted, buffer.got) == ("10 packets", "10 packets")
    assert rate.agrees
    assert buffer.agrees


@pytest.mark.parametrize(
    ("held", "send_ns", "wrong"),
    [
        (9, SEND_NS, {"buffer"}),
        (11, SEND_NS, {"buffer"}),
        (10, SEND_NS * 1.002, {"rate", "buffer"}),
        (10, SEND_NS * 0.998, {"rate"}),
        (10, SEND_NS * 0.9995, set()),
    ],
)
def test_another_link_than_asked_is_caught(held: int, send_ns: float, wrong: set[str]) -> None:
    made = check_fill(FILL, 1500, full(held, round(send_ns)), TOLERANCES)
    assert {item.check for item in made if not item.agrees} == wrong


def test_a_packet_that_a_real_timer_let_go_late_tells_of_no_other_link() -> None:
    """The one behind it comes at once, and one more than fits was in the buffer."""
    packets = full(10)
    late = dataclasses.replace(packets[20], recv_ns=packets[21].recv_ns - 2000)
    packets[20] = late
    wrong = {c.check for c in check_fill(FILL, 1500, packets, TOLERANCES) if not c.agrees}
    assert wrong == {"buffer"}
    real = dataclasses.replace(TOLERANCES, late_frac=0.05)
    assert [c.agrees for c in check_fill(FILL, 1500, packets, real)] == [True, True]
    for held in (9, 11):
        assert not check_fill(FILL, 1500, full(held), real)[1].agrees
    assert not check_fill(FILL, 1500, full(10, round(SEND_NS * 0.98)), real)[0].agrees


@pytest.mark.parametrize(
    ("stay_ns", "held"),
    [(4 * MS, 1), (7 * MS, 2), (8 * MS, 2), (8 * MS + 19_000, 2), (8 * MS + 21_000, 3)],
)
def test_buffer_is_the_longest_stay_in_serialisation_times_rounded_up(
    stay_ns: int, held: int
) -> None:
    # 20 us are what clock ticks may add to a whole number.
    packets = log(*[(i * 4 * MS, i * 4 * MS + OWD_NS + stay_ns) for i in range(20)])
    rate, buffer = check_fill(filling(queue_pkts=held), 1500, packets, TOLERANCES)
    assert (buffer.got, buffer.agrees) == (f"{held} packets", True)
    assert (rate.got, rate.agrees) == ("3000000 bit/s", True)


def test_rate_behind_a_buffer_of_one_packet_is_known_as_well_as_a_delay_is() -> None:
    # Nothing waits, so packets leave 5 ms apart however fast the link is. 20 us are 0.5 % of 4 ms.
    packets = log(*[(i * 5 * MS, i * 5 * MS + OWD_NS + 4 * MS) for i in range(20)])
    rate, buffer = check_fill(filling(queue_pkts=1), 1500, packets, TOLERANCES)
    assert (rate.wanted, rate.got) == ("3000000 bit/s within 0.5 %", "3000000 bit/s")
    assert (rate.agrees, buffer.got) == (True, "1 packets")
    assert not check_fill(filling(queue_pkts=1, rate_bps=2_900_000), 1500, packets, TOLERANCES)[
        0
    ].agrees


@pytest.mark.parametrize("count", [0, 1, 9])
def test_too_few_packets_are_no_measurement(count: int) -> None:
    made = check_fill(FILL, 1500, log(*[(0, 1)] * count), TOLERANCES)
    assert [(item.check, item.got, item.agrees) for item in made] == [
        ("rate", f"only {count} packets arrived", False),
        ("buffer", f"only {count} packets arrived", False),
    ]


def test_packets_that_arrive_all_at_once_have_no_rate() -> None:
    rate, buffer = check_fill(FILL, 1500, log(*[(0, OWD_NS)] * 20), TOLERANCES)
    assert (rate.got, rate.agrees) == ("inf bit/s", False)
    assert not buffer.agrees


def test_the_rate_is_seen_through_the_loss_model() -> None:
    # Every other packet is gone, some twice in a row: gaps of 4, 8 and 12 ms, and 4 ms is 1500 B.
    at_ms = [0, 4, 12, 16, 28, 32, 40, 44, 48, 60, 64, 68]
    rate, _ = check_fill(
        FILL, 1500, log(*[(0, OWD_NS + 40 * MS + t * MS) for t in at_ms]), TOLERANCES
    )
    assert (rate.got, rate.agrees) == ("3000000 bit/s", True)


@pytest.mark.parametrize(("rate_bps", "agrees"), [(10**10, True), (10_020_000_000, False)])
def test_the_rate_of_a_fast_link_whose_packets_are_late_by_parts_of_one(
    rate_bps: int, agrees: bool
) -> None:
    """Of one that is late the gap is longer, of the next shorter: the usual one is the rate."""
    fill = filling(queue_pkts=1000, rate_bps=rate_bps)
    late_ns = (0, 0, 700, 0, 0, 0, 1100, 0, 300, 0)
    packets = log(*[
        (i, OWD_NS + (i + 1) * 1200 + late_ns[i % len(late_ns)]) for i in range(1000)
    ])  # fmt: skip
    rate = check_fill(fill, 1500, packets, TOLERANCES)[0]
    assert (rate.got, rate.agrees) == ("10000000000 bit/s", agrees)


def test_packets_that_found_the_link_idle_tell_nothing_of_its_rate() -> None:
    """Two were sent back to back, and nothing for a while: most gaps are that while's."""
    each = [(i * 50 * MS + part, OWD_NS + i * 50 * MS + (part + 1) * SEND_NS)
            for i in range(10) for part in range(2)]  # fmt: skip
    rate = check_fill(FILL, 1500, log(*each), TOLERANCES)[0]
    assert (rate.got, rate.agrees) == ("3000000 bit/s", True)


def drop_tail(fill: Fill) -> list[Packet]:
    """Send as the lab does through a link that holds ``queue_pkts`` and drops more."""
    link, send_ns = fill.direction, fill.send_s() * 1e9
    leaves: list[float] = []
    arrived = []
    numbers = itertools.count()
    for turn in range(ROUNDS):
        for part in range(link.queue_pkts + 1 if turn == 0 else fill.round_packets()):
            seq, at_ns = next(numbers), turn * ROUND_FRAC * send_ns + part * 512
            held = sum(1 for leave_ns in leaves[-link.queue_pkts :] if leave_ns > at_ns)
            if held >= link.queue_pkts:
                continue
            leaves.append(max([at_ns, *leaves[-1:]]) + send_ns)
            # The lab's clock ticks every 256 ns, and the stages are each some ticks late.
            recv_ns = math.ceil((leaves[-1] + link.owd_s * 1e9 + 1_000) / 256) * 256
            arrived.append(Packet(seq=seq, send_ns=round(at_ns), recv_ns=recv_ns))
    return arrived


@settings(max_examples=60, deadline=None)
@given(
    queue_pkts=st.integers(1, 50),
    rate_bps=st.integers(100_000, 100_000_000),
)
def test_a_drop_tail_queue_of_n_packets_is_measured_as_n(queue_pkts: int, rate_bps: int) -> None:
    fill = filling(queue_pkts=queue_pkts, rate_bps=rate_bps)
    rate, buffer = check_fill(fill, 1500, drop_tail(fill), TOLERANCES)
    assert (buffer.got, buffer.agrees) == (f"{queue_pkts} packets", True)
    assert rate.agrees


def test_all_properties_are_checked_and_every_pairs_delay_and_every_link(tmp_path: Path) -> None:
    write_calibrated(tmp_path, wireless_cell(purpose="calibrate"))
    found, logs = lab_part.measured(tmp_path)
    checks = calibration_checks.checks(NETWORK, 1, found, logs, TOLERANCES)
    assert [item.check for item in checks] == [
        "rtt", "rtt", "loss forward", "loss reverse", *["rate", "buffer"] * 10,
    ]  # fmt: skip
    assert [item for item in checks if not item.agrees] == []
