"""How much a calibration sends and how fast, and which programs it starts where."""

from __future__ import annotations

import dataclasses
import socket
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from model.links import FIFO, BurstLoss, Loss, Network, QueueKind
from model.netem_draws import Foretold, variants
from testbed.campaign import calibration_checks
from testbed.guest import calibration, link_fill, pair_delay
from testbed.guest.team import Alone
from tests.support.fake_lab import Here
from tests.support.recorded import both_ways, direction, wireless_cell, with_bottleneck

NETWORK = wireless_cell().wired


def network(bottleneck_bps: int, access_bps: int = 10_000_000, **changes: Any) -> Network:
    link = both_ways(direction(rate_bps=bottleneck_bps, **changes))
    access = both_ways(direction(rate_bps=access_bps))
    return dataclasses.replace(
        NETWORK, bottleneck=link, source_access=access, destination_access=access
    )


def losing(loss: Loss | BurstLoss) -> Network:
    return with_bottleneck(wireless_cell(), loss=loss).wired


@pytest.mark.parametrize("loss_frac", [0.0, 0.001, 0.01, 0.5, 1.0])
def test_packets_tell_a_loss_from_one_a_twentieth_off(loss_frac: float) -> None:
    network = losing(Loss(model="random" if loss_frac else "none", loss_frac=loss_frac))
    packets = calibration.loss_packets(network, 1, "forward")
    path = Foretold(calibration.chances(network, 1, "forward"))
    for number in range(calibration.DELAY_PACKETS + packets):
        told = not path.untold
        assert not (told and number > calibration.DELAY_PACKETS + calibration.LOSS_PACKETS_MIN)
        path.lost()
    assert not path.untold
    assert calibration.loss_packets(network, 1, "reverse") == calibration.LOSS_PACKETS_MIN


def test_packets_that_would_cost_too_much_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "LOSS_PACKETS_MAX", 2_000)
    network = losing(Loss(model="random", loss_frac=1e-5))
    assert calibration.loss_packets(network, 3, "forward") == 2_000


def test_bursts_are_told_apart_by_each_of_their_settings() -> None:
    # Bad for 4 packets on average, of which all are lost; 1 packet in 20 of the others begins it.
    loss = BurstLoss(
        model="gilbert_elliott", to_bad_frac=0.05, to_good_frac=0.25, loss_bad_frac=0.9,
        loss_good_frac=0.001,
    )  # fmt: skip
    assert len(variants(loss)) == 9
    packets = calibration.loss_packets(losing(loss), 1, "forward")
    assert calibration.LOSS_PACKETS_MIN < packets < calibration.LOSS_PACKETS_MAX


@pytest.mark.parametrize(
    ("queue_pkts", "burst"), [(1, 1), (2, 1), (4, 2), (10, 5), (16, 8), (100, 8)]
)
def test_a_burst_is_at_most_half_the_buffer(queue_pkts: int, burst: int) -> None:
    assert calibration.burst_packets(queue_pkts) == burst


def test_loss_is_measured_at_half_the_slowest_rate() -> None:
    slow, fast = network(3_000_000), network(30_000_000)
    assert calibration.loss_rate_bps(slow, "forward") == 1_500_000
    assert calibration.loss_rate_bps(fast, "reverse") == 5_000_000
    assert calibration.loss_rate_bps(network(10**10, 10**10), "forward") == 500_000_000


def test_a_slow_way_back_is_measured_at_its_own_rate() -> None:
    fast = network(3_000_000)
    back = dataclasses.replace(fast.bottleneck, reverse=direction(rate_bps=64_000, queue_pkts=4))
    one = dataclasses.replace(fast, bottleneck=back)
    rates = {run.name: (run.rate_bps, run.burst_packets) for run in calibration.runs(one, 1)}
    assert rates["loss_forward"] == (1_500_000, 5)
    assert rates["loss_reverse"] == (32_000, 2)
    assert rates["delay_forward"] == rates["delay_reverse"] == (12_000, 1)


