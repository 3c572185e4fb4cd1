"""A recorded trace beside what the kernel itself printed of the same ring buffer."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass

from collectors.trace.events import Formats, Trace, parse_formats, parse_pages
from tests.support.recorded import DATA, value

KERNELS = ("7.3", "6.12")
LINE = re.compile(r"^\s*\S.*?-(\d+)\s+\[000\] \S+\s+(\d+)\.(\d{6}): (\w+): (.*)$")


@dataclass(frozen=True, kw_only=True)
class Printed:
    """One event as the kernel printed it."""

    t_us: int
    pid: int
    event: str
    text: str

    def number(self, name: str) -> int:
        """Return a field printed as ``name=number``, decimal or hexadecimal."""
        found = re.search(rf"\b{name}=(0x[0-9a-fA-F]+|-?\d+)", self.text)
        assert found, f"no {name} in {self.text}"
        return int(found.group(1), 0)


def formats(kernel: str) -> Formats:
    return parse_formats(value(f"trace-{kernel}/formats.json"), "formats.json")


def pages(kernel: str) -> bytes:
    return gzip.decompress((DATA / f"trace-{kernel}" / "pages.bin.gz").read_bytes())


def trace(kernel: str) -> Trace:
    return parse_pages(pages(kernel), formats(kernel), "pages.bin")


def printed(kernel: str) -> list[Printed]:
    text = gzip.decompress((DATA / f"trace-{kernel}" / "trace.txt.gz").read_bytes()).decode()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found = []
    for line in lines:
        match = LINE.match(line)
        assert match, line
        pid, seconds, micros, event, rest = match.groups()
        t_us = int(seconds) * 1_000_000 + int(micros)
        found.append(Printed(t_us=t_us, pid=int(pid), event=event, text=rest))
    return found
