"""The hosts' protocol counters and SCTP's own lists in /proc: rows of ``protocol.parquet``. Pure.

Long form, because kernels differ in what they count. A host's first sample has every counter the
kernel keeps; after that a row is a change, and what has no row stayed as it was.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from collectors.recording.socket_sampler import IP_FILES, Source
from collectors.sockets.samples import Answer, Samples
from model.cell import Flow
from model.errors import ParseError
from model.run_files.kernel_tables import CounterRow
from model.run_files.tables import schema
from model.units import NS_PER_S

SCTP_COUNTERS, SCTP_ASSOCIATIONS, SCTP_ADDRESSES = (
    "/proc/net/sctp/snmp", "/proc/net/sctp/assocs", "/proc/net/sctp/remaddr",
)  # fmt: skip
#: Of the lists' columns, those that tell of the association, by their heads in the kernel's text.
ASSOCIATION_COUNTERS = (
    "ST", "TX_QUEUE", "RX_QUEUE", "HBINT", "INS", "OUTS", "MAXRT", "T1X", "T2X", "RTXC", "wmema",
    "wmemq", "sndbuf", "rcvbuf",
)  # fmt: skip
ADDRESS_COUNTERS = ("HB_ACT", "RTO", "MAX_PATH_RTX", "STATE")
COLUMNS = schema(CounterRow)
Counter = tuple[str | None, str, str]  # flow, group, counter
#: By how much counters of a host, a group's, grew together from the first sample to the last; None
#: if the host does not count one of them.
Growth = Callable[[str, str, Sequence[str]], int | None]


def protocol_table(samples: Samples, flows: Sequence[Flow], epoch_ns: int) -> pl.DataFrame:
    """Return every host's counters at its first sample, and then every change.

    Raises:
        ParseError: a file is not what the kernel writes; the message names file and byte.
    """
    rows: list[tuple[Any, ...]] = []
    seen: dict[Source, list[str]] = {}
    values: dict[tuple[str, Counter], int] = {}
    ports = {flow.port: flow.id for flow in flows if flow.protocol == "sctp"}
    owners: dict[str, dict[str, str | None]] = {}
    for answer in samples.of(files=True):
        node = answer.source.node
        t_s = (answer.t_ns - epoch_ns) / NS_PER_S
        place = f"{samples.where}: byte {answer.offset}, {answer.source.what}"
        found = _counters(answer, seen, ports, owners.setdefault(node, {}), place)
        for counter, value in found:
            if values.get((node, counter)) != value:
                values[node, counter] = value
                rows.append((t_s, node, *counter, value))
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def growth(protocol: pl.DataFrame, counters: Iterable[str]) -> Growth:
    """Return what tells by how much hosts' counters grew, of the counters of these names.

    Split by host once: to look for one host takes as long as there are rows.
    """
    rows = protocol.filter(pl.col("counter").is_in(list(counters)))
    of_node = rows.partition_by("node", as_dict=True)

    def grown(node: str, group: str, counters: Sequence[str]) -> int | None:
        own, together = of_node.get((node,), rows.clear()), 0
        for counter in counters:
            values = own.filter(group=group, counter=counter)["value"]
            if not values.len():
                return None
            together += values[-1] - values[0]
        return together

    return grown


def _counters(
    answer: Answer,
    seen: dict[Source, list[str]],
    ports: Mapping[int, str],
    owners: dict[str, str | None],
    place: str,
) -> list[tuple[Counter, int]]:
    """Return what one file says, but for lines that are as they were.

    ``seen`` are the lines of each file when it was last read, ``owners`` the flows of the host's
    associations by their id.
    """
    what = answer.source.what
    try:
        lines = answer.content.decode("ascii").splitlines()
        earlier = seen.get(answer.source)
        seen[answer.source] = lines
        if lines == earlier:
            return []
        before = earlier or []
        if what in IP_FILES:
            return list(_pairs(lines, before))
        if what == SCTP_COUNTERS:
            return list(_list(lines, before))
        if what == SCTP_ASSOCIATIONS:
            return list(_associations(lines, ports, owners))
        if what == SCTP_ADDRESSES:
            return list(_addresses(lines, owners))
        raise ValueError("an unknown file")
    except (ValueError, KeyError, IndexError) as error:
        raise ParseError(
            "not what the kernel writes", where=place, got=str(answer.content[:80]), hint=str(error)
        ) from error


def _pairs(lines: Sequence[str], before: Sequence[str]) -> Iterator[tuple[Counter, int]]:
    """Yield changed counters of lines in pairs: a group and names, the same group and numbers."""
    earlier = dict(zip(before[::2], before[1::2], strict=True))
    for heads, numbers in zip(lines[::2], lines[1::2], strict=True):
        known = earlier.get(heads)
        if numbers == known:
            continue
        group, counters = _named(heads)
        again, *values = numbers.split()
        if group != again or group[-1] != ":":
            raise ValueError(f"{group} is followed by {again}")
        old = known.split()[1:] if known else [""] * len(counters)
        for counter, value, was in zip(counters, values, old, strict=True):
            if value != was:
                yield counter, _whole(value)


@functools.lru_cache(maxsize=64)
def _named(heads: str) -> tuple[str, list[Counter]]:
    """Return the group of a line of names as it stands there, and its counters."""
    group, *names = heads.split()
    return group, [(None, group[:-1], name) for name in names]


def _list(lines: Sequence[str], before: Sequence[str]) -> Iterator[tuple[Counter, int]]:
    """Yield counters of lines of a name and a number; the names begin with the group."""
    earlier = set(before)
    for line in lines:
        if line in earlier:
            continue
        name, value = line.split()
        yield (None, "Sctp", name.removeprefix("Sctp")), _whole(value)


def _associations(
    lines: Sequence[str], ports: Mapping[int, str], owners: dict[str, str | None]
) -> Iterator[tuple[Counter, int]]:
    """Yield what is listed of each flow's association."""
    heads = lines[0].split()
    # Addresses of both ends, any number of them, stand where the heads have one word each.
    left = heads.index("LADDRS")
    right = len(heads) - heads.index("RADDRS") - 1
    names = heads[:left] + heads[-right:]
    for line in lines[1:]:
        words = line.split()
        if len(words) < left + right:
            raise ValueError(f"{len(words)} words for {len(heads)} heads")
        found = dict(zip(names, words[:left] + words[-right:], strict=True))
        flow = ports.get(int(found["LPORT"]), ports.get(int(found["RPORT"])))
        owners[found["ASSOC-ID"]] = flow
        if flow is not None:
            for name in ASSOCIATION_COUNTERS:
                yield (flow, "SctpAssoc", name), _whole(found[name])


def _addresses(
    lines: Sequence[str], owners: Mapping[str, str | None]
) -> Iterator[tuple[Counter, int]]:
    """Yield what is listed of each path of each flow's association."""
    heads = lines[0].split()
    for line in lines[1:]:
        found = dict(zip(heads, line.split(), strict=True))
        flow = owners.get(found["ASSOC_ID"])
        if flow is not None:
            for name in ADDRESS_COUNTERS:
                yield (flow, f"SctpPath {found['ADDR']}", name), _whole(found[name])


def _whole(text: str) -> int:
    """Return a counter; one the table cannot hold is no counter."""
    value = int(text)
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{text} is out of range")
    return value
