"""Known amounts through the probes on the loopback: exact totals, and how each run ended."""

from __future__ import annotations

import contextlib
import itertools
import signal
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LOOPBACK = "127.0.0.1"
#: As /proc/net/tcp writes the state.
ESTABLISHED = "01"


def test_tcp_counts_every_byte(tcp_transfer: Any) -> None:
    sent, received = tcp_transfer(["--count", 10007, "--message-bytes", 1009])
    assert (sent.status, received.status) == (0, 0)
    assert (sent.stderr, received.stderr) == ("", "")
    assert [event["event"] for event in sent.events] == [
        "options",
        "effective",
        "connected",
        "totals",
    ]
    totals = sent.one("totals")
    assert totals["sent_bytes"] == 10007 * 1009
    assert totals["messages"] == 10007
    assert totals["end"] == "drained"
    # SYN and FIN take one sequence number each.
    assert totals["bytes_acked"] == 10007 * 1009 + 2
    totals = received.one("totals")
    assert totals["goodput_bytes"] == totals["window_goodput_bytes"] == 10007 * 1009
    assert totals["messages"] is None
    assert totals["end"] == "eof"
    assert sum(interval["goodput_bytes"] for interval in received.all("interval")) == 10007 * 1009


def test_tcp_bytes_may_end_in_a_short_message(tcp_transfer: Any) -> None:
    sent, received = tcp_transfer(["--bytes", 100003, "--message-bytes", 1000])
    assert sent.one("totals")["messages"] == 101
    assert received.one("totals")["goodput_bytes"] == 100003


def test_tcp_messages_at_a_rate_are_recorded_one_by_one(tcp_transfer: Any, tmp_path: Path) -> None:
    sent_file, got_file = tmp_path / "sent", tmp_path / "got"
    # 5000 bytes each 20 ms, and 1000 more: the fourth is short, and whole for its sender alone.
    sent, received = tcp_transfer(
        ["--bytes", 16000, "--message-bytes", 5000, "--rate-bps", 2_000_000,
         "--messages", sent_file],
        ["--message-bytes", 5000, "--messages", got_file],
    )  # fmt: skip
    assert (sent.status, received.status, sent.stderr, received.stderr) == (0, 0, "", "")
    first_ns = sent.one("connected")["first_write_t_ns"]
    handed = list(struct.iter_unpack("<qq", sent_file.read_bytes()))
    assert [ready_ns for ready_ns, _ in handed] == [first_ns + 20_000_000 * i for i in range(4)]
    assert all(ready_ns <= accepted_ns for ready_ns, accepted_ns in handed)
    got = list(struct.iter_unpack("<qIIHH", got_file.read_bytes()))
    assert [record[1:] for record in got] == [(number, 5000, 0, 0) for number in range(3)]
    assert all(record[0] > ready_ns for record, (ready_ns, _) in zip(got, handed, strict=False))
    assert sent.one("totals")["messages"] == 4


def test_a_saturating_sender_that_records_hands_over_one_message_after_the_other(
    tcp_transfer: Any, tmp_path: Path
) -> None:
    sent_file, got_file = tmp_path / "sent", tmp_path / "got"
    sent, received = tcp_transfer(
        ["--count", 2000, "--message-bytes", 1009, "--messages", sent_file],
        ["--message-bytes", 1009, "--messages", got_file],
    )
    assert received.one("totals")["goodput_bytes"] == 2000 * 1009
    handed = list(struct.iter_unpack("<qq", sent_file.read_bytes()))
    assert len(handed) == sent.one("totals")["messages"] == 2000
    assert [ready for ready, _ in handed[1:]] == [accepted for _, accepted in handed[:-1]]
    got = list(struct.iter_unpack("<qIIHH", got_file.read_bytes()))
    assert [number for _, number, *_ in got] == list(range(2000))