def test_a_slow_path_takes_its_time() -> None:
    slow = network(8_000)
    delay, loss, *_ = calibration.runs(slow, 1)
    # 200 packets of 128 bytes at a quarter of 8 kbit/s, 1000 at half of it.
    assert delay.rate_bps == 2_000
    assert delay.sending_s() == pytest.approx(102.4)
    assert loss.rate_bps == 4_000
    assert loss.sending_s() == pytest.approx(256.0)
    (fill, *_) = link_fill.fills(slow)
    assert fill.send_s() == 1.5
    assert fill.lasts_s() == pytest.approx((60 + 10 + 2) * 1.5 + 0.25)
    # Ten packets of 1500 bytes leave a buffer in 15 s; five of them pass in 7.5 s.
    assert calibration.drain_s(slow) == pytest.approx(15.0)
    assert calibration.idle_s(slow) == 10
    assert calibration.idle_s(network(1_000)) == 60
    assert calibration.timeout_s(slow, loss) == pytest.approx(2 * 256 + 15 + 10 + 200)
    assert calibration.virtual_s(slow, 1) > 102.4 * 2 + 256 * 2 + 2 * 108


def test_every_link_is_filled_both_ways_between_its_own_ends() -> None:
    found = {fill.name: fill for fill in link_fill.fills(NETWORK)}
    assert list(found)[:4] == ["fill_r1_r2", "fill_r2_r1", "fill_r1_src1", "fill_src1_r1"]
    assert len(found) == 10
    links = (NETWORK.source_access, NETWORK.bottleneck, NETWORK.destination_access)
    assert [found[n].direction for n in ("fill_src2_r1", "fill_r1_r2", "fill_r2_dst2")] == [
        link.forward for link in links
    ]
    assert [found[n].direction for n in ("fill_r1_src2", "fill_r2_r1", "fill_dst2_r2")] == [
        link.reverse for link in links
    ]
    addresses = {n: found[n].address for n in ("fill_r1_r2", "fill_src1_r1", "fill_r2_dst1")}
    assert addresses == {
        "fill_r1_r2": "10.0.0.2", "fill_src1_r1": "10.1.1.1", "fill_r2_dst1": "10.2.1.2",
    }  # fmt: skip


def test_a_lossy_link_is_filled_with_more() -> None:
    fill = link_fill.fills(losing(Loss(model="random", loss_frac=0.5)))[0]
    assert (fill.round_packets(), link_fill.fills(NETWORK)[1].round_packets()) == (4, 2)


