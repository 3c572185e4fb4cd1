"""Which format a file is of, told by how it begins. Pure."""

from __future__ import annotations

import re

from model.errors import ParseError
from model.run_files.comparing.brought import Format
from simulators.results import captures, ns2_traces
from simulators.results.streams import BOM

#: What the formats are called in messages.
CALLED: dict[Format, str] = {
    "flowmonitor": "ns-3's FlowMonitor XML",
    "pcap": "a capture (pcap)",
    "ns2": "a trace of ns-2",
    "omnetpp": "a scalar or vector file of OMNeT++",
    "csv": "CSV with a head",
}
_PCAPNG = b"\x0a\x0d\x0d\x0a"


def format_of(head: bytes, where: str) -> Format:
    """Return the format of a file that begins so; raise :class:`ParseError` if it is none."""
    if not head:
        raise ParseError("the file is empty", where=where)
    if head[:4] in captures.MAGIC or head[:4] == _PCAPNG:
        return "pcap"
    text = head.removeprefix(BOM)
    start = text.lstrip()[:2000]
    if start.startswith((b"<?xml", b"<FlowMonitor", b"<!")):
        return "flowmonitor"
    lines = [line.strip() for line in start.splitlines()]
    first = next((line for line in lines if line and not line.startswith(b"#")), b"")
    if re.match(rb"version\s+\d+$", first):
        return "omnetpp"
    line = first.decode("ascii", "replace")
    if ns2_traces.PACKET.match(line) or ns2_traces.VARIABLE.match(line):
        return "ns2"
    if b"\0" not in text[:2000] and re.search(rb"[,;\t]", first):
        return "csv"
    raise ParseError(
        "a format that is not known", where=where, got=repr(head[:24]),
        wanted="; ".join(CALLED.values()), hint="if it is one: format: in the mapping",
    )  # fmt: skip