def test_tcp_options_are_read_back(tcp_transfer: Any) -> None:
    options = ["--maxseg-bytes", 1448, "--congestion-control", "reno", "--nodelay"]
    sent, received = tcp_transfer(
        [*options, "--count", 3, "--sndbuf-bytes", 40000],
        ["--rcvbuf-bytes", 50000, "--window-clamp-bytes", 20000, "--maxseg-bytes", 1448],
    )
    effective = sent.one("effective")
    assert effective["congestion_control"] == "reno"
    assert effective["nodelay"] is True
    assert effective["sndbuf_kernel_bytes"] == 80000
    assert effective["snd_mss_bytes"] == 1448 - (12 if effective["timestamps"] else 0)
    effective = received.one("effective")
    assert effective["rcvbuf_kernel_bytes"] == 100000
    # Newer kernels give the clamp up with the first segment, which may come before it is read.
    totals = received.one("totals")
    assert effective["window_clamp_bytes"] in (20000, totals["window_clamp_bytes"])


def test_bytes_before_and_after_the_window_are_counted_apart(tcp_transfer: Any) -> None:
    now_ns = time.monotonic_ns()
    late = tcp_transfer(["--count", 7], ["--epoch-ns", now_ns - 10 * 10**9, "--duration-s", "0.5"])[
        1
    ]
    early = tcp_transfer(
        ["--count", 7], ["--epoch-ns", now_ns + 3600 * 10**9, "--duration-s", "0.5"]
    )[1]
    for received in (late, early):
        totals = received.one("totals")
        assert totals["goodput_bytes"] == 7 * 1448
        assert totals["window_goodput_bytes"] == 0
        assert not any(interval["in_window"] for interval in received.all("interval"))
    assert late.all("interval")[0]["start_s"] >= 10
    assert early.all("interval")[0]["start_s"] < -3500


def test_interval_is_cut_where_the_window_ends(tcp_transfer: Any) -> None:
    epoch_ns = time.monotonic_ns()
    received = tcp_transfer(
        ["--count", 7], ["--epoch-ns", epoch_ns, "--duration-s", "500.25", "--interval-s", "900"]
    )[1]
    (interval,) = received.all("interval")
    assert (interval["start_s"], interval["end_s"], interval["in_window"]) == (0, 500.25, True)


def test_interval_is_cut_where_the_window_starts(tcp_transfer: Any) -> None:
    epoch_ns = time.monotonic_ns()
    window = ["--window-from-s", "300.5", "--duration-s", "100", "--interval-s", "900"]
    early = tcp_transfer(["--count", 7], ["--epoch-ns", epoch_ns, *window])[1]
    inside = tcp_transfer(["--count", 7], ["--epoch-ns", epoch_ns - 310 * 10**9, *window])[1]
    late = tcp_transfer(["--count", 7], ["--epoch-ns", epoch_ns - 410 * 10**9, *window])[1]
    for received, span in (
        (early, (0, 300.5, False)), (inside, (300.5, 400.5, True)), (late, (400.5, 900, False)),
    ):  # fmt: skip
        (interval,) = received.all("interval")
        assert (interval["start_s"], interval["end_s"], interval["in_window"]) == span
        totals = received.one("totals")
        assert totals["goodput_bytes"] == 7 * 1448
        assert totals["window_goodput_bytes"] == (7 * 1448 if span[2] else 0)


@pytest.mark.parametrize("probe", ["tcp_recv", "udp_recv"])
def test_receiver_without_a_sender_ends_on_sigterm(probes: Any, probe: str) -> None:
    receiver = probes.start_receiver(probe)
    receiver.terminate()
    done = receiver.finish()
    assert done.status == 0
    totals = done.one("totals")
    assert totals["goodput_bytes"] == 0
    assert totals["first_byte_t_ns"] is None
    assert totals["epoch_t_ns"] is None
    assert totals["end"] == "sigterm"


def test_tcp_receiver_ends_on_sigterm_with_what_it_has(probes: Any) -> None:
    receiver = probes.start_receiver("tcp_recv")
    with socket.create_connection((LOOPBACK, receiver.port)) as connection:
        connection.sendall(bytes(4099))
        while not everything_was_read(connection, receiver.port):
            pass
        receiver.terminate()
        done = receiver.finish()
    assert done.one("totals")["end"] == "sigterm"
    assert done.one("totals")["goodput_bytes"] == 4099


