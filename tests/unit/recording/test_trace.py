"""What is asked of the tracer, and what leaves it: filters, sizes, pages without addresses."""

from __future__ import annotations

import gzip
import os
import struct
from pathlib import Path

import pytest

from collectors.recording import trace_pages, trace_recorder
from collectors.trace.event_format import parse_header_page
from collectors.trace.ring_buffer import find_events
from model.errors import RunError, UnsupportedError
from tests.support.recorded import value
from tests.support.recorded_trace import KERNELS, pages

PORTS = {"tcp": [5003, 5001], "sctp": [5002]}
FORMATS = value("trace-7.3/formats.json")
EVENTS: dict[str, str] = FORMATS["events"]
STATS = """entries: 0
overrun: 0
commit overrun: 0
bytes: 144
oldest event ts:     1.000000
now ts:     2.000000
dropped events: 0
read events: 5
"""


def kernel(folder: Path, without: str = "") -> Path:
    """Return a tracing folder with the recorded kernel's formats."""
    for event, text in EVENTS.items():
        if event != without:
            (folder / "events" / event).mkdir(parents=True)
            (folder / "events" / event / "format").write_text(text)
    (folder / "events" / "header_page").write_text(FORMATS["header_page"])
    return folder


def test_only_senders_of_flows_are_asked_for() -> None:
    chosen = trace_recorder.filters(PORTS, EVENTS)
    assert chosen["tcp/tcp_probe"] == "dport == 5001 || dport == 5003"
    assert chosen["sctp/sctp_probe"] == "peer_port == 5002"
    assert chosen["sctp/sctp_probe_path"] == chosen["qdisc/qdisc_drop"] == ""


def test_a_filter_of_many_flows_fits_in_the_kernels_page() -> None:
    ports = {"tcp": range(5001, 6001, 2), "sctp": range(5002, 6002, 2)}
    chosen = trace_recorder.filters(ports, EVENTS)
    assert chosen["tcp/tcp_probe"] == "dport >= 5001 && dport <= 5999"
    assert chosen["sctp/sctp_probe"] == "peer_port >= 5002 && peer_port <= 6000"
    assert max(map(len, chosen.values())) < 4096


def test_what_a_qdisc_tells_of_or_a_socket_filters_is_no_other_drop() -> None:
    # 2 is NOT_SPECIFIED, 5 SOCKET_FILTER and 64 QDISC_DROP in the recorded kernel.
    wanted = "(reason != 2 && reason != 5 && reason != 64) || location.function == netem_dequeue"
    assert trace_recorder.filters(PORTS, EVENTS)["skb/kfree_skb"] == wanted
    older = {"skb/kfree_skb": value("trace-6.12/formats.json")["events"]["skb/kfree_skb"]}
    wanted = "(reason != 2 && reason != 5) || location.function == netem_dequeue"
    assert trace_recorder.filters(PORTS, older)["skb/kfree_skb"] == wanted


@pytest.mark.parametrize(
    ("chosen", "taken"),
    [
        ("(reason != 2) || location.function == netem_dequeue", "(reason != 2)"),
        ("dport == 5001", "dport == 5001"),
    ],
)
def test_a_kernel_that_knows_no_functions_filters_by_what_it_knows(
    chosen: str, taken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_text

    def refused(path: Path, text: str) -> int:
        if "function" in text:
            raise OSError(22, "Invalid argument")
        return write(path, text)

    monkeypatch.setattr(Path, "write_text", refused)
    trace_recorder._set_filter(tmp_path / "filter", chosen)
    assert (tmp_path / "filter").read_text() == taken


def test_a_filter_that_is_refused_for_another_reason_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot set up tracing: wanted dport"):
        trace_recorder._set_filter(tmp_path / "none" / "filter", "dport == 1")


def test_protocols_without_a_flow_are_not_traced() -> None:
    assert trace_recorder.wanted_events({"udp": [5001]}) == ["skb/kfree_skb", "qdisc/qdisc_drop"]
    assert trace_recorder.wanted_events({"sctp": [1]})[:2] == list(trace_recorder.SCTP_EVENTS)


def test_formats_are_the_kernels_own(tmp_path: Path) -> None:
    tracing = kernel(tmp_path)
    assert trace_recorder.read_formats(tracing, trace_recorder.wanted_events(PORTS)) == FORMATS
    assert set(trace_recorder.wanted_events(PORTS)) == set(EVENTS)


def test_a_kernel_that_lacks_an_event_is_named_unless_it_can_be_done_without(
    tmp_path: Path,
) -> None:
    older = kernel(tmp_path / "a", without="qdisc/qdisc_drop")
    found = trace_recorder.read_formats(older, trace_recorder.wanted_events(PORTS))
    assert "qdisc/qdisc_drop" not in found["events"]
    without = kernel(tmp_path / "b", without="sctp/sctp_probe")
    with pytest.raises(UnsupportedError, match=r"^sctp/sctp_probe: the kernel lacks a trace event"):
        trace_recorder.read_formats(without, trace_recorder.wanted_events(PORTS))


def test_a_setting_that_does_not_take_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"cannot set up tracing: wanted 0, got .*No such file"):
        trace_recorder.start(tmp_path / "trace", PORTS, 1 << 20, kernel(tmp_path / "tracing"))


