"""Fuzzed: the readers of results that users bring, their mapping, and all of the way to a page."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from model.run_files.comparing.brought import KnownPoint, Span
from model.run_files.metrics.every import metric_bounds
from model.run_files.study import Study
from reports.beside.compare import compare
from reports.beside.run_side import RunSide
from reports.beside.tables import attachment
from reports.page.review_tables import TABLE_FILES
from reports.store.run import read_run
from reports.verdict.points import ordered_metrics, summarise_cells
from simulators.results.gather import gather
from simulators.results.own_exports import OwnExports
from simulators.results.replicates import merged
from simulators.results.streams import head_of
from testbed.command.comparisons.given_margins import margins_of
from testbed.study.results_mapping import mapping_of
from testbed.study.yaml_document import parse_document
from tests.fuzz.mutate import Mutate, bytes_input, text_input
from tests.fuzz.target import Target
from tests.support.runs.report_run import build_run
from tests.support.simulators.own_results import NS3, SCA, VEC

FLOWS = """\
mapping: 1
source: fuzzed
files: in
points: {network.bottleneck.loss.data: 1 %}
groups: {T: {destination_port: 5001, id: 1}, S: {destination_port: 5002}}
headers: 40 bytes
lost: link
"""
VALUES = """\
mapping: 1
source: fuzzed
points: {network.bottleneck.loss.data: {part: queue, unit: '%'}}
replicate: repetition
values:
  - {metric: goodput_T_bps, module: '*.sink[0]', name: 'bytes:sum', unit: bytes}
  - {metric: owd_mean_T_s, module: '*', name: '*delay*:mean', unit: s, take: mean}
  - {metric: cwnd_mean_T_segments, module: '*0]', name: 'cwnd*', unit: segments, take: mean}
"""
ROWS = """\
mapping: 1
source: fuzzed
points: {network.bottleneck.loss.data: {part: loss, unit: '%'}}
replicate: run
values:
  - {metric: goodput_T_bps, column: tcp, unit: kbit/s}
  - {metric: goodput_S_bps, column: sctp, sd: sd, n: n, unit: kbit/s}
"""
TABLE = b"loss,run,tcp,sctp,sd,n\n" + b"".join(
    b"%s,1,%d,110.5,3,5\n" % (loss, 100 + index)
    for index, loss in enumerate((b"0.8", b"0.9", b"1", b"1.5"))
)
TRACE = (
    b"+ 1 0 2 tcp 1040 ------- 1 0.0 1.5001 0 0\n0.1 0 0 1 0 cwnd_ 2.000\n"
    b"r 1.5 2 1 tcp 1040 ------- 1 0.0 1.5001 0 0\nd 1.6 2 1 tcp 1040 ------- 1 0.0 1.5001 1 1\n"
    b"+ 1.7 0 2 sctp 1496 -------D 2 3.0 4.5002 1 9 1 0 8\n"
    b"r 1.9 2 4 sctp 1496 -------D 2 3.0 4.5002 1 9 1 0 8\n"
)
_PACKERS: tuple[Callable[[bytes], bytes], ...] = (gzip.compress, bz2.compress, lzma.compress)


def own_results(place: Path) -> dict[str, Target]:
    """Return the targets; a run and the files that are read lie below ``place``."""
    side = _side(place / "run")
    reader = _Reader(side, place)
    study = side.run.study
    xml = (NS3 / "short.xml").read_bytes()
    captures = [lzma.decompress((NS3 / f"short-{one}.pcap.xz").read_bytes())[:6000]
                for one in ("Bbr", "Cubic")]  # fmt: skip
    flows = reader.of(FLOWS)
    return {
        "flow monitor": Target(corpus=[xml, xml[:2500]], mutate=_both, run=flows, share=12),
        "own captures": Target(corpus=captures, mutate=bytes_input, run=flows, share=12),
        "any ns-2 trace": Target(corpus=[TRACE], mutate=_both, run=flows, share=10),
        "omnetpp": Target(
            corpus=[SCA.encode(), VEC.encode()], mutate=_both, run=reader.of(VALUES), share=12
        ),
        "own tables": Target(corpus=[TABLE], mutate=_both, run=reader.of(ROWS), share=12),
        "packed results": Target(
            corpus=[pack(xml) for pack in _PACKERS], mutate=bytes_input, run=flows, share=8
        ),
        "own exports": Target(
            corpus=[_exported(study)], mutate=_both, run=reader.exported, share=6
        ),
        "results mapping": Target(
            corpus=[one.encode() for one in (FLOWS, VALUES, ROWS)], mutate=text_input,
            run=lambda content: _mapping(content, study), share=12,
        ),
    }  # fmt: skip


def _both(rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    way: Mutate = text_input if rng.random() < 0.8 else bytes_input
    return way(rng, corpus)


def _side(folder: Path) -> RunSide:
    run = read_run(build_run(folder, losses=(0.008, 0.01), seeds=4))
    return RunSide(
        name="run", manifest_sha256="0" * 64, kernels=("7.3",), run=run,
        cells=summarise_cells(run, ordered_metrics(run.study)),
    )  # fmt: skip


def _mapping(content: bytes, study: Study) -> object:
    text = content.decode(errors="replace")
    return mapping_of(parse_document(text, "m.yaml"), study, {"T": "T", "S": "S"})


class _Reader:
    """Reads files with a mapping, and goes on to the tables where there is something to tell."""

    def __init__(self, side: RunSide, place: Path) -> None:
        self._side, self._file = side, place / "in"
        self._points = [
            KnownPoint(point=point, span=Span(from_s=0.0, to_s=1000.0), duration_s=1000.0)
            for point in side.run.study.points
        ]

    def of(self, text: str) -> Callable[[bytes], object]:
        """Return what reads a file by this mapping."""
        study = self._side.run.study
        mapping = mapping_of(parse_document(text, "m.yaml"), study, {"T": "T", "S": "S"})

        def run(content: bytes) -> object:
            self._file.write_bytes(content)
            head_of(self._file)
            brought = gather(mapping, [self._file], self._points, lambda *_: None)
            margins, given = margins_of((), study)
            found = compare(self._side, brought, margins, given)
            return [one.text(attachment(found)) for one in TABLE_FILES]

        return run

    def exported(self, content: bytes) -> object:
        """Read a file as an export of this program."""
        self._file.write_bytes(content)
        study = self._side.run.study
        bounds = metric_bounds([group.id for group in study.groups], study.flows)
        _, readings = OwnExports(study.id, self._points, bounds).read(self._file)
        return merged(readings)


def _exported(study: Study) -> bytes:
    head = (
        "study,cell,loss_frac,replicate,seed,kernel_release,lab,excluded,metric,value,unit,reason"
    )
    rows = [
        f"{study.id},c{seed},0.008,{seed},{seed},7.3,virtual,,{metric},{value},,"
        for seed in (1, 2)
        for metric, value in (("goodput_T_bps", 1e5), ("pct_increase", -3.5), ("jain_flows", ""))
    ]
    return "\r\n".join([head, *rows, ""]).encode()
