"""Pages of the trace ring buffer give the events the kernel printed of them, or a ParseError."""

from __future__ import annotations

import contextlib
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.trace.event_format import parse_event, parse_header_page
from collectors.trace.events import parse_formats, parse_pages, read_trace
from model.errors import ParseError
from tests.support.recorded import DATA, value
from tests.support.recorded_trace import KERNELS, formats, pages, printed, trace

#: Fields the kernel prints as plain numbers under their own names.
PLAIN = {
    "tcp/tcp_probe": (
        "mark", "data_len", "snd_nxt", "snd_una", "snd_cwnd", "ssthresh", "snd_wnd", "srtt",
        "rcv_wnd",
    ),
    "tcp/tcp_retransmit_skb": ("sport", "dport"),
    "tcp/tcp_cong_state_set": ("sport", "dport", "cong_state"),
    "sctp/sctp_probe": ("bind_port", "peer_port", "pathmtu", "rwnd", "unack_data"),
    "sctp/sctp_probe_path": (
        "state", "cwnd", "ssthresh", "flight_size", "partial_bytes_acked", "pathmtu",
    ),
    "qdisc/qdisc_drop": ("ifindex", "handle", "parent"),
    "skb/kfree_skb": ("protocol",),
}  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS)
def test_events_and_times_are_those_the_kernel_printed(kernel: str) -> None:
    got, wanted = trace(kernel), printed(kernel)
    names = {form.id: form.event.partition("/")[2] for form in got.formats.events.values()}
    assert [names[int(kind)] for kind in got.events.kind] == [line.event for line in wanted]
    # The kernel prints microseconds, rounded to the nearest.
    assert [(int(t) + 500) // 1000 for t in got.events.t_ns] == [line.t_us for line in wanted]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("event", PLAIN)
def test_fields_are_those_the_kernel_printed(kernel: str, event: str) -> None:
    lines = [line for line in printed(kernel) if line.event == event.partition("/")[2]]
    offset, rows = trace(kernel).records(event, (*PLAIN[event], "common_pid"))
    assert len(offset) == len(rows) == len(lines)
    for name in PLAIN[event] if lines else ():
        assert rows[name].tolist() == [line.number(name) for line in lines], name
    assert rows["common_pid"].tolist() == [line.pid for line in lines]


def test_events_recorded() -> None:
    counts = {}
    for event in formats("7.3").events:
        offset, _ = trace("7.3").records(event, ("common_type",))
        counts[event] = len(offset)
    assert counts == {
        "tcp/tcp_probe": 11,
        "tcp/tcp_retransmit_skb": 17,
        "tcp/tcp_cong_state_set": 32,
        "sctp/sctp_probe": 264,
        "sctp/sctp_probe_path": 265,
        "qdisc/qdisc_drop": 43,
        "skb/kfree_skb": 0,
    }


def test_a_kernel_without_an_event_has_none_of_it() -> None:
    offset, rows = trace("6.12").records("qdisc/qdisc_drop", ("ifindex",))
    assert (len(offset), len(rows)) == (0, 0)


def test_no_address_of_the_kernel_is_left() -> None:
    for kernel in KERNELS:
        recorded = trace(kernel)
        for form in recorded.formats.events.values():
            wide = [f.name for f in form.fields.values() if f.size == 8 and f.dtype.kind in "iu"]
            if wide:
                _, rows = recorded.records(form.event, wide)
                assert all(rows[name].max(initial=0) < 1000 for name in wide), form.event


def test_a_missing_field_is_named() -> None:
    with pytest.raises(ParseError, match=r"^formats.json: no field 'pacing' of trace event"):
        trace("7.3").records("tcp/tcp_probe", ("srtt", "pacing"))


def test_an_unknown_event_is_named_with_its_place() -> None:
    form = value("trace-7.3/formats.json")
    del form["events"]["sctp/sctp_probe"]
    with pytest.raises(ParseError, match=r"^p: byte \d+: unknown trace event: wanted .*, got 309"):
        parse_pages(pages("7.3"), parse_formats(form, "f"), "p")


def test_an_event_shorter_than_its_format_is_named() -> None:
    form = value("trace-7.3/formats.json")
    text = form["events"]["sctp/sctp_probe"]
    form["events"]["sctp/sctp_probe"] = text.replace(
        "unack_data;\toffset:32;", "unack_data;\toffset:64;"
    )
    cut = parse_pages(pages("7.3"), parse_formats(form, "f"), "p")
    with pytest.raises(ParseError, match=r"byte \d+: sctp/sctp_probe is shorter than its format"):
        cut.records("sctp/sctp_probe", ("unack_data",))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"byte_order": "big"}, "f: byte order: wanted little, got big"),
        ({"header_page": ""}, "f: no field in a trace format"),
        ({"header_page": "field: char data;\toffset:16;\tsize:4080;\tsigned:1;"}, "page layout"),
        ({"events": {"a/b": "ID: x"}}, "f: a/b: no ID in a trace format: got ID: x"),
        ({"events": {"a/b": "ID: 7\n"}}, "f: a/b: no field in a trace format"),
    ],
)
def test_formats_that_are_none_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_formats({**value("trace-7.3/formats.json"), **change}, "f")


