"""A cell as a data file of flent (version 4), whose own plots then draw it.

https://flent.org/data-format.html says what is in it. The test is one that flent has, so that it
knows the series: ``sctp_vs_tcp`` where there is SCTP, else ``tcp_nup`` or ``udp_flood``. Its
``CS0`` is the marking that all packets have here. Flent's names have no room for more than one SCTP
flow: of several the sums and means are drawn, each flow has a series of its own beside them.

Invariants: goodput is in Mbit/s; a flow's raw values are the rows of its tables; gzip's header has
neither time nor name.
"""

from __future__ import annotations

import datetime
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from model import run_folder
from model.cell import Flow
from model.run_files.kernel_tables import CongestionRow
from model.run_files.traffic_tables import IntervalRow
from reports.exports.cell import NS_PER_S, ExportedCell, OutFile, host_names, in_ms, json_text
from reports.exports.cell import to_ns as ns
from reports.exports.goodput_series import Interval, averaged, grid, on_grid, summed
from reports.store.columns import read_columns, read_slices

VERSION = 4
UNIT = "Mbits/s"
ENDING = ".flent.gz"
#: zlib's word for a gzip header, which it writes without a time.
GZIP = 31
BPS_PER_MBPS = 1e6
NS_PER_US = 1000
#: Of the kernel's rows: flent's name of a raw value, and the column; TCP's are those flent plots.
KERNEL_VALUES = {
    "tcp_cwnd": "cwnd_segments", "cwnd_bytes": "cwnd_bytes", "ssthresh_bytes": "ssthresh_bytes",
    "flight_bytes": "flight_bytes",
}  # fmt: skip
_KERNEL_COLUMNS = ("t_s", "flow", "event", "srtt_s", *KERNEL_VALUES.values())
_WORDS = {"tcp": "TCP upload", "sctp": "SCTP upload", "udp": "UDP upload"}


def flent_files(cell: ExportedCell) -> Iterator[OutFile]:
    """Yield the one data file of a cell."""
    yield OutFile(name=f"{cell.stem}{ENDING}", pieces=_compressed(_document(cell)))


def series_of(flows: Sequence[Flow]) -> tuple[str, dict[str, str]]:
    """Return the flent test that has series for these flows, and each flow's series by its id."""
    of = {word: [flow for flow in flows if flow.protocol == word] for word in _WORDS}
    test = "sctp_vs_tcp" if of["sctp"] else "tcp_nup" if of["tcp"] else "udp_flood"
    names = {}
    for protocol, mine in of.items():
        for number, flow in enumerate(mine, 1):
            numbered = len(mine) > 1 or test == "tcp_nup"
            ending = f"::{number}" if numbered else " CS0" if test == "sctp_vs_tcp" else ""
            names[flow.id] = _WORDS[protocol] + ending
    return test, {flow.id: names[flow.id] for flow in flows}


def _document(cell: ExportedCell) -> Iterator[str]:
    """Yield the file's text; of the kernel's rows only some are held at once."""
    flows = cell.cell.flows
    test, names = series_of(flows)
    intervals = _intervals(cell)
    every = [one for mine in intervals.values() for one in mine]
    places = grid(every, ns(cell.cell.duration_s), ns(cell.cell.collect.interval_s))
    results = _results(flows, names, intervals, places)
    yield f'{{"version":{VERSION},"metadata":{json_text(_metadata(cell, test, names))}'
    yield f',"x_values":{json_text([place / NS_PER_S for place in places])}'
    yield f',"results":{json_text(results)},"raw_values":{{'
    if cell.epoch_ns is not None:  # flent tells times of raw values since 1970
        t0_s = cell.epoch_ns // NS_PER_US / 1e6
        for number, flow in enumerate(flows):
            yield f"{',' * bool(number)}{json_text(names[flow.id])}:["
            rows = _raw_values(cell, flow, intervals[flow.id], t0_s)
            for index, row in enumerate(rows):
                yield "," * bool(index) + json_text(row)
            yield "]"
    yield "}}\n"


def _intervals(cell: ExportedCell) -> dict[str, list[Interval]]:
    rows = read_columns(cell.folder / run_folder.INTERVALS_TABLE, IntervalRow)
    return {
        flow.id: sorted(
            (
                Interval(start_ns=ns(start_s), end_ns=ns(end_s), goodput_bytes=goodput_bytes)
                for _, start_s, end_s, goodput_bytes in rows.filter(flow=flow.id).iter_rows()
                if ns(end_s) > ns(start_s)
            ),
            key=lambda one: one.start_ns,
        )
        for flow in cell.cell.flows
    }


