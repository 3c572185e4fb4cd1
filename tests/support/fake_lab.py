"""A lab that boots nothing: it leaves the raw files real labs left, and does as it is told."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from model.cell import Cell
from model.errors import GroundtruthError
from model.netem_draws import Foretold
from model.tolerances import Tolerances
from model.units import NS_PER_S
from testbed.campaign import calibration_checks
from testbed.guest import calibration, link_fill
from testbed.guest.link_fill import LOG_HEADER
from testbed.labs.contract.lab import Properties, Ran
from tests.support.recorded import DATA, text, value

PROBES = DATA / "probes-0.1.0"
SOCKETS = DATA / "sockets-7.3"
TRACE = DATA / "trace-7.3"
FLOW_FILES = {
    "T.sender": "tcp_send",
    "T.receiver": "tcp_recv",
    "S.sender": "sctp_send",
    "S.receiver": "sctp_recv",
}


ENVIRONMENT = {
    "schema": 1,
    "kernel_release": "7.3.4-groundtruth",
    "kernel_version": "#1 Thu Jan  1 00:00:00 UTC 2026",
    "tools": {"iproute2": "6.15.0-1"},
    "lab": {"name": "virtual"},
    "seed": 1,
    "clock": "virtual",
    "sysctls": {},
    "warnings": [],
}


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value) + "\n")


def write_measured(folder: Path) -> None:
    """Leave what a lab leaves of the recorded measuring cell."""
    (folder / "raw" / "flows").mkdir(parents=True)
    for name, recorded in FLOW_FILES.items():
        shutil.copy(PROBES / f"{recorded}.jsonl", folder / "raw" / "flows" / f"{name}.jsonl")
    for name in ("counters.json", "ledger.json"):
        shutil.copy(PROBES / name, folder / "raw" / name)
    _write(folder / "raw" / "epoch.json", {"epoch_ns": 4_000_000_000, "late_ns": 0})
    _write(folder / "raw" / "starts.json", [])
    _write(folder / "raw" / "qdiscs.json", value("iproute2-6.15/qdisc-statistics.json"))
    write_telemetry(folder)
    # Its devices are some of another cell's: nothing to audit.
    _write(folder / "raw" / "qdiscs-start.json", {})
    _write(folder / "raw" / "path.json", [])
    _write(folder / "verify.json", {"schema": 1, "checks": []})
    _write(folder / "env.json", ENVIRONMENT)


def write_telemetry(folder: Path) -> None:
    """Leave recorded traces and samples: some seconds of other runs of these flows."""
    for name in ("sockets.bin.gz", "sockets.json"):
        shutil.copy(SOCKETS / name, folder / "raw")
    (folder / "raw" / "trace").mkdir()
    for name in ("pages.bin.gz", "formats.json"):
        shutil.copy(TRACE / name, folder / "raw" / "trace")
    _write(folder / "raw" / "trace" / "counts.json", {"read events": 632})
    for name in ("places.json", "queue.jsonl"):
        shutil.copy(TRACE / name, folder / "raw")


def write_calibrated(folder: Path, cell: Cell, *, other_fates: int = 0) -> None:
    """Leave what a lab leaves of a right path of the cell, but for so many packets' fates."""
    place = folder / "raw" / "calibration"
    place.mkdir(parents=True)
    network = cell.wired
    found: dict[str, Any] = {}
    paths = {
        way: Foretold(calibration.chances(network, cell.seed, way)) for way in calibration.WAYS
    }
    for run in calibration.runs(network, cell.seed):
        way: calibration.Way = "forward" if "forward" in run.name else "reverse"
        late_ns = round(
            calibration_checks.delay_s(calibration.stages(network, way), 128) * NS_PER_S
        )
        fates = [paths[way].lost() for _ in range(run.packets)]
        if run.name == "loss_forward":
            fates[:other_fates] = [not lost for lost in fates[:other_fates]]
        times = [(seq, seq, seq + late_ns) for seq, lost in enumerate(fates) if not lost]
        found[run.name] = _logged(place, run.name, times, run.packets, 128)
    for fill in link_fill.fills(network):
        found[fill.name] = _logged(place, fill.name, filled(fill), 200, link_fill.IP_BYTES)
    _write(folder / "raw" / "calibration.json", found)
    check = {"check": "shaper", "where": "r1", "wanted": "x", "got": "the same", "agrees": True}
    _write(folder / "verify.json", {"schema": 1, "checks": [check]})
    _write(folder / "env.json", ENVIRONMENT)


