"""Files that users bring: recorded ones of ns-3, and texts written as other simulators do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from model.run_files.comparing.brought import KnownPoint, Span
from model.run_files.point import Point
from simulators.results.streams import Stream, opened
from tests.support.recorded import DATA

NS3 = DATA / "ns3-3.37"
SPAN = Span(from_s=0.0, to_s=3.0)
POINTS = tuple(
    KnownPoint(point=Point.of({"queue_pkts": queue}), span=Span(from_s=10, to_s=60), duration_s=60)
    for queue in (25, 100, 400)
)
#: As OMNeT++'s manual (6.0, "Result File Formats") shows scalars, statistics and vectors.
SCA = """\
version 3
run General-0-20240101-10:00:00-4711
attr configname General
attr repetition 0
itervar queue 25
config *.sink[*].typename "\\"TcpSink\\""

scalar Net.sink[0] "bytes:sum" 12500000
attr unit B
scalar Net.sink[1] "bytes:sum" 37500000
statistic Net.sink[0] "delay:histogram"
field count 4
field mean 0.0625
field stddev nan
bin -inf 0
bin 0.1 4

run General-1-20240101-10:00:09-4712
attr repetition 1
itervar queue 25
scalar Net.sink[0] "bytes:sum" 25000000
scalar Net.sink[1] "bytes:sum" 50000000
statistic Net.sink[0] "delay:histogram"
field mean 0.125
"""
VEC = """\
version 3
run General-0-20240101-10:00:00-4711
attr repetition 0
itervar queue 25
vector 0 Net.source[0] cwnd:vector ETV
vector 1 "Net.source[1]" "cwnd:vector" TV
attr title "a window"
0 17 5 2
0 18 10.5 4
1 11 8
0 19 20 6
1 59.5 16
0 20 60 1000
"""


@contextmanager
def stream_of(folder: Path, content: bytes | str, name: str = "in") -> Iterator[Stream]:
    """Open a file with this content."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with opened(path) as stream:
        yield stream