@pytest.mark.parametrize(
    ("bytes_per_s", "duration_s", "size"),
    [(1e3, 10.0, 1 << 20), (1e5, 20.0, 2_000_000), (1e6, 1000.0, 8 << 20)],
)
def test_the_ring_buffer_fits_the_cell(bytes_per_s: float, duration_s: float, size: int) -> None:
    assert trace_recorder.size_bytes(bytes_per_s, duration_s) == size


def test_counters_of_the_ring_buffer() -> None:
    assert trace_recorder.read_counts(STATS) == {
        "entries": 0, "overrun": 0, "commit overrun": 0, "bytes": 144, "dropped events": 0,
        "read events": 5,
    }  # fmt: skip


def recording(
    folder: Path, *stats: str, content: bytes = b"", buffer_bytes: int = 288
) -> trace_recorder.Trace:
    """Return a trace; each CPU's ring buffer counts its ``stats``, the last holds ``content``."""
    pipes = {}
    for number, text in enumerate(stats):
        place = folder / "instance" / "per_cpu" / f"cpu{number}"
        place.mkdir(parents=True)
        (place / "stats").write_text(text)
        (place / "trace_pipe_raw").write_bytes(content if number == len(stats) - 1 else b"")
        pipes[place] = os.open(place / "trace_pipe_raw", os.O_RDONLY)
    (folder / "instance" / "tracing_on").write_text("1")
    return trace_recorder.Trace(
        instance=folder / "instance",
        folder=folder,
        pipes=pipes,
        pages=gzip.GzipFile(folder / "pages", "wb", 1, mtime=0),
        page_bytes=4096,
        buffer_bytes=buffer_bytes,
        scrubber=trace_pages.scrubber(EVENTS.values()),
    )


@pytest.mark.parametrize("counter", ["overrun", "commit overrun", "dropped events", "entries"])
@pytest.mark.parametrize("cpus", [1, 2, 11])
def test_a_lost_event_of_any_cpu_is_an_error(tmp_path: Path, counter: str, cpus: int) -> None:
    losing = STATS.replace(f"{counter}: 0", f"{counter}: 2")
    trace = recording(tmp_path, *[STATS] * (cpus - 1), losing)
    message = f"cpu{cpus - 1}: trace events are lost: wanted none, got .*'{counter}': 2"
    with pytest.raises(RunError, match=message):
        trace_recorder.stop(trace)


def test_a_counter_that_is_missing_is_an_error(tmp_path: Path) -> None:
    trace = recording(tmp_path, STATS.replace("overrun", "overruns"))
    with pytest.raises(RunError, match="'overrun': None"):
        trace_recorder.stop(trace)


@pytest.mark.parametrize(("buffer_bytes", "read"), [(288, True), (290, False)])
@pytest.mark.parametrize("cpus", [1, 2])
def test_the_ring_buffers_are_emptied_when_one_is_half_full(
    tmp_path: Path, buffer_bytes: int, read: bool, cpus: int
) -> None:
    idle = STATS.replace("bytes: 144", "bytes: 0")
    content = pages("7.3")[:8192]
    trace = recording(
        tmp_path, *[idle] * (cpus - 1), STATS, content=content, buffer_bytes=buffer_bytes
    )
    trace_recorder.look(trace)
    trace.pages.close()
    for pipe in trace.pipes.values():
        os.close(pipe)
    kept = gzip.decompress((tmp_path / "pages").read_bytes())
    assert kept == (content if read else b"")


