"""``groundtruth compare --new-mapping``: a mapping to start from, of what is found in the files.

Invariants: what it says of the run and of the files is so; what only a user can know stands there
as a question; no file is overwritten.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from model import plain_files
from model.errors import StudyError
from model.run_files.comparing.brought import FlowReading, Format, Span
from model.run_files.study import Study
from simulators.results import captures, flow_monitor, ns2_traces, omnetpp, tables
from simulators.results.formats import CALLED, format_of
from simulators.results.places import KINDS
from simulators.results.streams import head_of, opened
from testbed.command.comparisons.own_results import known_points, one_run, run_side
from testbed.machine.command_line import groundtruth
from testbed.machine.console import out, words

#: What of files is shown as examples.
MOST_SHOWN = 12
_FLOWS = ("flowmonitor", "pcap", "ns2")
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_EXAMPLES = {"bps": "Mbit/s", "s": "ms", "bytes": "bytes", "pkts": "packets", "frac": "%"}


def command(run_name: str, files: Sequence[Path], to: Path) -> None:
    """Write a mapping; raise :class:`StudyError` if something is in its place."""
    if to.exists() or to.is_symlink():
        raise StudyError("a file is there", where=str(to), wanted="a name that is free")
    if not files:
        raise StudyError("no file to look at", where="--with", wanted="FILE...")
    side = run_side(one_run(run_name))
    first = files[0]
    kind = format_of(head_of(first), str(first))
    span = known_points(side.run)[0].span
    lines = [
        "# How results of your own are read for a comparison:",
        f"# {groundtruth('compare', run_name)} --with FILE... --mapping {shlex.quote(to.name)}",
        "# Every key is explained in docs/guides/own-results.md. Lines with ??? are for you.",
        "mapping: 1",
        "source: '???'  # what they are called in the comparison, such as ns-3.37",
        f"format: {kind}  # {CALLED[kind]}",
        *_files(side.run.study, files),
        *(_of_flows(side.run.study, kind, first, span) if kind in _FLOWS
          else _of_values(side.run.study, kind, first, span)),
    ]  # fmt: skip
    plain_files.write_text(to, "\n".join(map(_printable, lines)) + "\n")
    out().print(f"{to}: a mapping of {CALLED[kind]} to start from", soft_wrap=True)
    words().print(
        f"next: fill in what is ???, then {groundtruth('compare', run_name)} --with FILE... "
        f"--mapping {shlex.quote(str(to))}", soft_wrap=True,
    )  # fmt: skip


def _printable(line: str) -> str:
    """Return a line as one: texts of files may have ends of lines in them."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in line)


def _files(study: Study, files: Sequence[Path]) -> Iterator[str]:
    """Yield what tells points and replicates: numbers in names that differ between files."""
    numbers = [_DIGITS.findall(path.name) for path in files]
    shapes = {_DIGITS.sub("0", path.name) for path in files}
    names = [f"p{index + 1}" for index in range(len(numbers[0]))]
    differ = (
        [name for name, texts in zip(names, zip(*numbers, strict=True), strict=True)
         if len(set(texts)) > 1]
        if len(shapes) == 1 else []
    )  # fmt: skip
    parts = iter(zip(names, numbers[0], strict=True))
    pattern = _DIGITS.sub(
        lambda _: (lambda one: f"{{{one[0]}}}" if one[0] in differ else one[1])(next(parts)),
        files[0].name,
    )
    yield f"files: {pattern!r}  # as {files[0].name!r}; {{parts}} differ; call them as you like"
    yield "points:" if study.parameters else "points: {}  # the study sweeps nothing"
    for one in study.parameters:
        unit = _EXAMPLES.get(one.name.rpartition("_")[2], "") if (
            one.name.rpartition("_")[2] in KINDS
        ) else ""  # fmt: skip
        values = dict.fromkeys(str(dict(point.settings)[one.name]) for point in study.points)
        yield (
            f"  {one.path}: {{part: '???', unit: {unit!r}}}  # a part of {{}}, a column, "
            f"a variable; in the run {one.name}: {', '.join(itertools.islice(values, MOST_SHOWN))}"
        )
    replicate = differ[-1] if differ else "'???'"
    yield f"replicate: {replicate}  # the part, column or variable, if any"


def _of_flows(study: Study, kind: Format, path: Path, span: Span) -> Iterator[str]:
    with opened(path) as stream:
        if kind == "pcap":
            found, _ = captures.read(stream, span=span, first_packet=True)
        elif kind == "ns2":
            found, _ = ns2_traces.read(stream, span=span, headers_bytes=None)
        else:
            found, _ = flow_monitor.read(stream, headers_bytes=None, counted=span)
    yield f"groups:  # flows in {path.name}:"
    yield from (f"  # {_flow_words(one)}" for one in found[:MOST_SHOWN])
    for group in study.groups:
        example = "id: '???'" if kind == "ns2" else "destination_port: '???'"
        yield f"  {group.id}: {{{example}}}  # {group.label}"
    if kind != "pcap":
        yield "headers: 52 bytes  # of a packet's size, what is no user data: IP, TCP, options"
    if kind == "flowmonitor":
        yield (
            f"counted: {{from: {span.from_s:g} s, to: {span.to_s:g} s}}  # as the run counts "
            "goodput; what FlowMonitor's StartTime and the simulation's end make it"
        )
        yield "# lost: buffer  # or link: where packets were lost that it gives no reason for"
    if kind == "pcap":
        yield "zero: simulation  # or first packet, if times are not the simulation's"


def _flow_words(one: FlowReading) -> str:
    source = f"{one.source}:{one.source_port}"
    ends = f"{one.protocol} {source} -> {one.destination}:{one.destination_port}"
    return ends if one.number is None else f"id {one.number}: {ends}"


def _of_values(study: Study, kind: Format, path: Path, span: Span) -> Iterator[str]:
    yield f"values:  # in {path.name}:"
    if kind == "csv":
        with opened(path) as stream:
            _, row = next(tables.rows(stream), (0, dict[str, str]()))
        yield from (f"  # column {name!r}, such as {text[:40]!r}" for name, text in row.items())
        key = "column: '???'"
    else:
        with opened(path) as stream:
            shown: dict[tuple[str, str], None] = {}

            def wanted(module: str, name: str) -> bool:
                if len(shown) < MOST_SHOWN:
                    shown[module, name] = None
                return False

            runs = omnetpp.read(stream, wanted=wanted, span=span)
        yield f"  # variables of its runs: {', '.join(runs[0].settings) or 'none'}"
        yield from (f"  # module {module!r}, name {name!r}" for module, name in shown)
        key = "module: '???', name: '???'"
    for group in study.groups:
        yield f"  - {{metric: goodput_{group.id}_bps, {key}, unit: Mbit/s}}  # {group.label}"