def _results(
    flows: Sequence[Flow],
    names: Mapping[str, str],
    intervals: Mapping[str, Sequence[Interval]],
    places: Sequence[int],
) -> dict[str, list[float | None]]:
    """Return each flow's series, and sums and means of the protocols that flent draws."""
    series = {
        flow.id: on_grid(places, intervals[flow.id], ns(flow.start_s), ns(flow.stop_s))
        for flow in flows
    }
    results = {names[flow]: values for flow, values in series.items()}
    drawn: dict[str, list[float | None]] = {}
    for protocol in ("tcp", "sctp"):
        mine = {flow.id: series[flow.id] for flow in flows if flow.protocol == protocol}
        if mine:
            results[f"{_WORDS[protocol]} avg"] = averaged(mine)
            results[f"{_WORDS[protocol]} sum"] = summed(mine)
            drawn |= mine
    if any(flow.protocol == "sctp" for flow in flows):
        results["Upload sum"] = summed(drawn)
    return results


def _raw_values(
    cell: ExportedCell, flow: Flow, intervals: Sequence[Interval], t0_s: float
) -> Iterator[dict[str, float]]:
    for one in intervals:
        dur_s = (one.end_ns - one.start_ns) / NS_PER_S
        yield {"t": t0_s + one.end_ns / NS_PER_S, "val": one.mbps, "dur": dur_s}
    path = cell.folder / run_folder.CONGESTION_TABLE
    if flow.protocol == "udp" or not path.exists():
        return
    for rows in read_slices(path, CongestionRow, _KERNEL_COLUMNS):
        mine = rows.filter(pl.col("flow") == flow.id, pl.col("event") == "ack")
        for row in mine.iter_rows(named=True):
            told = {name: row[column] for name, column in KERNEL_VALUES.items()}
            told["tcp_rtt"] = None if row["srtt_s"] is None else in_ms(row["srtt_s"])
            known = {name: value for name, value in told.items() if value is not None}
            yield {"t": t0_s + row["t_s"], **known}


def _metadata(cell: ExportedCell, test: str, names: Mapping[str, str]) -> dict[str, Any]:
    settings, flows = cell.cell, cell.cell.flows
    began = None if cell.epoch_ns is None else _utc(cell.epoch_ns)
    tcp = sum(flow.protocol == "tcp" for flow in flows)
    hosts = list(dict.fromkeys(host_names(flow)[1] for flow in flows))
    goodputs = {row.flow: row.goodput_bps for row in cell.found.flows}
    return {
        "NAME": test,
        # Plots typeset what stands between two dollars.
        "TITLE": cell.title.replace("$", r"\$"),
        "NOTE": "\n".join(
            f"{names[flow.id]}: flow {flow.id}, {cell.group_label(flow)}, "
            f"{' to '.join(host_names(flow))}"
            for flow in flows
        ),
        "TIME": began,
        "T0": began,
        "LENGTH": settings.duration_s,
        "TOTAL_LENGTH": settings.duration_s,
        "STEP_SIZE": settings.collect.interval_s,
        "HOST": hosts[0] if hosts else None,
        "HOSTS": hosts,
        "LOCAL_HOST": host_names(flows[0])[0] if flows else None,
        "IP_VERSION": 4,
        "KERNEL_NAME": "Linux",
        "KERNEL_RELEASE": cell.kernel,
        "FLENT_VERSION": None,
        "DATA_FILENAME": f"{cell.stem}{ENDING}",
        "TEST_PARAMETERS": {"upload_streams": str(tcp)} if test == "tcp_nup" else {},
        "SERIES_META": {
            names[flow.id]: {
                "UNITS": UNIT, "FLOW": flow.id, "GROUP": flow.group, "PROTOCOL": flow.protocol,
                "CONG_CONTROL": flow.congestion_control, "MEAN_VALUE": _mbps(goodputs[flow.id]),
            }
            for flow in flows
        },
        "GROUNDTRUTH": {
            "study": settings.study, "point": settings.point, "seed": settings.seed,
            "replicate": settings.replicate, "cell": cell.id, "lab": settings.lab,
            "excluded": cell.excluded,
        },
    }  # fmt: skip


def _mbps(rate_bps: float | None) -> float | None:
    return None if rate_bps is None else rate_bps / BPS_PER_MBPS


def _utc(epoch_ns: int) -> str:
    """Return a time as flent reads it: in UTC, with microseconds."""
    since = datetime.datetime.fromtimestamp(epoch_ns // NS_PER_S, tz=datetime.UTC)
    return f"{since:%Y-%m-%dT%H:%M:%S}.{epoch_ns % NS_PER_S // NS_PER_US:06d}Z"


def _compressed(texts: Iterable[str]) -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=GZIP)
    for text in texts:
        piece = packer.compress(text.encode())
        if piece:
            yield piece
    yield packer.flush()
