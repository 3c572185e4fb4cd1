"""ns-2's traces, OMNeT++'s files and CSV: exact values, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from collectors.raw.flows import Received
from model.errors import ParseError
from model.run_files.comparing.brought import Span
from simulators.results import names, ns2_traces, omnetpp, tables
from simulators.results.formats import format_of
from simulators.results.numbers import number
from simulators.results.streams import opened
from tests.support.simulators.ns2 import RECORDED, ns2_cell
from tests.support.simulators.own_results import SCA, VEC, stream_of

pytestmark = pytest.mark.unit

WHOLE = Span(from_s=0.0, to_s=1000.0)
TRACE = """\
+ 1 0 2 tcp 1040 ------- 1 0.0 1.0 0 0
- 1 0 2 tcp 1040 ------- 1 0.0 1.0 0 0
+ 1.1 0 2 tcp 1040 ------- 1 0.0 1.0 1 1
1.10000 0 0 1 0 cwnd_ 2.000
r 1.2 0 2 tcp 1040 ------- 1 0.0 1.0 0 0
+ 1.2 2 1 tcp 1040 ------- 1 0.0 1.0 0 0
d 1.3 2 1 tcp 1040 ------- 1 0.0 1.0 1 1
r 1.5 2 1 tcp 1040 ------- 1 0.0 1.0 0 0
+ 1.5 1 2 ack 40 ------- 1 1.0 0.0 0 2
+ 1.6 0 2 tcp 1040 ------- 1 0.0 1.0 2 3
+ 1.7 0 2 tcp 1040 ------- 1 0.0 1.0 1 4
r 2.0 2 1 tcp 1040 ------- 1 0.0 1.0 2 3
e 2.1 2 1 tcp 1040 ------- 1 0.0 1.0 1 4
+ 2.2 0 2 tcp 1040 ------- 1 0.0 1.0 1 5
r 3.0 2 1 tcp 1040 ------- 1 0.0 1.0 1 5
"""


def test_a_trace_is_counted_as_by_hand(tmp_path: Path) -> None:
    with stream_of(tmp_path, TRACE) as stream:
        (one,), _ = ns2_traces.read(stream, span=Span(from_s=0, to_s=4), headers_bytes=40)
    assert one.words == "flow 1"
    assert one.where.endswith("in:1")
    assert (one.goodput_bytes, one.goodput_bps) == (3000, 6000.0)
    assert one.owd_mean_s == pytest.approx((0.5 + 0.4 + 0.8) / 3, rel=1e-12)
    assert one.jitter_mean_s == pytest.approx((0.1 + 0.4) / 2, rel=1e-12)
    assert one.jitter_min_s == pytest.approx(0.1, rel=1e-9)
    assert one.jitter_max_s == pytest.approx(0.4, rel=1e-9)
    assert (one.queue_dropped_pkts, one.loss_dropped_pkts, one.loss_offered_pkts) == (1, 1, 4)


def test_what_arrives_out_of_the_time_does_not_count(tmp_path: Path) -> None:
    with stream_of(tmp_path, TRACE) as stream:
        (one,), _ = ns2_traces.read(stream, span=Span(from_s=1, to_s=2.5), headers_bytes=40)
    assert one.goodput_bytes == 1000


def test_a_recorded_trace_gives_what_the_project_s_own_reader_gives() -> None:
    cell = ns2_cell()
    wanted = _received()
    span = Span(from_s=cell.measure_from_s, to_s=cell.measure_to_s)
    with opened(RECORDED / "trace.gz") as stream:
        found, _ = ns2_traces.read(stream, span=span, headers_bytes=40)
    got = {one.number: one for one in found}
    for number_, flow in enumerate(cell.flows, 1):
        sizes = {1488: 40, 1496: 48}
        assert got[number_].protocol == flow.protocol
        assert wanted[flow.id].window_bytes % flow.message_bytes == 0
        packets = wanted[flow.id].window_bytes // flow.message_bytes
        size = next(size for size, extra in sizes.items() if (extra == 40) == (number_ == 1))
        assert got[number_].goodput_bytes == packets * (size - 40)


def _received() -> dict[str, Received]:
    from simulators.ns2 import receivers, trace
    from simulators.ns2.packet_lines import ARRIVES, DATA, TCP
    from tests.support.simulators.ns2 import BOUNDS

    cell = ns2_cell()
    with gzip.open(RECORDED / "trace.gz") as file:
        packets = trace.read(file, "trace", BOUNDS).packets  # type: ignore[arg-type]
    made = {}
    for number_, flow in enumerate(cell.flows, 1):
        kind = TCP if flow.protocol == "tcp" else DATA
        ends = {int(one) for one in packets.target[(packets.flow == number_)]}
        at = [end for end in ends if end not in (0, 1)]
        data = (packets.what == ARRIVES) & (packets.flow == number_) & (packets.kind == kind)
        data &= (packets.size_bytes > 100) & [int(one) in at for one in packets.target]
        lines = data.nonzero()[0]
        got = receivers.arrivals(lines, packets.t_s[data], packets.number[data])
        made[flow.id] = receivers.received(flow, cell, got)
    return made


NS2_REFUSED = {
    "other line": (TRACE + "hello world\n", ":16: no line of a wired trace"),
    "wireless": ("s 1.0 _0_ AGT  --- 0 tcp 40 [0 0 0 0]\n", ":1: no line of a wired trace"),
    "words": (TRACE + "r 3.1 2 1 tcp\n", ":16: not a packet's line"),
    "backwards": (TRACE + "r 0.1 2 1 tcp 1040 ------- 1 0.0 1.0 1 5\n", ":16: earlier than"),
    "time": (TRACE + "r 9e999 2 1 tcp 1040 ------- 1 0.0 1.0 1 5\n", ":16: the time is too large"),
    "size": (TRACE + "r 4 2 1 tcp -4 ------- 1 0.0 1.0 1 5\n", ":16: the size is no such number"),
    "header": (TRACE + "r 4 2 1 tcp 30 ------- 1 0.0 1.0 1 5\n", ":16: a packet smaller than"),
    "ends": (TRACE + "r 4 2 1 tcp 1040 ------- 1 0 1.0 1 5\n", ":16: no end of a flow"),
    "two flows": (TRACE + "r 4 2 1 tcp 1040 ------- 1 7.0 1.0 1 5\n", "of two kinds, or between"),
    "nothing": ("1.10000 0 0 1 0 cwnd_ 2.000\n", "no packet in the trace"),
}


@pytest.mark.parametrize("case", NS2_REFUSED)
def test_other_traces_are_refused(case: str, tmp_path: Path) -> None:
    content, words = NS2_REFUSED[case]
    with stream_of(tmp_path, content) as stream, pytest.raises(ParseError) as refused:
        ns2_traces.read(stream, span=WHOLE, headers_bytes=40)
    assert words in str(refused.value)


def runs(tmp_path: Path, text: str, span: Span = WHOLE) -> list[omnetpp.OmnetRun]:
    with stream_of(tmp_path, text) as stream:
        return omnetpp.read(stream, wanted=lambda *_: True, span=span)


def test_scalars_and_fields_of_statistics_are_read(tmp_path: Path) -> None:
    text = SCA.replace("field stddev nan\n", "")
    first, second = runs(tmp_path, text)
    assert first.settings == {"queue": "25"}
    assert first.attributes == {"configname": "General", "repetition": "0"}
    assert [(one.module, one.name, one.value) for one in first.kept] == [
        ("Net.sink[0]", "bytes:sum", 12_500_000.0), ("Net.sink[1]", "bytes:sum", 37_500_000.0),
        ("Net.sink[0]", "delay:histogram:count", 4.0),
        ("Net.sink[0]", "delay:histogram:mean", 0.0625),
    ]  # fmt: skip
    assert second.kept[-1].value == 0.125


def test_an_unknown_number_that_is_asked_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match=r"in:14: delay:histogram:stddev .* is not known"):
        runs(tmp_path, SCA)


def test_vectors_are_summed_between_two_times(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, VEC, Span(from_s=10, to_s=60))
    first, second = (one.value for one in run.kept)
    assert isinstance(first, omnetpp.Samples)
    assert isinstance(second, omnetpp.Samples)
    assert (first.count, first.total, first.least, first.most, first.last) == (2, 10, 4, 6, 6)
    assert (second.count, second.total, second.last) == (2, 24, 16)


OMNET_REFUSED = {
    "no version": ("run a\n", ":1: not a result file"),
    "version": ("version 4\n", ":1: not a result file"),
    "no run": ("version 3\n", "no run in the file"),
    "before": ("version 3\nscalar a b 1\n", ":2: something before the first run"),
    "other": ("version 3\nrun a\nhello\n", ":3: no line of OMNeT++"),
    "words": ("version 3\nrun a\nscalar a b\n", ":3: not a line of scalar: wanted 4 words"),
    "quote": ('version 3\nrun a\nscalar "a b 1\n', ":3: a quote without its end"),
    "escape": ('version 3\nrun a\nscalar "\\q" b 1\n', ":3: no escape"),
    "number": ("version 3\nrun a\nscalar a b 1,5\n", "(decimals are written with a point)"),
    "huge": ("version 3\nrun a\nscalar a b 1e400\n", "b is too large"),
    "twice": ("version 3\nrun a\nscalar a b 1\nscalar a b 2\n", ":4: b of a for the second time"),
    "sample": ("version 3\nrun a\n0 1 2 3\n", ":3: a sample of no vector"),
    "vector": (VEC + "vector 0 a b TV\n", "a vector for the second time"),
    "backwards": (VEC + "0 21 1 2\n", "earlier than the sample before"),
    "columns": ("version 3\nrun a\nvector 0 a b XY\n", "columns that are not known"),
    "field": ("version 3\nrun a\nfield mean 3\n", ":3: a field of nothing"),
}


@pytest.mark.parametrize("case", OMNET_REFUSED)
def test_other_result_files_are_refused(case: str, tmp_path: Path) -> None:
    content, words = OMNET_REFUSED[case]
    with pytest.raises(ParseError) as refused:
        runs(tmp_path, content)
    assert words in str(refused.value)


def rows(tmp_path: Path, text: str, separator: str = "") -> list[tuple[int, dict[str, str]]]:
    with stream_of(tmp_path, text) as stream:
        return list(tables.rows(stream, separator))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_rows_are_by_their_columns_names(separator: str, tmp_path: Path) -> None:
    text = '\ufeffqueue,goodput\r\n25,1e6\r\n\r\n100,"2\n"\r\n'.replace(",", separator)
    assert rows(tmp_path, text) == [
        (2, {"queue": "25", "goodput": "1e6"}), (5, {"queue": "100", "goodput": "2\n"}),
    ]  # fmt: skip


CSV_REFUSED = {
    "blank": ("\n\n", "no row in the file"),
    "twice": ("a,b,a\n1,2,3\n", ":1: a column without a name, or one for the second time"),
    "commas": ("a,b\n1,5,2,5\n", ":2: not as many fields as the head has names: wanted 2, got 4"),
    "quote": ('a,b\n1,"2\n', "not CSV: unexpected end of data"),
    "huge field": ("a,b\n" + "1" * 200_000 + ",2\n", ":2: not CSV: field larger than"),
}


@pytest.mark.parametrize("case", CSV_REFUSED)
def test_other_tables_are_refused(case: str, tmp_path: Path) -> None:
    content, words = CSV_REFUSED[case]
    with pytest.raises(ParseError) as refused:
        rows(tmp_path, content)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,5", "decimals are written with a point"), ("nan", "leave out replicates"),
        ("", "got nothing"), ("0x10", "no number"), ("1_000", "no number"), ("1e400", "too large"),
        ("9" * 401, "no number"), ("-1", "out of range: wanted a number of 0 or more"),
    ],
)  # fmt: skip
def test_numbers_that_are_none_are_refused(text: str, words: str) -> None:
    with pytest.raises(ParseError) as refused:
        number(text, "f:1", "the value", least=0)
    assert words in str(refused.value)


def test_names_fit_patterns_up_to_the_next_text() -> None:
    fits = names.fitted
    assert fits("q-{q}-r-{r}.xml", "q-25-r-3.xml") == {"q": "25", "r": "3"}
    assert fits("q-{q}-r-{r}.xml", "q-25-r-.xml") is None
    assert fits("{all}", "anything.gz") == {"all": "anything.gz"}
    assert fits("*-{r}.csv", "a-b.csv") == {"r": "b"}
    assert fits("a.csv", "b.csv") is None
    assert fits("{a}x{b}x{c}x{d}", "x" * 9) == {"a": "x", "b": "x", "c": "x", "d": "xxx"}


def test_modules_fit_patterns_with_stars() -> None:
    assert names.matches("**.sink[*]", "Net.a.sink[12]")
    assert not names.matches("*.sink[0]", "Net.sink[1]")
    assert names.matches("*", "")
    assert not names.matches("ab*ba", "aba")


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\xd4\xc3\xb2\xa1" + bytes(20), "pcap"), (b'<?xml version="1.0" ?>', "flowmonitor"),
        (b"version 3\nrun a\n", "omnetpp"), (TRACE.encode(), "ns2"),
        (b"0.00000  2  0  4  0  cwnd_ 1.000 \n", "ns2"), (b"\xef\xbb\xbfa;b\n1;2\n", "csv"),
    ],
)  # fmt: skip
def test_formats_are_told_by_how_files_begin(head: bytes, kind: str) -> None:
    assert format_of(head, "f") == kind


def test_a_format_that_is_not_known_is_named() -> None:
    with pytest.raises(ParseError, match="a format that is not known"):
        format_of(b"\x7fELF\0\0", "f")


def test_a_trace_that_ends_before_the_time_that_is_counted_is_told(tmp_path: Path) -> None:
    for to_s, told in ((3.1, 0), (60.0, 1)):
        with stream_of(tmp_path, TRACE) as stream:
            _, notes = ns2_traces.read(stream, span=Span(from_s=0, to_s=to_s), headers_bytes=40)
        assert len(notes) == told
        assert all("its last packet is at 3 s, and goodput is counted to 60 s" in n for n in notes)


def test_losses_that_no_line_tells_of_are_not_known(tmp_path: Path) -> None:
    """An error model without a trace of its own: what was sent later has arrived."""
    silent = TRACE.replace("e 2.1 2 1 tcp 1040 ------- 1 0.0 1.0 1 4\n", "")
    with stream_of(tmp_path, silent) as stream:
        (one,), notes = ns2_traces.read(stream, span=Span(from_s=0, to_s=3), headers_bytes=40)
    assert (one.queue_dropped_pkts, one.loss_dropped_pkts, one.loss_offered_pkts) == (1, None, None)
    assert "1 packets of flow 1 neither arrived nor were dropped" in notes[0]


def test_what_a_trace_holds_beyond_holes_is_bounded_for_all_flows_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ns2_traces, "MOST_HELD", 30)
    lines = [
        f"r 1 0 1 tcp 1040 ------- {flow} 0.0 1.0 {number} {flow}\n"
        for flow in range(1, 41)
        for number in (0, 2)
    ]
    with stream_of(tmp_path, "".join(lines)) as stream, pytest.raises(ParseError) as refused:
        ns2_traces.read(stream, span=WHOLE, headers_bytes=40)
    assert "in:62: a flow with too many holes to follow" in str(refused.value)


def test_a_packet_of_another_size_counts_as_large_as_it_is(tmp_path: Path) -> None:
    """What a hole's end made ready was taken for as large as the packet that filled it."""
    lines = [
        f"r {t} 2 1 tcp {size} ------- 1 0.0 1.0 {number} {t}"
        for t, number, size in ((1, 0, 1040), (2, 2, 540), (3, 2, 540), (4, 1, 1040), (5, 1, 1040))
    ]
    with stream_of(tmp_path, "\n".join(lines)) as stream:
        (one,), _ = ns2_traces.read(stream, span=Span(from_s=0, to_s=6), headers_bytes=40)
    assert one.goodput_bytes == 1000 + 1000 + 500
