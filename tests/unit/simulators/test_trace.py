"""ns-2's trace read: a recorded one, line by line, and whatever else may be in such a file."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model import run_folder
from model.errors import ParseError
from simulators.ns2 import cell_files, packet_lines, trace
from tests.support.simulators.ns2 import BOUNDS, leave, ns2_cell, trace_text, windows_text

HEAD = b"F 1 2 0 4 0\nF 2 3 0 4 1\n"
TCP = b"+ 1.5 2 0 tcp 1488 ------- 1 2.0 4.0 7 16"
SCTP = b"+ 22.3 3 0 sctp 1496 -------D 2 3.0 4.1 1 9 238 0 8"


def read(content: bytes) -> trace.Trace:
    return trace.read(io.BytesIO(content), "trace.gz", BOUNDS)


def test_packets_have_what_their_lines_say() -> None:
    found = read(HEAD + TCP + b"\n" + SCTP + b"\nE\n").packets
    assert found.what.tolist() == [packet_lines.ENTERS, packet_lines.ENTERS]
    assert found.t_s.tolist() == [1.5, 22.3]
    assert found.kind.tolist() == [packet_lines.TCP, packet_lines.DATA]
    assert (found.source.tolist(), found.target.tolist()) == ([2, 3], [0, 0])
    assert found.size_bytes.tolist() == [1488, 1496]
    # Of SCTP the chunk's number and the packet's stand one further on.
    assert (found.flow.tolist(), found.number.tolist()) == ([1, 2], [7, 9])
    assert found.packet.tolist() == [16, 238]


def test_the_recorded_trace_is_read_whole() -> None:
    text = trace_text()
    found = read(text)
    lines = text.splitlines()
    assert len(found.packets.t_s) == sum(line[:1] in b"+-rde" for line in lines)
    assert len(found.changes) == sum(b"cwnd_" in line or b"ssthresh_" in line for line in lines)
    assert found.ends == {(2, 0): 1, (3, 0): 2}


def test_a_window_comes_after_the_packets_before_its_line() -> None:
    found = read(HEAD + TCP + b"\n1.50000  2  0  4  0  cwnd_ 4.250 \n" + SCTP + b"\nE\n")
    (change,) = found.changes
    assert (change.after, change.flow, change.cwnd, change.ssthresh) == (1, 1, 4.25, None)


def test_sctps_windows_are_read() -> None:
    found = trace.read_windows(io.BytesIO(windows_text()), "windows.gz", BOUNDS, {(3, 0): 2})
    assert (found[1].t_s, found[1].cwnd, found[1].ssthresh) == (0.0, 4380.0, 65536.0)
    assert all(change.flow == 2 for change in found)


@pytest.mark.parametrize(
    ("content", "line", "why"),
    [
        (b"", 1, "its last line is missing"),
        (HEAD + TCP + b"\n", 4, "its last line is missing"),
        (HEAD + TCP, 3, "cut short within a line"),
        (HEAD + b"E\nE\n", 4, "something follows"),
        (HEAD + b"hello\nE\n", 3, "no such line"),
        (HEAD + b"\nE\n", 3, "no such line"),
        (HEAD + TCP + b" 1\nE\n", 3, "12 words wanted, not 13"),
        (HEAD + SCTP[:-2] + b"\nE\n", 3, "15 words wanted, not 14"),
        (HEAD + TCP.replace(b"tcp", b"rtp") + b"\nE\n", 3, "known kind"),
        (HEAD + SCTP.replace(b"------D", b"------Q") + b"\nE\n", 3, "known kind"),
        (HEAD + TCP.replace(b"1.5", b"nan") + b"\nE\n", 3, "no time"),
        (HEAD + TCP.replace(b"1.5", b"41") + b"\nE\n", 3, "no time up to 40 s"),
        (HEAD + TCP.replace(b"1.5", b"-1") + b"\nE\n", 3, "no time"),
        (HEAD + SCTP + b"\n" + TCP + b"\nE\n", 4, "earlier than the line before"),
        (HEAD + TCP.replace(b" 2 0 ", b" 9 0 ") + b"\nE\n", 3, "no node"),
        (HEAD + TCP.replace(b"1488", b"70000") + b"\nE\n", 3, "no size"),
        (HEAD + TCP.replace(b"- 1 2.0", b"- 3 2.0") + b"\nE\n", 3, "no flow"),
        (HEAD + TCP[:-2] + b"1" * 30 + b"\nE\n", 3, "no packet"),
        (HEAD + TCP.replace(b"tcp", b"t\xffp") + b"\nE\n", 3, "no text"),
        (HEAD + b"x" * 2000 + b"\nE\n", 3, "more than 1024 bytes"),
        (HEAD + b"F 1 4 0 4 0\nE\n", 3, "second time"),
        (HEAD + b"F 3 4 0 4 0\nE\n", 3, "none of 2"),
        (HEAD + b"1.0  9  0  4  0  cwnd_ 1.000 \nE\n", 3, "window of no flow"),
        (HEAD + b"99.0  2  0  4  0  cwnd_ 1.000 \nE\n", 3, "later than the end"),
    ],
)
def test_what_is_no_trace_is_told_with_file_line_and_reason(
    content: bytes, line: int, why: str
) -> None:
    with pytest.raises(ParseError) as told:
        read(content)
    assert told.value.where == f"trace.gz:{line}"
    assert why in str(told.value)


def test_a_wrong_line_far_inside_is_named_by_its_number() -> None:
    lines = trace_text().splitlines()
    at = len(lines) - 100
    lines[at] = lines[at][:-1] + b"x"
    with pytest.raises(ParseError, match=rf"trace\.gz:{at + 1}: "):
        read(b"\n".join(lines) + b"\n")


def test_a_trace_may_not_be_longer_than_its_cell_can_make_it() -> None:
    bounds = trace.Bounds(flows=2, nodes=5, most_lines=100, until_s=40.0)
    with pytest.raises(ParseError, match=r"trace\.gz:101: .*more than the 100 lines"):
        trace.read(io.BytesIO(trace_text()), "trace.gz", bounds)


class Endless(io.RawIOBase):
    """Says the same for ever."""

    def __init__(self, words: bytes) -> None:
        self.words = words

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self.words * (size // len(self.words))


@pytest.mark.parametrize("words", [b"x", TCP + b"\n", b"\n"])
def test_an_endless_file_ends_within_bounded_memory(words: bytes) -> None:
    stream = Endless(words)
    tracemalloc.start()
    try:
        with pytest.raises(ParseError):
            trace.read(stream, "trace.gz", BOUNDS)  # type: ignore[arg-type]
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda packed: packed[: len(packed) // 2],
        lambda packed: packed[:200] + b"\0" * 50 + packed[250:],
        lambda packed: b"no gzip at all",
        lambda packed: b"",
        # Another file that is whole: of other ends.
        lambda packed: gzip.compress(b"E\n"),
    ],
)
def test_a_damaged_file_of_a_cell_is_named(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    leave(tmp_path)
    place = tmp_path / run_folder.NS2_TRACE
    place.write_bytes(spoil(place.read_bytes()))
    with pytest.raises(ParseError, match=r"raw/ns2/(trace|windows)\.gz"):
        cell_files.read(tmp_path, ns2_cell())


def test_a_missing_file_of_a_cell_is_named(tmp_path: Path) -> None:
    leave(tmp_path)
    (tmp_path / run_folder.NS2_WINDOWS).unlink()
    with pytest.raises(ParseError, match=r"windows\.gz"):
        cell_files.read(tmp_path, ns2_cell())


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_whatever_a_line_becomes_it_is_read_or_refused(data: st.DataObject) -> None:
    lines = trace_text().splitlines()[:60]
    at = data.draw(st.integers(0, len(lines) - 1))
    words = lines[at].split(b" ")
    word = data.draw(st.integers(0, len(words) - 1))
    words[word] = data.draw(
        st.one_of(
            st.binary(max_size=20),
            st.sampled_from([b"1e999", b"nan", b"-1", b"9" * 40, b"+1", b"1_0", "é".encode()]),
        )
    )
    lines[at] = b" ".join(words)
    told: list[str] = []
    try:
        found = read(b"\n".join([*lines, b"E", b""]))
    except ParseError as error:
        told.append(error.where)
    else:
        assert (found.packets.t_s >= 0).all()
        assert set(found.packets.flow.tolist()) <= {1, 2}
    assert all(where.startswith("trace.gz:") for where in told)
