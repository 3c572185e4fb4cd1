"""How much a calibration sends and how fast, and which programs it starts where."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed import calibration
from testbed.cell import BurstLoss, Loss, Network
from tests.recorded import both_ways, direction, wireless_cell

pytestmark = pytest.mark.unit

NETWORK = wireless_cell().network


def network(bottleneck_bps: int, access_bps: int = 10_000_000, **changes: Any) -> Network:
    link = both_ways(direction(rate_bps=bottleneck_bps, **changes))
    access = both_ways(direction(rate_bps=access_bps))
    return dataclasses.replace(
        NETWORK, bottleneck=link, source_access=access, destination_access=access
    )


@pytest.mark.parametrize(
    ("loss_frac", "packets"),
    [(0.0, 1000), (0.001, 40_000), (0.01, 10_000), (0.02, 5_000), (0.5, 1000), (1.0, 1000)],
)
def test_packets_that_show_a_loss(loss_frac: float, packets: int) -> None:
    # 100 losses are enough, between 1000 and 40000 packets.
    assert calibration.loss_packets(Loss(model="random", loss_frac=loss_frac)) == packets


def test_bursts_take_as_many_packets_more_as_a_burst_has() -> None:
    # Bad for 4 packets on average, of which all are lost; 1 packet in 20 of the others begins it.
    loss = BurstLoss(
        model="gilbert_elliott", to_bad_frac=0.05, to_good_frac=0.25, loss_bad_frac=1.0,
        loss_good_frac=0.0,
    )  # fmt: skip
    assert loss.bad_frac == pytest.approx(1 / 6)
    assert loss.burst_pkts == pytest.approx(4)
    assert calibration.loss_packets(loss) == 9_600  # 400 bursts of 4, a 6th of all packets


@pytest.mark.parametrize(
    ("queue_pkts", "burst"), [(1, 1), (2, 1), (4, 2), (10, 5), (16, 8), (100, 8)]
)
def test_a_burst_is_at_most_half_the_buffer(queue_pkts: int, burst: int) -> None:
    assert calibration.burst_packets(queue_pkts) == burst


def test_loss_is_measured_at_half_the_slowest_rate() -> None:
    slow, fast = network(3_000_000), network(30_000_000)
    assert calibration.loss_rate_bps(slow, "forward") == 1_500_000
    assert calibration.loss_rate_bps(fast, "reverse") == 5_000_000


def test_a_slow_way_back_is_measured_at_its_own_rate() -> None:
    fast = network(3_000_000)
    back = dataclasses.replace(fast.bottleneck, reverse=direction(rate_bps=64_000, queue_pkts=4))
    one = dataclasses.replace(fast, bottleneck=back)
    rates = {run.name: (run.rate_bps, run.burst_packets) for run in calibration.runs(one)}
    assert rates["loss_forward"] == (1_500_000, 5)
    assert rates["loss_reverse"] == (32_000, 2)
    assert rates["delay_forward"] == rates["delay_reverse"] == (12_000, 1)


def test_a_slow_path_takes_its_time() -> None:
    slow = network(8_000)
    delay, loss, *_, fill = calibration.runs(slow)
    # 200 packets of 128 bytes at a quarter of 8 kbit/s, 1000 at half of it.
    assert delay.rate_bps == 2_000
    assert delay.sending_s() == pytest.approx(102.4)
    assert loss.rate_bps == 4_000
    assert loss.sending_s() == pytest.approx(256.0)
    assert fill.rate_bps == 12_000
    assert fill.sending_s() == pytest.approx(430.0)
    # Ten packets of 1500 bytes leave a buffer in 15 s; five of them pass in 7.5 s.
    assert calibration.drain_s(slow) == pytest.approx(15.0)
    assert calibration.idle_s(slow) == 10
    assert calibration.idle_s(network(1_000)) == 60
    assert calibration.timeout_s(slow, loss) == pytest.approx(2 * 256 + 15 + 10 + 200)
    assert calibration.virtual_s(slow) > 102.4 * 2 + 256 * 2 + 430


@pytest.mark.parametrize(
    ("bottleneck_bps", "offered_bps"),
    [
        (3_000_000, 4_500_000),
        (6_666_666, 9_999_999),
        (8_000_000, 10_000_000),  # no faster than the access links
        (9_523_809, 10_000_000),
        (9_523_810, None),  # less than 5 % faster: the buffer would take too long to fill
        (10_000_000, None),
        (20_000_000, None),
    ],
)
def test_the_bottleneck_is_filled_where_access_links_are_faster(
    bottleneck_bps: int, offered_bps: int | None
) -> None:
    assert calibration.fill_rate_bps(network(bottleneck_bps)) == offered_bps


def test_the_slower_access_link_counts() -> None:
    slow = both_ways(direction(rate_bps=4_000_000))
    one = dataclasses.replace(network(3_000_000), destination_access=slow)
    assert calibration.path_rate_bps(one) == 4_000_000
    assert calibration.fill_rate_bps(one) == 4_000_000


def test_packets_that_fill_a_buffer_and_keep_it_full() -> None:
    # At 3/2 of the rate every third packet stays: 10 places need 30, and 400 more follow.
    assert calibration.fill_packets(direction(queue_pkts=10), 4_500_000) == 430
    # At 10/9 of the rate every tenth stays.
    assert calibration.fill_packets(direction(queue_pkts=10, rate_bps=9_000_000), 10_000_000) == 500


class Host:
    def __init__(self, name: str) -> None:
        self.name = name

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        yield


class Programs:
    """Stands in for started programs and remembers them."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.finished = 0

    def start(self, host: Host, argv: list[str], stem: Path, *_: Any) -> Programs:
        self.lines.append((host.name, " ".join([Path(argv[0]).name, *argv[1:]])))
        return self

    def finish(self, timeout_s: float) -> None:
        assert timeout_s >= calibration.TIMEOUT_MIN_S
        self.finished += 1


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Programs:
    made = Programs()
    monkeypatch.setattr(calibration, "start", made.start)
    monkeypatch.setattr(calibration, "start_ready", made.start)
    return made