def everything_was_read(connection: socket.socket, port: int) -> bool:
    """Return whether the peer's kernel has acknowledged all and its reader has taken all."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    unacked_segments = struct.unpack_from("=I", info, 24)[0]  # tcpi_unacked
    rows = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
    unread = [row[4] for row in rows if row[1] == f"0100007F:{port:04X}" and row[3] == ESTABLISHED]
    return unacked_segments == 0 and unread == ["00000000:00000000"]


@pytest.fixture
def silent_listener() -> Iterator[socket.socket]:
    """A listening socket whose connections nobody reads."""
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        listener.listen(1)
        listener.settimeout(20)
        yield listener


def test_tcp_sender_stops_in_time_while_blocked(
    probes: Any, silent_listener: socket.socket
) -> None:
    port = silent_listener.getsockname()[1]
    started_s = time.monotonic()
    options = ("--duration-s", "0.2", "--drain-s", "0.1", "--sndbuf-bytes", 20000)
    totals = probes.run("tcp_send", "--host", LOOPBACK, "--port", port, *options).one("totals")
    assert 0.3 <= time.monotonic() - started_s < 5
    assert totals["end"] == "drain_timeout"
    assert totals["sent_bytes"] > 0


def test_tcp_sender_ends_on_sigterm_while_blocked(
    probes: Any, silent_listener: socket.socket
) -> None:
    port = silent_listener.getsockname()[1]
    sender = probes.start("tcp_send", "--host", LOOPBACK, "--port", port, "--duration-s", 1000)
    with silent_listener.accept()[0]:
        sender.send_signal(signal.SIGTERM)
        stdout, stderr = sender.communicate(timeout=20)
    assert (sender.returncode, stderr) == (0, "")
    assert '"end":"sigterm"' in stdout


def test_tcp_sender_ends_on_sigterm_before_its_start(probes: Any) -> None:
    sender = probes.start(
        "tcp_send", "--host", LOOPBACK, "--port", 9, "--count", 1, "--start-s", 1000
    )
    assert sender.stdout is not None
    sender.stdout.readline()
    # The handlers are set after the options line is out.
    while not handles_sigterm(sender.pid):
        assert sender.poll() is None
    sender.send_signal(signal.SIGTERM)
    stdout, _ = sender.communicate(timeout=20)
    assert sender.returncode == 0
    assert '"connect_s":null,"end":"sigterm"' in stdout


def handles_sigterm(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def test_tcp_sender_tells_a_reset(probes: Any, silent_listener: socket.socket) -> None:
    port = silent_listener.getsockname()[1]
    sender = probes.start("tcp_send", "--host", LOOPBACK, "--port", port, "--duration-s", 1000)
    connection = silent_listener.accept()[0]
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    stdout, _ = sender.communicate(timeout=20)
    assert sender.returncode == 0
    assert '"end":"peer_reset"' in stdout


def test_tcp_sender_without_a_receiver_fails(probes: Any, silent_listener: socket.socket) -> None:
    port = silent_listener.getsockname()[1]
    silent_listener.close()
    done = probes.run("tcp_send", "--host", LOOPBACK, "--port", port, "--count", 1)
    assert done.status == 3
    assert "connect: wanted a connection, got ECONNREFUSED" in done.stderr


def test_tcp_sender_that_never_connects_has_a_result(
    probes: Any, silent_listener: socket.socket
) -> None:
    port = silent_listener.getsockname()[1]
    silent_listener.listen(0)
    with contextlib.ExitStack() as held:
        for _ in range(8):  # more than wait for a listener that accepts none
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex((LOOPBACK, port))
        to = ("--host", LOOPBACK, "--port", port)
        done = probes.run("tcp_send", *to, "--duration-s", "0.2")
    assert (done.status, done.stderr) == (0, "")
    totals = done.one("totals")
    assert (totals["end"], totals["sent_bytes"], totals["connect_s"]) == ("unconnected", 0, None)


def test_udp_counts_every_packet_of_its_flow(probes: Any, tmp_path: Path) -> None:
    log = tmp_path / "packets.tsv"
    receiver = probes.start_receiver(
        "udp_recv", "--flow-id", 5, "--count", 101, "--log-packets", log
    )
    to = ("--host", LOOPBACK, "--port", receiver.port, "--rate-bps", 10**8)
    foreign = probes.run("udp_send", *to, "--count", 13, "--flow-id", 4)
    sent = probes.run(
        "udp_send",
        *to,
        "--count",
        101,
        "--flow-id",
        5,
        "--message-bytes",
        997,
        "--burst-packets",
        7,
    )
    received = receiver.finish()
    assert (foreign.status, sent.status, received.status) == (0, 0, 0)
    totals = sent.one("totals")
    assert (totals["packets"], totals["send_errors"], totals["end"]) == (101, 0, "done")
    assert totals["sent_bytes"] == 101 * 997
    assert totals["sent_ip_bytes"] == 101 * (997 + 28)
    totals = received.one("totals")
    assert totals["goodput_bytes"] == 101 * 997
    assert totals["packets"] == totals["unique_packets"] == totals["messages"] == 101
    assert (totals["first_seq"], totals["last_seq"], totals["lost"]) == (0, 100, 0)
    assert (totals["duplicates"], totals["reordered"], totals["foreign_packets"]) == (0, 0, 13)
    assert totals["end"] == "count"
    header, *lines = log.read_text(encoding="ascii").splitlines()
    assert header == "seq\tsend_ns\trecv_ns"
    rows = [tuple(map(int, line.split("\t"))) for line in lines]
    assert [row[0] for row in rows] == list(range(101))
    delays_ns = [recv_ns - send_ns for _, send_ns, recv_ns in rows]
    assert (min(delays_ns), max(delays_ns)) == (totals["owd_min_ns"], totals["owd_max_ns"])
    assert sum(delays_ns) // 101 == totals["owd_mean_ns"]
    changes_ns = [abs(b - a) for a, b in itertools.pairwise(delays_ns)]
    assert sum(changes_ns) // 100 == totals["owd_change_mean_ns"]


def test_udp_tells_loss_duplicates_and_reordering_apart(probes: Any) -> None:
    receiver = probes.start_receiver("udp_recv", "--count", 5)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for sequence in (0, 1, 4, 4, 2, 9):  # 3, 5, 6, 7, 8 lost; 4 twice; 2 after 4
            packet = struct.pack("!IIQQ", 0x47545544, 0, sequence, time.monotonic_ns())
            sender.sendto(packet, (LOOPBACK, receiver.port))
        sender.sendto(b"short", (LOOPBACK, receiver.port))
    totals = receiver.finish().one("totals")
    assert totals["packets"] == 6
    assert (totals["unique_packets"], totals["duplicates"], totals["reordered"]) == (5, 1, 1)
    assert (totals["first_seq"], totals["last_seq"], totals["highest_seq"], totals["lost"]) == (
        0,
        9,
        9,
        5,
    )
    assert totals["goodput_bytes"] == 5 * 24


@pytest.mark.parametrize("ahead_ns", [-(10**18), 10**18])
def test_udp_delays_are_told_however_far_clocks_are_apart(probes: Any, ahead_ns: int) -> None:
    receiver = probes.start_receiver("udp_recv", "--count", 20)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for sequence in range(20):  # a sum of these delays is more than 64 bits hold
            sent_ns = 2 * 10**18 + ahead_ns + time.monotonic_ns()
            packet = struct.pack("!IIQQ", 0x47545544, 0, sequence, sent_ns)
            sender.sendto(packet, (LOOPBACK, receiver.port))
    totals = receiver.finish().one("totals")
    least_ns = -(2 * 10**18 + ahead_ns)
    assert least_ns < totals["owd_min_ns"] <= totals["owd_mean_ns"] <= totals["owd_max_ns"]
    assert totals["owd_max_ns"] < least_ns + 10**9


def test_udp_receiver_ends_when_idle(probes: Any) -> None:
    receiver = probes.start_receiver("udp_recv", "--idle-s", "0.05")
    probes.run(
        "udp_send", "--host", LOOPBACK, "--port", receiver.port, "--rate-bps", 10**8, "--count", 3
    )
    totals = receiver.finish().one("totals")
    assert (totals["unique_packets"], totals["end"]) == (3, "idle")


def test_udp_is_paced_at_the_rate_of_ip_bytes(probes: Any) -> None:
    to = (
        "--host",
        LOOPBACK,
        "--port",
        9,
        "--rate-bps",
        8 * 1000 * 100,
        "--message-bytes",
        1000 - 28,
    )
    totals = probes.run("udp_send", *to, "--duration-s", "0.1").one("totals")
    assert totals["packets"] == 10
    span_ns = totals["last_send_t_ns"] - totals["first_send_t_ns"]
    assert span_ns >= 9 * 10**7 - totals["late_max_ns"]


def test_sctp_works_or_says_that_the_kernel_has_none(probes: Any) -> None:
    """Never skipped: a kernel without SCTP must be told by status 4, one with it must transfer."""
    probe = probes.start("sctp_recv", "--port", 0, "--bind", LOOPBACK)
    assert probe.stdout is not None
    probe.stdout.readline()
    ready = probe.stdout.readline()
    if not ready:
        assert probe.wait(timeout=20) == 4
        sent = probes.run("sctp_send", "--host", LOOPBACK, "--port", 9, "--count", 1)
        assert sent.status == 4
        assert "wanted an SCTP socket, got" in sent.stderr
        return
    port = ready.rsplit(":", 1)[1].rstrip("}\n")
    sent = probes.run(
        "sctp_send",
        "--host",
        LOOPBACK,
        "--port",
        port,
        "--count",
        1009,
        "--streams",
        4,
        "--unordered",
    )
    stdout, _ = probe.communicate(timeout=20)
    assert sent.one("totals")["end"] == "drained"
    assert f'"goodput_bytes":{1009 * 1448}' in stdout
    assert '"unordered_messages":1009' in stdout
    assert '"end":"shutdown"' in stdout


def test_sctp_over_two_addresses_tells_of_both_paths(probes: Any) -> None:
    """Where the kernel has SCTP; one without says so, of these options too."""
    receiving = ("--port", 0, "--bind", LOOPBACK, "--bind", "127.0.0.2")
    probe = probes.start("sctp_recv", *receiving)
    assert probe.stdout is not None
    probe.stdout.readline()
    ready = probe.stdout.readline()
    sending = ("--host", LOOPBACK, "--host", "127.0.0.2", "--bind", "127.0.0.3", "--bind",
               "127.0.0.4", "--count", 50, "--rate-bps", 1_000_000, "--path-max-retrans", 2,
               "--pf-max-retrans", 1, "--assoc-max-retrans", 7, "--ps-max-retrans", 3)  # fmt: skip
    if not ready:
        assert probe.wait(timeout=20) == 4
        assert probes.run("sctp_send", *sending, "--port", 9).status == 4
        return
    sent = probes.run("sctp_send", *sending, "--port", ready.rsplit(":", 1)[1].rstrip("}\n"))
    stdout, _ = probe.communicate(timeout=20)
    effective = sent.one("effective")
    asked = ("path_max_retrans", "pf_max_retrans", "ps_max_retrans", "assoc_max_retrans")
    assert [effective[name] for name in asked] == [2, 1, 3, 7]
    assert {look["address"] for look in sent.all("path")} == {LOOPBACK, "127.0.0.2"}
    assert {look["state"] for look in sent.all("path")} <= {"active", "unconfirmed"}
    assert stdout.count('"event":"data_from"') >= 1