@pytest.mark.parametrize(
    ("woken_s", "each_round"), [(0.9, 2), (1.1, 2), (2.0, 3), (5.5, 6), (400.0, None)]
)
def test_a_late_round_makes_up_for_what_left_meanwhile(
    woken_s: float, each_round: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``woken_s`` is how long each sleep lasts, in times that the link takes for a packet."""
    link = direction(rate_bps=1_000_000_000, queue_pkts=100, owd_s=0.0)
    fill = link_fill.Fill(
        name="fill_a_b", source="a", target="b", address="127.0.0.1", direction=link, what="link"
    )
    send_ns = round(fill.send_s() * 1e9)
    now_ns, sent_ns = [0], []
    clock = SimpleNamespace(
        time_ns=lambda: now_ns[0],
        sleep=lambda _: now_ns.__setitem__(0, now_ns[0] + round(woken_s * send_ns)),
    )
    monkeypatch.setattr(link_fill, "time", clock)
    sender: Any = SimpleNamespace(send=lambda _: sent_ns.append(now_ns[0]))
    assert link_fill._send(fill, sender, None, []) == len(sent_ns) <= fill.most_packets()
    rounds = Counter(sent_ns)
    assert rounds.pop(0) == 101
    if each_round is not None:
        assert set(rounds.values()) == {each_round}
        # So at each of them the buffer is full again, one being sent.
        for number, at_ns in enumerate(sorted(rounds), 1):
            assert 101 + number * each_round - at_ns / send_ns >= 100
    else:  # no more than it takes to fill it all over, and not without end
        assert len(sent_ns) == 4 * 101 + 59 * 2


def test_packets_that_fill_a_link_are_logged_as_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = direction(rate_bps=10_000_000_000, queue_pkts=10, owd_s=0.0)
    fill = link_fill.Fill(
        name="fill_a_b", source="a", target="b", address="127.0.0.1", direction=link, what="link"
    )
    monkeypatch.setattr(link_fill, "PORT", 0)
    bound = socket.socket.bind
    ports: list[int] = []

    def bind(self: socket.socket, address: tuple[str, int]) -> None:
        bound(self, address)
        ports.append(self.getsockname()[1])

    connected = socket.socket.connect
    monkeypatch.setattr(socket.socket, "bind", bind)
    monkeypatch.setattr(
        socket.socket, "connect",
        lambda self, address: connected(self, (address[0], ports[0])),
    )  # fmt: skip
    found = link_fill.measure(fill, {"a": Here("a"), "b": Here("b")}, tmp_path, Alone())
    packets = calibration_checks.read_log((tmp_path / "fill_a_b.tsv").read_text(), "x")
    sent = found["fill_a_b"]["packets"]
    assert found == {"fill_a_b": {"packets": sent, "ip_bytes": 1500, "log": "fill_a_b.tsv"}}
    # A host's clock goes on while the burst is sent: it may be as long as is allowed, not longer.
    assert 11 + 59 * 2 <= sent <= fill.most_packets()
    assert [packet.seq for packet in packets] == list(range(sent))
    assert all(0 <= packet.recv_ns - packet.send_ns < 10**9 for packet in packets)


class Programs:
    """Stands in for started programs and remembers them."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.finished = 0
        self.sent_by_agent: list[tuple[str, str]] = []

    def start(self, host: Here, argv: list[str], stem: Path, *_: Any) -> Programs:
        self.lines.append((host.name, " ".join([Path(argv[0]).name, *argv[1:]])))
        return self

    def send(self, run: calibration.Run, *_: Any) -> None:
        self.sent_by_agent.append((run.source, run.target))

    def finish(self, timeout_s: float) -> None:
        assert timeout_s >= calibration.TIMEOUT_MIN_S
        self.finished += 1


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Programs:
    made = Programs()
    monkeypatch.setattr(calibration, "start", made.start)
    monkeypatch.setattr(calibration, "start_ready", made.start)
    monkeypatch.setattr(pair_delay, "send", made.send)
    monkeypatch.setattr(
        link_fill, "measure", lambda fill, *_: {fill.name: {"log": f"{fill.name}.tsv"}}
    )
    return made


def measure(network: Network, folder: Path) -> dict[str, Any]:
    addresses = {
        "src1": ["10.1.1.2"], "dst1": ["10.2.1.2"], "src2": ["10.1.2.2"], "dst2": ["10.2.2.2"],
    }  # fmt: skip
    hosts = {name: Here(name) for name in addresses}
    return calibration.measure(network, 1, hosts, addresses, folder, Alone())


def test_what_is_measured_between_which_hosts(programs: Programs, tmp_path: Path) -> None:
    found = measure(NETWORK, tmp_path)
    fills = [fill.name for fill in link_fill.fills(NETWORK)]
    assert list(found) == [
        "delay_forward",
        "loss_forward",
        "delay_reverse",
        "loss_reverse",
        "delay_forward_2",
        "delay_reverse_2",
        *fills,
    ]
    assert found["loss_forward"] == {
        "packets": calibration.loss_packets(NETWORK, 1, "forward"),
        "ip_bytes": 128,
        "rate_bps": 1_500_000,
        "log": "loss_forward.tsv",
    }
    assert found["loss_reverse"]["packets"] == 1000
    assert [host for host, _ in programs.lines] == [
        "dst1", "src1", "dst1", "src1", "src1", "dst1", "src1", "dst1",
    ]  # fmt: skip
    assert programs.finished == 8
    assert programs.sent_by_agent == [("src2", "dst2"), ("dst2", "src2")]
    receiver, sender = (line for _, line in programs.lines[2:4])
    assert f"--log-packets {tmp_path}/loss_forward.tsv" in receiver
    assert sender.startswith(
        "udp_send --host 10.2.1.2 --port 4999 --rate-bps 1500000 --message-bytes 100 --count "
    )


def test_loss_is_sent_in_bursts_and_nothing_else(programs: Programs, tmp_path: Path) -> None:
    measure(NETWORK, tmp_path)
    senders = [line for _, line in programs.lines if line.startswith("udp_send")]
    found = [line.partition(" --burst-packets ")[2] for line in senders]
    assert found == ["1", "5", "1", "5"]


def test_another_pairs_delay_is_measured_packet_by_packet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this machine's loopback, each packet is logged with when it was sent and when it came."""
    run = calibration.Run(
        name="delay_forward_2", source="a", target="b", rate_bps=2_000_000, message_bytes=100,
        packets=5, probed=False,
    )  # fmt: skip
    monkeypatch.setattr(pair_delay, "PORT", 0)
    ports = {name: ["127.0.0.1"] for name in "ab"}
    bound, connected = socket.socket.bind, socket.socket.connect
    taken: list[int] = []

    def bind(self: socket.socket, address: tuple[str, int]) -> None:
        bound(self, address)
        taken.append(self.getsockname()[1])

    monkeypatch.setattr(socket.socket, "bind", bind)
    monkeypatch.setattr(
        socket.socket, "connect", lambda self, address: connected(self, (address[0], taken[0]))
    )
    hosts = {"a": Here("a"), "b": Here("b")}
    pair_delay.send(run, hosts, ports, 1.0, tmp_path, Alone())
    packets = calibration_checks.read_log((tmp_path / "delay_forward_2.tsv").read_text(), "x")
    assert [packet.seq for packet in packets] == list(range(5))
    assert all(0 <= packet.recv_ns - packet.send_ns < 10**9 for packet in packets)
    # 128 bytes at 2 Mbit/s: one each 512 us at least.
    assert packets[-1].send_ns - packets[0].send_ns >= 4 * 512_000


def test_among_many_a_link_asked_to_be_as_another_is_filled_for_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # In real time a burst alone need not fill a buffer.
    assert {fill.rounds() for fill in link_fill.fills(NETWORK)} == {link_fill.ROUNDS}
    monkeypatch.setattr(link_fill, "BRIEF_FROM_LINKS", 4)
    rounds = {fill.name: fill.rounds() for fill in link_fill.fills(NETWORK)}
    assert {name for name, times in rounds.items() if times == link_fill.ROUNDS_BRIEF} == {
        "fill_r1_src2", "fill_src2_r1", "fill_r2_dst2", "fill_dst2_r2",
    }  # fmt: skip
    lossy = both_ways(direction(queue_pkts=100, loss=Loss(model="random", loss_frac=0.01)))
    short = both_ways(direction(queue_pkts=10))
    far = both_ways(direction(queue_pkts=100, owd_s=0.3))
    for other in (
        dataclasses.replace(NETWORK, source_access=lossy, destination_access=lossy),
        dataclasses.replace(NETWORK, source_access=short, destination_access=short),
        dataclasses.replace(NETWORK, far_accesses=(far,), destination_access=short),
    ):
        assert {fill.rounds() for fill in link_fill.fills(other)} == {link_fill.ROUNDS}


@pytest.mark.parametrize(
    ("kind", "burst_pkts", "rounds"), [("codel", 108, 1), ("fq_codel", 100, 1), ("pie", 108, 1)]
)
def test_a_managed_queue_gets_a_burst_alone(kind: QueueKind, burst_pkts: int, rounds: int) -> None:
    (fill, *others) = link_fill.fills(managed(kind))
    assert (fill.burst_packets(), fill.rounds()) == (burst_pkts, rounds)
    overloads = [other for other in others if other.overload]
    assert [one.name for one in overloads] == (
        ["overload_r1_r2", "overload_r2_r1"] if kind == "pie" else []
    )


def test_pie_is_overloaded_for_ten_seconds() -> None:
    # 1500 bytes at 10 Mbit/s take 1.2 ms, and a packet comes each 0.96 ms.
    overload = next(fill for fill in link_fill.fills(managed("pie")) if fill.overload)
    assert (overload.burst_packets(), overload.rounds()) == (0, 10_417)
    assert (overload.round_packets(), overload.most_packets()) == (1, 10_417)
    assert overload.lasts_s() == pytest.approx((10_417 + 102) * 0.0012 + 0.25)


def managed(kind: QueueKind) -> Network:
    discipline = dataclasses.replace(FIFO, kind=kind, target_s=0.005, interval_s=0.1)
    way = direction(rate_bps=10_000_000, queue_pkts=100, discipline=discipline)
    return dataclasses.replace(NETWORK, bottleneck=both_ways(way))


def test_each_pair_has_the_delay_of_its_own_source() -> None:
    far = both_ways(direction(owd_s=0.3))
    found = dataclasses.replace(NETWORK, far_accesses=(far,))
    owds_s = [
        [stage.owd_s for stage in calibration.stages(found, way, pair)]
        for way in calibration.WAYS for pair in (1, 2)
    ]  # fmt: skip
    assert owds_s == [
        [0.002, 0.25, 0.002], [0.3, 0.25, 0.002], [0.002, 0.25, 0.002], [0.002, 0.25, 0.3],
    ]  # fmt: skip