def test_all_cpus_are_read_and_counted_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "rmdir", lambda _: None)
    trace = recording(tmp_path, STATS, STATS, STATS, content=pages("7.3")[:8192])
    assert trace_recorder.cpus(trace.instance) == list(trace.pipes)
    counts = trace_recorder.stop(trace)
    assert (counts["cpus"], counts["read events"], counts["bytes"]) == (3, 15, 432)
    assert gzip.decompress((tmp_path / "pages").read_bytes()) == pages("7.3")[:8192]


def test_cpus_are_in_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("cpu10", "cpu2", "cpu0"):
        (tmp_path / "per_cpu" / name).mkdir(parents=True)
    assert [cpu.name for cpu in trace_recorder.cpus(tmp_path)] == ["cpu0", "cpu2", "cpu10"]


@pytest.mark.parametrize("kernel_version", KERNELS)
def test_what_is_clean_stays_as_it_is(kernel_version: str) -> None:
    # The recorded pages are clean: their few object numbers are given again in the same order.
    known = trace_pages.scrubber(value(f"trace-{kernel_version}/formats.json")["events"].values())
    content = pages(kernel_version)
    starts = range(0, len(content), 4096)
    cleaned = [trace_pages.scrub(content[at : at + 4096], known) for at in starts]
    assert b"".join(cleaned) == content


def test_addresses_become_numbers_or_nothing() -> None:
    assert trace_pages.addresses(EVENTS["tcp/tcp_probe"]) == trace_pages.Addresses(
        objects=(128,), others=(120,)
    )
    assert trace_pages.addresses(EVENTS["sctp/sctp_probe"]).objects == (8,)
    assert trace_pages.addresses(EVENTS["skb/kfree_skb"]) == trace_pages.Addresses(
        objects=(), others=(8, 16, 24)
    )
    state = EVENTS["tcp/tcp_cong_state_set"]
    known = trace_pages.scrubber([state])
    number = next(iter(known.events))
    events = b"".join(
        struct.pack("<IHxxxxxxQ", 16 | 1 << 5, number, address) + bytes(48)
        for address in (0x6000_1000, 0x6000_2000, 0, 0x6000_1000)
    )
    page = (struct.pack("<QQ", 9, len(events)) + events).ljust(4096, b"\xee")
    clean = bytes(trace_pages.scrub(page, known))
    found = find_events(clean, parse_header_page(FORMATS["header_page"], "f"), "p")
    objects = [struct.unpack_from("<Q", clean, int(word) * 4 + 8)[0] for word in found.word]
    assert objects == [1, 2, 0, 1]
    assert b"\xee" not in clean


def test_discarded_events_and_what_follows_the_last_leave_nothing() -> None:
    known = trace_pages.scrubber([])
    events = struct.pack("<II", 29 | 1 << 5, 12) + b"\xff" * 8 + struct.pack("<I", 29) + b"\xff" * 8
    page = (struct.pack("<QQ", 9, len(events)) + events).ljust(4096, b"\xee")
    clean = trace_pages.scrub(page, known)
    assert clean[16:] == struct.pack("<II", 29 | 1 << 5, 12) + bytes(8) + struct.pack("<I", 29) + (
        bytes(4096 - 16 - 20)
    )


def test_pages_after_lost_events_and_strange_events_are_errors() -> None:
    known = trace_pages.scrubber([])
    with pytest.raises(RunError, match="trace events are lost"):
        trace_pages.scrub(struct.pack("<QQ", 9, 1 << 31).ljust(4096, b"\0"), known)
    event = struct.pack("<QQIHH", 9, 8, 1, 77, 0).ljust(4096, b"\0")
    with pytest.raises(RunError, match=r"an unasked trace event: wanted .*, got 77"):
        trace_pages.scrub(event, known)


def test_the_size_of_a_page_is_the_kernels() -> None:
    assert trace_pages.page_bytes(FORMATS["header_page"]) == 4096
    for text in ("", FORMATS["header_page"].replace("offset:8;\tsize:8", "offset:8;\tsize:4")):
        with pytest.raises(RunError, match="the kernel's trace pages are unknown"):
            trace_pages.page_bytes(text)
