"""FlowMonitor's XML: what ns-3 3.37 really wrote, and what is refused."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from model.errors import ParseError
from model.run_files.comparing.brought import FlowReading, Span
from simulators.results import flow_monitor
from simulators.results.streams import Stream, opened
from tests.support.simulators.own_results import NS3, SPAN, stream_of

pytestmark = pytest.mark.unit

SHORT = (NS3 / "short.xml").read_text()
#: One flow as ns-3 writes it.
FLOW = (
    '<Flow flowId="{n}" timeFirstTxPacket="+1e+09ns" timeLastRxPacket="+2.5e+09ns" '
    'delaySum="+5e+08ns" jitterSum="+9e+07ns" rxBytes="15000" txPackets="12" rxPackets="10" '
    'lostPackets="{lost}" >{inside}</Flow>'
)
ENDS = (
    '<Flow flowId="{n}" sourceAddress="10.1.1.1" destinationAddress="10.1.2.2" protocol="6" '
    'sourcePort="49153" destinationPort="5001" />'
)


def text(lost: int = 2, inside: str = "", flow: str = FLOW, ends: str = ENDS) -> str:
    return (
        '<?xml version="1.0" ?>\n<FlowMonitor>\n<FlowStats>\n'
        + flow.format(n=1, lost=lost, inside=inside)
        + "\n</FlowStats>\n<Ipv4FlowClassifier>\n"
        + ends.format(n=1)
        + "\n</Ipv4FlowClassifier>\n</FlowMonitor>\n"
    )


def flows(stream: Stream, headers_bytes: int | None = 52, lost_in: str = "") -> list[FlowReading]:
    found, _ = flow_monitor.read(stream, headers_bytes=headers_bytes, counted=SPAN, lost_in=lost_in)
    return found


def test_ns3_s_own_file_is_read_to_the_last_digit() -> None:
    with opened(NS3 / "short.xml") as stream:
        found = flows(stream)
    assert [one.words for one in found] == [
        "tcp 10.1.1.1:49153 -> 10.1.2.2:5001", "tcp 10.1.2.2:5001 -> 10.1.1.1:49153",
        "tcp 10.1.3.1:49153 -> 10.1.4.2:5002", "tcp 10.1.4.2:5002 -> 10.1.3.1:49153",
    ]  # fmt: skip
    bbr = found[0]
    assert bbr.where == f"{NS3 / 'short.xml'}:4"
    assert bbr.goodput_bytes == 2_019_000 - 1346 * 52
    assert bbr.goodput_bps == (2_019_000 - 1346 * 52) * 8 / 3
    assert bbr.owd_mean_s == pytest.approx(36.6809 / 1346, rel=1e-12)
    assert bbr.jitter_mean_s == pytest.approx(0.399661 / 1345, rel=1e-12)
    assert (bbr.loss_offered_pkts, bbr.loss_dropped_pkts, bbr.queue_dropped_pkts) == (1555, 0, 0)


def test_a_packed_file_gives_the_same(tmp_path: Path) -> None:
    with opened(NS3 / "100" / "queue-100-run-1.xml.gz") as stream:
        found, _ = flow_monitor.read(
            stream, headers_bytes=52, counted=Span(from_s=10, to_s=60), lost_in="buffer"
        )
    bbr, cubic = found[0], found[2]
    assert (bbr.destination_port, bbr.goodput_bps, bbr.queue_dropped_pkts) == (5001, 2904572.16, 42)
    assert (cubic.destination_port, cubic.goodput_bps) == (5002, 16028085.76)
    assert cubic.queue_dropped_pkts == 95


@pytest.mark.parametrize(
    ("lost_in", "inside", "wanted"),
    [
        ("", "", (None, None, None)),
        ("buffer", "", (10, 0, 2)),
        ("link", "", (12, 2, 0)),
        ("", '<packetsDropped reasonCode="3" number="2" />', (10, 0, 2)),
        ("link", '<packetsDropped reasonCode="4" number="1" />', (11, 1, 1)),
    ],
)
def test_losses_are_told_only_as_far_as_it_is_known_where(
    lost_in: str, inside: str, wanted: tuple[int | None, ...], tmp_path: Path
) -> None:
    with stream_of(tmp_path, text(inside=inside)) as stream:
        (one,) = flows(stream, lost_in=lost_in)
    assert (one.loss_offered_pkts, one.loss_dropped_pkts, one.queue_dropped_pkts) == wanted


def test_without_the_size_of_headers_there_is_no_goodput(tmp_path: Path) -> None:
    with stream_of(tmp_path, text()) as stream:
        (one,) = flows(stream, headers_bytes=None)
    assert one.goodput_bps is None
    assert one.owd_mean_s == 0.05


BOMB = '<!DOCTYPE a [<!ENTITY b "b"><!ENTITY c "&b;&b;">]>'
REFUSED = {
    "empty": ("", "the file is empty"),
    "no XML": ("hello\n", ":1: not XML"),
    "cut short": (SHORT[:3000], "not XML: unclosed token"),
    "another root": ("<?xml version='1.0'?>\n<Other/>", ":2: not FlowMonitor's XML"),
    "a document type": ("<?xml version='1.0'?>\n" + BOMB + "<FlowMonitor/>", ":2: a document type"),
    "too deep": ("<FlowMonitor>" + "<a>" * 50, "elements too deep"),
    "a negative time": (text().replace("+5e+08ns", "-5e+08ns"), "delaySum is out of range"),
    "no number": (text().replace("+5e+08ns", "nanns"), "delaySum is no number"),
    "too large": (text().replace("+5e+08ns", "1e400ns"), "delaySum is too large"),
    "no time": (text().replace("+5e+08ns", "5 s"), "delaySum is no time of ns-3"),
    "more than sent": (text().replace('rxPackets="10"', 'rxPackets="13"'), "more packets received"),
    "huge count": (text().replace('"15000"', f'"{10**400}"'), "rxBytes is no such number"),
    "smaller": (text().replace('"15000"', '"500"'), "packets are smaller than their headers"),
    "late": (text().replace("+2.5e+09ns", "+9e+09ns"), "packets outside the time"),
    "missing": (text().replace('rxBytes="15000" ', ""), "an attribute is missing: wanted rxBytes"),
    "lost unlike": (text(lost=13), "losses that do not fit together"),
    "no totals": (text(flow=""), "flow 1 lacks its totals"),
    "no ends": (text(ends=""), "flow 1 lacks its ends"),
    "twice": (text(ends=ENDS + ENDS), "a flow classified twice"),
    "port": (text().replace('"5001"', '"70000"'), "destinationPort is no such number"),
    "names": (
        "<FlowMonitor>" + "".join(f"<a{n}/>" for n in range(2000)), "too many kinds of elements"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_other_files_are_refused_with_line_and_reason(case: str, tmp_path: Path) -> None:
    content, words = REFUSED[case]
    with stream_of(tmp_path, content) as stream, pytest.raises(ParseError) as refused:
        flows(stream)
    assert words in str(refused.value)
    assert str(refused.value).startswith(f"{tmp_path / 'in'}:")


class Endless:
    """A file that is made as it is read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def read(self, _: int = 0) -> bytes:
        return next(self._pieces, b"")


def peak_of(pieces: Iterator[bytes]) -> tuple[int, str]:
    """Return the most memory that reading takes, and how it ends."""
    tracemalloc.start()
    said = ""
    try:
        flows(Stream(where="made", file=Endless(pieces)))  # type: ignore[arg-type]
    except ParseError as error:
        said = str(error)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak_bytes, said


def test_many_lines_take_little_memory() -> None:
    bins = b'<bin index="20" start="0.02" width="0.001" count="867" />\n' * 1000
    head, tail = text(inside="@").encode().split(b"@")
    pieces = itertools.chain(
        [head, b'<delayHistogram nBins="36" >\n'], itertools.repeat(bins, 300),
        [b"</delayHistogram>\n", tail],
    )  # fmt: skip
    peak_bytes, said = peak_of(pieces)
    assert said == ""
    assert peak_bytes < 4 << 20


def test_a_tag_without_an_end_is_refused_before_it_fills_memory() -> None:
    pieces = itertools.chain([b'<FlowMonitor a="'], itertools.repeat(b"x" * (1 << 16), 10_000))
    peak_bytes, said = peak_of(pieces)
    assert "a tag without an end" in said
    assert peak_bytes < 32 << 20