def test_formats_of_a_page_and_an_event() -> None:
    form = value("trace-7.3/formats.json")
    layout = parse_header_page(form["header_page"], "f")
    assert (layout.page_bytes, layout.data_offset, layout.commit_bytes) == (4096, 16, 8)
    probe = parse_event(form["events"]["tcp/tcp_probe"], "tcp/tcp_probe", "f")
    assert probe.fields["saddr"].dtype == np.dtype((np.uint8, (28,)))
    assert (probe.fields["srtt"].offset, probe.fields["srtt"].dtype) == (100, np.dtype("<u4"))
    assert probe.symbols == {2: "AF_INET", 10: "AF_INET6"}
    freed = parse_event(form["events"]["skb/kfree_skb"], "skb/kfree_skb", "f")
    assert (freed.symbols[2], freed.symbols[64]) == ("NOT_SPECIFIED", "QDISC_DROP")


def parsed(content: bytes) -> None:
    """Parse pages, and read every event of them, as the tables do."""
    found = parse_pages(content, formats("7.3"), "p")
    for event in formats("7.3").events:
        found.records(event, PLAIN[event])


@given(cut=st.integers(1, len(pages("7.3")) - 1))
def test_pages_cut_anywhere_but_between_two_are_a_parse_error(cut: int) -> None:
    if cut % 4096:
        with pytest.raises(ParseError, match="the last trace page is cut short"):
            parsed(pages("7.3")[:cut])
    else:
        parsed(pages("7.3")[:cut])


@given(offset=st.integers(0, len(pages("7.3")) - 1), put=st.binary(min_size=1, max_size=64))
def test_pages_with_anything_in_them_are_parsed_or_a_parse_error(offset: int, put: bytes) -> None:
    content = pages("7.3")
    with contextlib.suppress(ParseError):
        parsed((content[:offset] + put + content[offset + len(put) :])[: len(content)])


@given(st.binary(max_size=300))
def test_any_page_is_parsed_or_a_parse_error(head: bytes) -> None:
    for stamp in (head[:16].ljust(16, b"\0"), bytes(8) + (4080).to_bytes(8, "little")):
        with contextlib.suppress(ParseError):
            parsed((stamp + head).ljust(4096, b"\0")[:4096])


@given(cut=st.integers(0, len((DATA / "trace-7.3/pages.bin.gz").read_bytes()) - 1))
def test_a_file_cut_short_is_a_parse_error(
    cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    (folder / "p.gz").write_bytes((DATA / "trace-7.3/pages.bin.gz").read_bytes()[:cut])
    wrong = "cannot read trace pages: got the file is empty"
    if cut:
        wrong = rf"p.gz: byte {cut} or later, compressed: cannot read trace pages: got cut short"
    with pytest.raises(ParseError, match=wrong):
        read_trace(folder / "p.gz", DATA / "trace-7.3" / "formats.json")


def test_files_that_are_missing_or_no_formats_are_named(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match=r"p.gz: cannot read trace pages: got .*No such file"):
        read_trace(tmp_path / "p.gz", tmp_path / "f")
    (tmp_path / "p.gz").write_bytes(gzip.compress(b""))
    for content in ("[]", "{}", '{"byte_order": "little", "header_page": 5, "events": {}}'):
        (tmp_path / "f").write_text(content)
        with pytest.raises(ParseError, match="f: not what the lab writes"):
            read_trace(tmp_path / "p.gz", tmp_path / "f")


def test_an_empty_trace_has_no_events(tmp_path: Path) -> None:
    (tmp_path / "p.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "f").write_text(json.dumps(value("trace-7.3/formats.json")))
    assert read_trace(tmp_path / "p.gz", tmp_path / "f").events.t_ns.size == 0