def measure(network: Network, folder: Path) -> dict[str, Any]:
    addresses = {
        "src1": "10.1.1.2", "dst1": "10.2.1.2", "src2": "10.1.2.2", "dst2": "10.2.2.2",
    }  # fmt: skip
    hosts = {name: Host(name) for name in addresses}
    return calibration.measure(network, hosts, addresses, folder)


def test_what_is_measured_between_which_hosts(programs: Programs, tmp_path: Path) -> None:
    found = measure(NETWORK, tmp_path)
    assert list(found) == [
        "delay_forward",
        "loss_forward",
        "delay_reverse",
        "loss_reverse",
        "delay_forward_2",
        "delay_reverse_2",
        "fill_forward",
    ]
    assert found["loss_forward"] == {
        "packets": 10_000,
        "ip_bytes": 128,
        "rate_bps": 1_500_000,
        "log": "loss_forward.tsv",
    }
    assert found["loss_reverse"]["packets"] == 1000
    assert found["fill_forward"] == {
        "packets": 430,
        "ip_bytes": 1500,
        "rate_bps": 4_500_000,
        "log": "fill_forward.tsv",
    }
    assert [host for host, _ in programs.lines] == [
        "dst1", "src1", "dst1", "src1", "src1", "dst1", "src1", "dst1",
        "dst2", "src2", "src2", "dst2", "dst1", "src1",
    ]  # fmt: skip
    assert programs.finished == 14
    receiver, sender = (line for _, line in programs.lines[-2:])
    assert f"--log-packets {tmp_path}/fill_forward.tsv" in receiver
    assert sender.startswith(
        "udp_send --host 10.2.1.2 --port 4999 --rate-bps 4500000 --message-bytes 1472 --count 430"
    )


def test_loss_is_sent_in_bursts_and_nothing_else(programs: Programs, tmp_path: Path) -> None:
    measure(NETWORK, tmp_path)
    senders = [line for _, line in programs.lines if line.startswith("udp_send")]
    assert [line.partition(" --burst-packets ")[2] for line in senders] == [
        "1", "5", "1", "5", "1", "1", "1",
    ]  # fmt: skip


def test_a_bottleneck_that_cannot_be_filled_is_not(programs: Programs, tmp_path: Path) -> None:
    assert "fill_forward" not in measure(network(10_000_000), tmp_path)