def filled(fill: link_fill.Fill) -> list[tuple[int, int, int]]:
    """Return number, sending and arrival of packets that fill a right link's buffer."""
    send_ns, most = fill.send_s() * NS_PER_S, fill.direction.queue_pkts
    times = []
    for seq in range(most + 20):
        began_ns = max(0, seq + 1 - most) * send_ns
        arrived_ns = (seq + 1) * send_ns + fill.direction.owd_s * NS_PER_S
        times.append((seq, round(began_ns), round(arrived_ns)))
    return times


def _logged(
    place: Path, run: str, times: list[tuple[int, int, int]], packets: int, ip_bytes: int
) -> dict[str, Any]:
    lines = "".join(f"{seq}\t{send_ns}\t{recv_ns}\n" for seq, send_ns, recv_ns in times)
    (place / f"{run}.tsv").write_text(f"{LOG_HEADER}\n{lines}")
    return {"packets": packets, "ip_bytes": ip_bytes, "log": f"{run}.tsv"}


def write_recorded(cell: Cell, folder: Path) -> None:
    """Leave the recorded files of a measuring cell, or a right path's of a calibrating one."""
    if cell.purpose == "calibrate":
        write_calibrated(folder, cell)
    else:
        write_measured(folder)


def nothing(what: str, done_frac: float) -> None:
    """Take no notice of how far a build is."""


class Here:
    """A node whose network is this process's own."""

    def __init__(self, name: str = "src1") -> None:
        self.name = name

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Stay here."""
        yield


def each_here(
    items: Iterable[Any],
    act: Callable[[Any], Any],
    *,
    name: Callable[[Any], str],
    jobs: int,
    ended: Callable[[Any, Any], None],
    timeout_s: float = math.inf,
    bound: bool = True,
) -> None:
    """Stand for ``workers.each``: in this process, where fakes remember what ran, one by one.

    Tables are written with polars, which may wait for ever when two threads that share its pool
    ask it at once; real workers are processes, with one such thread each.
    """
    del jobs
    with ThreadPoolExecutor(1) as pool:
        acted = {pool.submit(act, item): item for item in items}
        for future in as_completed(acted):
            error = future.exception()
            if error is not None and not isinstance(error, GroundtruthError | OSError):
                raise error
            ended(acted[future], error or future.result())


class FakeLab:
    """Runs a function in place of a lab, and remembers what ran if that was in this process."""

    properties = Properties(
        name="virtual",
        kernels="none: a function",
        clock="virtual",
        tick_hz=250,
        repeatable=True,
        tolerances=Tolerances(delay_s=20e-6, rate_frac=0.001),
    )

    def __init__(self, act: Callable[[Cell, Path], object] = write_recorded) -> None:
        self.act = act
        self.ran: list[int] = []

    def describe(self, kernel_version: str = "7.3") -> dict[str, str]:
        package = f"{kernel_version}.4-1"
        return {
            "name": "virtual", "kernel": kernel_version, "kernel_package": package,
            "code_digest": "c", "tick_hz": "250",
        }  # fmt: skip

    def packages(self) -> dict[str, str]:
        return {"iperf3": "3.18-2", "iproute2": "6.15.0-1"}

    def kernel_config(self, kernel_version: str) -> str:
        return f"# Linux {kernel_version}\nCONFIG_HZ=250\n"

    def parts(self) -> tuple[Path, ...]:
        return ()

    def check_whole(self, *, thorough: bool) -> None:
        pass

    def prepared(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def run(self, cell: Cell, folder: Path, cancelled: threading.Event) -> Ran:
        self.ran.append(cell.seed)
        (folder.parent / "console.log").write_text(text("lab-console-7.3/finished.log"))
        self.act(cell, folder)
        return Ran(wall_s=1.23456)
