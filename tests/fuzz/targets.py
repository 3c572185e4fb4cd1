"""What is fuzzed: every reader of what others wrote, each with recorded inputs to start from.

A target takes bytes and returns, or raises a project's error; whatever else it does is a finding.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import gzip
import io
import json
import os
import random
import shutil
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from collectors.audit import equal_drops, message_checks, numbered_drops, packet_balance
from collectors.packets.messages import message_rows
from collectors.packets.packets import parse_packets
from collectors.raw import messages
from collectors.raw.files import read_as, read_text, whole
from collectors.raw.flows import (
    Received,
    counters,
    iperf3_received,
    probe_mss_bytes,
    probe_received,
    probe_sent,
)
from collectors.raw.pcap import merged, parse
from collectors.recording.socket_sampler import FRAME
from collectors.sockets.protocol import protocol_table
from collectors.sockets.samples import Samples, parse_frames, parse_sources
from collectors.sockets.sockets import sockets_table
from collectors.tables import packet_evidence, write
from collectors.trace.congestion import congestion
from collectors.trace.drops import drops
from collectors.trace.events import parse_formats, parse_pages, unpacked
from collectors.trace.queue import parse_places, queue
from model import run_folder
from model.cell import NUMBERED_LOSSES, Cell, Loss, NumberedLoss, cell_id, from_dict, to_dict
from model.check import Check
from model.run_files import json_file
from model.run_files.comparing.bisection import BISECTION
from reports.explanation import bisected
from reports.page.section import SCHEMA, SECTION
from reports.page.write_set import write_set
from reports.store.run import read_run, read_study
from reports.verdict.files import summary_csv, summary_json
from reports.verdict.summary import summarise
from simulators.ns2 import cell_files
from testbed.campaign import (
    calibration_checks,
    digests,
    manifest,
    new_runs,
    run_cell,
    saved_runs,
    study_sets,
)
from testbed.campaign.run_cell import json_text
from testbed.guest.ledger import disagreements
from testbed.labs.contract import accept
from testbed.labs.virtual import virtual_lab
from testbed.packetdrill import kernel as scripts_kernel
from testbed.packetdrill import results, scripts
from testbed.planning import plan
from testbed.planning.findings import find
from testbed.planning.resolved import resolved_json
from testbed.points.load_study import parse_study
from tests.fuzz import own_source
from tests.fuzz.mutate import Mutate, bytes_input, json_input, lines_input, text_input
from tests.fuzz.own_results import own_results
from tests.fuzz.target import Target
from tests.support.fake_lab import write_calibrated, write_telemetry
from tests.support.recorded import DATA, value, wireless_cell, with_bottleneck
from tests.support.runs.bisection import FOUND
from tests.support.runs.report_run import build_run, only_cell
from tests.support.simulators.ns2 import RECORDED as RECORDED_NS2
from tests.support.simulators.ns2 import leave as leave_ns2
from tests.support.simulators.ns2 import ns2_cell
from tests.support.simulators.ns2 import trace_text as ns2_trace
from tests.support.simulators.ns2 import windows_text as ns2_windows
from tests.support.study_file import HOSTS, PAPER, WIRELESS

ROOT = Path(__file__).resolve().parents[2]


def targets(scratch: Path) -> dict[str, Target]:
    """Return all targets by name; files they need are written below ``scratch``."""
    return {
        **_studies(),
        **_raw_files(scratch / "raw"),
        **_binary(),
        **_cells(scratch / "cell"),
        **_runs(scratch / "run"),
        **_sets(scratch / "set"),
        **_guests(scratch / "guests"),
        **_ns2(scratch / "ns2"),
        **{
            name: Target(corpus=corpus, mutate=mutate, run=run, share=5)
            for name, (corpus, mutate, run) in own_source.readers(scratch / "own").items()
        },
        **_packetdrill(scratch / "packetdrill"),
        **own_results(scratch / "own-results"),
    }


def _packetdrill(place: Path) -> dict[str, Target]:
    """Return the readers of what packetdrill and its scripts left, and of what users give."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name in ("packetdrill/a.pkt", "packetdrill/defaults.sh"):
            info = tarfile.TarInfo(name)
            info.size = 4
            archive.addfile(info, io.BytesIO(b"text"))

    def ended(content: bytes) -> None:
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            return
        try:
            results.why_not(results.read_ended(value), content.decode(errors="replace"), 300.0)
        except ValueError:
            return

    def script(content: bytes) -> None:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        (place / "a.pkt").write_bytes(content)
        for case in scripts.of_user([place]).cases():
            run_words = case.words("packetdrill")
            assert run_words[-1] == "a.pkt"
            assert "/" not in case.place

    return {
        "packetdrill's end": Target(
            corpus=[b'{"late": false, "status": 1, "virtual_s": 1.25}\n'], mutate=json_input,
            run=ended, share=10,
        ),
        "a packetdrill script": Target(
            corpus=[b"--ip_version=ipv6\n`./defaults.sh`\n0 socket(..., SOCK_STREAM, 0) = 3\n"],
            mutate=text_input, run=script, share=5,
        ),
        "a kernel's scripts": Target(
            corpus=[made.getvalue()], mutate=bytes_input,
            run=lambda content: scripts_kernel.unpacked(content, "scripts.tar"), share=5,
        ),
    }  # fmt: skip


def _ns2(place: Path) -> dict[str, Target]:
    """Return the readers of what ns-2 left, with all that is made of its trace."""
    cell = ns2_cell()

    def in_place(name: str) -> Callable[[bytes], None]:
        folder = place / Path(name).stem

        def run(content: bytes) -> None:
            leave_ns2(folder)
            packed = gzip.compress(content, 1, mtime=0) if name.endswith(".gz") else content
            (folder / name).write_bytes(packed)
            cell_files.conclude(folder, cell)

        return run

    return {
        "ns-2 trace": Target(
            corpus=[ns2_trace()], mutate=text_input, run=in_place(run_folder.NS2_TRACE), share=10
        ),
        "ns-2 windows": Target(
            corpus=[ns2_windows()], mutate=text_input, run=in_place(run_folder.NS2_WINDOWS), share=5
        ),
        "ns-2 read back": Target(
            corpus=[(RECORDED_NS2 / "read_back.txt").read_bytes()], mutate=text_input,
            run=in_place(run_folder.NS2_READ_BACK), share=5,
        ),
    }  # fmt: skip


def _studies() -> dict[str, Target]:
    small = WIRELESS.replace("[0.8 %, 0.9 %, 1 %, 1.5 %, 2 %, 2.5 %, 3 %]", "[1 %]")
    small = small[: small.index("published:")] + small[small.index("assumptions:") :]
    every = [path.read_bytes() for path in sorted((ROOT / "studies").glob("*.yaml"))]

    def study(content: bytes) -> None:
        made = parse_study(content.decode(errors="replace"), "w.yaml", hosts_folders=[HOSTS])
        seeds = made.settings.seeds
        findings = find(made, seeds=seeds)
        planned = plan.make_plan(made, seeds=seeds[:1], lab={"name": "virtual"})
        json.loads(resolved_json(planned, findings))

    def read(content: bytes) -> None:
        parse_study(
            content.decode(errors="replace"), "w.yaml", hosts_folders=[ROOT / "studies" / "hosts"]
        )

    def profile(content: bytes) -> None:
        text = content.decode(errors="replace")
        inlined = "".join(f"    {line}\n" for line in text.split("\n"))
        parse_study(f"{MINIMAL}profiles:\n  paper:\n{inlined}", "w.yaml", hosts_folders=[])

    hosts = [
        PAPER.encode(),
        *(p.read_bytes() for p in sorted((ROOT / "studies/hosts").glob("*.yaml"))),
    ]
    return {
        "study": Target(corpus=[small.encode()], mutate=text_input, run=study, share=25),
        "every study": Target(corpus=every, mutate=text_input, run=read, share=5),
        "host profile": Target(corpus=hosts, mutate=text_input, run=profile, share=25),
    }


#: As little of a study as there is: profiles stand in it.
MINIMAL = WIRELESS[: WIRELESS.index("sweep:")] + "sweep: {}\n"


def _in_file(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    def run(content: bytes) -> None:
        path.write_bytes(content)
        read(path)

    path.parent.mkdir(parents=True, exist_ok=True)
    return run


def _numbering(cell: Cell, model: NumberedLoss) -> Cell:
    """Return a cell whose bottleneck numbers data packets to lose them."""
    return with_bottleneck(cell, loss=Loss(model=model, loss_frac=0.01))


def _numbered_drops(cell: Cell, path: Path) -> list[Check]:
    """Read what was dropped by number, and compare it as far as it goes without captures."""
    lists = packet_evidence.numbered_drops(path.parents[1], cell)
    return equal_drops.checks(cell, lists)


def _raw_files(place: Path) -> dict[str, Target]:
    """Return readers of single raw files, without what is made of them together."""
    cell = from_dict(value("lab-cell-7.3/cell.json"))
    raw = DATA / "lab-cell-7.3" / "raw"
    tcp, sctp = cell.flows[0], cell.flows[1]
    numbered = {model: _numbering(cell, model) for model in NUMBERED_LOSSES}

    def file(
        name: str, parse_value: Callable[[Any], object], corpus: list[Path], share: int
    ) -> Target:
        return Target(
            corpus=[path.read_bytes() for path in corpus],
            mutate=json_input,
            share=share,
            run=_in_file(place / name, lambda path: read_as(path, parse_value)),
        )

    def lines(
        name: str, read: Callable[[str, str], object], corpus: list[Path], share: int
    ) -> Target:
        return Target(
            corpus=[path.read_bytes() for path in corpus],
            mutate=lines_input,
            share=share,
            run=_in_file(place / name, lambda path: read(read_text(path), str(path))),
        )

    probes = DATA / "probes-0.1.0"
    places = parse_places(json.loads((DATA / "trace-7.3" / "places.json").read_text()))
    end = json.loads((raw / "qdiscs.json").read_text())
    return {
        "epoch.json": file("epoch.json", lambda v: whole(v["epoch_ns"]), [raw / "epoch.json"], 30),
        "counters.json": file(
            "counters.json",
            lambda rows: [counters(rows, f.id) for f in cell.flows],
            [raw / "counters.json", probes / "counters.json"],
            40,
        ),
        "path.json": file(
            "path.json", lambda v: packet_balance.stretches(v, cell), [raw / "path.json"], 40
        ),
        "qdiscs.json": file(
            "qdiscs.json",
            write.qdisc_rows,
            [raw / "qdiscs.json", DATA / "iproute2-6.15" / "qdisc-statistics.json"],
            40,
        ),
        "qdiscs-start.json": file(
            "qdiscs-start.json",
            lambda v: packet_balance.passages(packet_balance.roots(v), end),
            [raw / "qdiscs-start.json"],
            30,
        ),
        "qdiscs of hooks": file("hooks.json", numbered_drops.hook_drops, [raw / "qdiscs.json"], 20),
        **{
            f"numbered_drops.json, {model}": Target(
                corpus=[json.dumps(NUMBERED).encode()],
                mutate=json_input,
                share=30,
                run=_in_file(
                    place / model / "raw" / "numbered_drops.json",
                    functools.partial(_numbered_drops, losing),
                ),
            )
            for model, losing in numbered.items()
        },
        "points.json": file(
            "points.json", packet_evidence._taps, [raw / "pcap" / "points.json"], 30
        ),
        "places.json": file("places.json", parse_places, [DATA / "trace-7.3" / "places.json"], 40),
        "ledger.json": file("ledger.json", disagreements, [probes / "ledger.json"], 40),
        "calibration.json": file(
            "calibration.json",
            run_cell._measurements,
            [_calibration(place)],
            30,
        ),
        "queue.jsonl": lines(
            "queue.jsonl",
            lambda t, w: queue(t, places, 0, w),
            [DATA / "trace-7.3" / "queue.jsonl"],
            15,
        ),
        "T.receiver": lines(
            "T.receiver.jsonl",
            lambda t, w: probe_received(t, tcp, 0, w),
            [raw / "flows" / "T.receiver.jsonl", probes / "tcp_recv.jsonl"],
            50,
        ),
        "S.receiver": lines(
            "S.receiver.jsonl",
            lambda t, w: probe_received(t, sctp, 0, w),
            [raw / "flows" / "S.receiver.jsonl", probes / "sctp_recv.jsonl"],
            30,
        ),
        "T.sender": lines(
            "T.sender.jsonl",
            lambda t, w: (probe_sent(t, tcp, w), probe_mss_bytes(t, w)),
            [raw / "flows" / "T.sender.jsonl", probes / "tcp_send.jsonl"],
            50,
        ),
        "S.sender": lines(
            "S.sender.jsonl",
            lambda t, w: probe_sent(t, sctp, w),
            [raw / "flows" / "S.sender.jsonl", probes / "sctp_send.jsonl"],
            30,
        ),
        "iperf3": Target(
            corpus=[
                (DATA / "iperf3-3.18" / name).read_bytes()
                for name in ("server.json", "refused.json")
            ],
            mutate=json_input,
            share=30,
            run=lambda content: iperf3_received(_text(content), tcp, "T.receiver.jsonl"),
        ),
        "packet log": Target(
            corpus=[path.read_bytes() for path in sorted(probes.glob("*.tsv"))],
            mutate=text_input,
            share=20,
            run=lambda content: calibration_checks.read_log(_text(content), "log.tsv"),
        ),
    }


NUMBERED = [
    {
        "flow": flow,
        "node": "r2",
        "device": "ifb0",
        "listed_pkts": [1, 5],
        "seen_pkts": 300,
        "dropped_pkts": 2,
        "drawn_dropped_pkts": 0,
        "together_seen_pkts": 596,
        "together_drawn_pkts": 3,
    }
    for flow in ("T", "S")
]


def _text(content: bytes) -> str:
    return content.decode(errors="replace")


def _calibration(place: Path) -> Path:
    write_calibrated(place / "recorded", wireless_cell(purpose="calibrate"))
    return place / "recorded" / "raw" / "calibration.json"


def _messages(cell: Cell, kind: Any, content: bytes) -> None:
    """Read one end's records and join them to the other's, of which there are three."""
    records = messages.parse(content, kind, "S.messages")
    sent, delivered = (
        records if kind == one else messages.parse(b"\0" * 3 * one.itemsize, one, "other")
        for one in (messages.SENT, messages.DELIVERED)
    )
    both = {cell.flows[1].id: messages.Recorded(sent, delivered)}
    message_rows(cell, both, 0, None)
    received = Received(
        window_bytes=0, total_bytes=0, first_byte_s=None, last_byte_s=None, intervals=()
    )
    message_checks.checks(cell, both, {cell.flows[1].id: received}, {cell.flows[1].id: {}})


def _binary() -> dict[str, Target]:
    cell = from_dict(value("lab-cell-7.3/cell.json"))
    pcap = DATA / "lab-cell-7.3" / "raw" / "pcap"
    taps = packet_evidence._taps(json.loads((pcap / "points.json").read_text()))
    captures = [(pcap / f"{name}.pcap").read_bytes() for name in ("r1", "r2")]
    found = {}

    def capture(content: bytes) -> None:
        records, _ = parse(content, "r1.pcap")
        parse_packets(merged([records]), taps, cell.flows, 0)

    found["pcap"] = Target(
        corpus=captures, mutate=bytes_input, share=30, run=lambda content: parse(content, "r1.pcap")
    )
    small = [capture_[: 24 + 40 * 100] for capture_ in captures]
    found["packets"] = Target(corpus=[*captures, *small], mutate=bytes_input, share=12, run=capture)
    for side, kind in (("sender", messages.SENT), ("receiver", messages.DELIVERED)):
        found[f"messages of the {side}"] = Target(
            corpus=[
                (DATA / "messages-7.3" / f"{flow}.{side}.messages").read_bytes() for flow in "SU"
            ],
            mutate=bytes_input,
            run=functools.partial(_messages, cell, kind),
            share=12,
        )
    for kernel in ("7.3", "6.12"):
        folder = DATA / f"trace-{kernel}"
        form = parse_formats(json.loads((folder / "formats.json").read_text()), "formats.json")
        packed = (folder / "pages.bin.gz").read_bytes()
        pages = gzip.decompress(packed)[: 4096 * 4]

        def trace(content: bytes, form: Any = form) -> None:
            made = parse_pages(content, form, "pages.bin")
            congestion(made, cell.flows, 0, {"T": 1448})
            drops(made, [], 0, set())

        def formats(content: bytes, pages: bytes = pages) -> None:
            made = parse_formats(json.loads(_text(content)), "formats.json")
            parse_pages(pages, made, "pages.bin")

        found |= {
            f"trace pages {kernel}": Target(
                corpus=[pages], mutate=bytes_input, run=trace, share=10
            ),
            f"trace gzip {kernel}": Target(
                corpus=[packed[:2000], packed],
                mutate=bytes_input,
                share=12,
                run=lambda content: unpacked(content, "pages.bin.gz"),
            ),
            f"trace formats {kernel}": Target(
                corpus=[(folder / "formats.json").read_bytes()],
                mutate=json_input,
                share=12,
                run=functools.partial(_if_json, formats),
            ),
        }
        folder = DATA / f"sockets-{kernel}"
        tick_ns, sources = parse_sources(
            json.loads((folder / "sockets.json").read_text()), "sockets.json"
        )
        frames = gzip.decompress((folder / "sockets.bin.gz").read_bytes())
        frames = frames[
            : next(a.offset for a in parse_frames(frames, sources, "") if a.offset > 20_000)
            - FRAME.size
        ]

        def sockets(content: bytes, tick_ns: int = tick_ns, sources: Any = sources) -> None:
            answers = tuple(parse_frames(content, sources, "sockets.bin"))
            made = Samples(tick_ns=tick_ns, answers=answers, where="sockets.bin")
            sockets_table(made, cell.flows, 0)
            protocol_table(made, cell.flows, 0)

        def described(content: bytes, frames: bytes = frames) -> None:
            _, by_number = read_value(content, lambda v: parse_sources(v, "sockets.json"))
            tuple(parse_frames(frames, by_number, "sockets.bin"))

        found |= {
            f"sockets {kernel}": Target(corpus=[frames], mutate=bytes_input, run=sockets, share=8),
            f"sockets.json {kernel}": Target(
                corpus=[(folder / "sockets.json").read_bytes()],
                mutate=json_input,
                run=described,
                share=20,
            ),
        }
    return found


def read_value(content: bytes, parse_value: Callable[[Any], Any]) -> Any:
    """Return what a parser makes of a JSON file of these bytes."""
    path = Path(f"/dev/shm/gt-fuzz-{os.getpid()}.json")
    path.write_bytes(content)
    try:
        return read_as(path, parse_value)
    finally:
        path.unlink()


def _if_json(run: Callable[[bytes], object], content: bytes) -> None:
    read_value(content, lambda _: run(content))


def _cells(place: Path) -> dict[str, Target]:
    """Return what parses a whole cell of which one file is another, as the run and parse do."""
    shutil.copytree(DATA / "lab-cell-7.3", place)
    write_telemetry(place)
    cell: Cell = from_dict(value("lab-cell-7.3/cell.json"))
    collect = dataclasses.replace(cell.collect, telemetry=True, queue_s=1.0)
    cell = dataclasses.replace(cell, collect=collect)
    names = [
        str(path.relative_to(place)) for path in sorted(place.rglob("raw/**/*")) if path.is_file()
    ]
    wholes = [(place / name).read_bytes() for name in names]

    def mutate(rng: random.Random, _: Sequence[bytes]) -> bytes:
        number = rng.randrange(len(names))
        kinds: dict[str, Mutate] = {".json": json_input, "jsonl": lines_input}
        how = kinds.get(names[number][-5:], bytes_input)
        return bytes([number]) + how(rng, [wholes[number]])

    def run(content: bytes) -> None:
        path, old = place / names[content[0] % len(names)], wholes[content[0] % len(names)]
        path.write_bytes(content[1:])
        try:
            write.write_tables(place, cell)
        finally:
            path.write_bytes(old)

    calibrated = place.with_name("calibrated")
    calibrating = wireless_cell(purpose="calibrate")
    write_calibrated(calibrated, calibrating)
    verify = (calibrated / "verify.json").read_bytes()
    source = calibrated / "raw" / "calibration.json"
    recorded = source.read_bytes()

    def calibration(content: bytes) -> None:
        (calibrated / "verify.json").write_bytes(verify)
        source.write_bytes(content)
        run_cell.check_calibration(calibrating, calibrated, virtual_lab.PROPERTIES.tolerances)

    return {
        "a cell's file": Target(corpus=[b""], mutate=mutate, run=run, share=4),
        "calibration": Target(corpus=[recorded], mutate=json_input, run=calibration, share=4),
    }


def _runs(place: Path) -> dict[str, Target]:
    """Return readers of a run's own files, and of finished cells' as a report takes them."""
    run = build_run(place / "r", losses=(0.01,), seeds=1)
    cell = wireless_cell()
    listed = [{"id": cell_id(cell), "cell": to_dict(cell)}]
    (run / run_folder.CELLS).write_text(json_text(listed))
    failures = [{"rule": "cell-failed", "where": "cells/x", "text": "no"}]
    (run / run_folder.WARNINGS).write_text(json_text(failures))
    (run / run_folder.PROVENANCE).write_text(json_text(new_runs.provenance(_NOW, ["groundtruth"])))
    folder = only_cell(run)
    digest_of = dict.fromkeys(run_folder.COVERED, "a" * 64)
    (run / run_folder.MANIFEST).write_text(manifest.Manifest(sha256=digest_of).text())
    (folder / run_folder.DONE).write_text(digests.done_text(digests.of_cell(folder)))

    def of(path: Path, read: Callable[[], object]) -> Callable[[bytes], object]:
        whole_ = path.read_bytes()

        def act(content: bytes) -> None:
            path.write_bytes(content)
            try:
                read()
            finally:
                path.write_bytes(whole_)

        return act

    def summary() -> None:
        found = summarise(read_run(run))
        summary_json(found)
        summary_csv(found)

    def target(path: Path, read: Callable[[], object], share: int) -> Target:
        return Target(
            corpus=[path.read_bytes()], mutate=json_input, run=of(path, read), share=share
        )

    def table(content: bytes) -> None:
        path = folder / run_folder.FLOWS_TABLE
        of(path, lambda: digests.changed(run, [folder.name]) or read_run(run))(content)

    return {
        "cells.json": target(run / run_folder.CELLS, lambda: saved_runs.load_candidates(run), 25),
        "plan.json": target(run / run_folder.PLAN, lambda: saved_runs.planned_ids(run), 30),
        "plan.json of reports": target(run / run_folder.PLAN, lambda: read_run(run), 8),
        "resolved.json": target(run / run_folder.RESOLVED, lambda: read_study(run), 20),
        "resolved.json to summary": target(run / run_folder.RESOLVED, summary, 8),
        "warnings.json": target(run / run_folder.WARNINGS, lambda: read_run(run), 5),
        "provenance.json": target(run / run_folder.PROVENANCE, lambda: read_run(run), 5),
        "manifest.json": target(run / run_folder.MANIFEST, lambda: manifest.check(run), 15),
        "DONE": target(folder / run_folder.DONE, lambda: digests.read_done(folder), 30),
        "cell.json": target(folder / run_folder.CELL, lambda: read_run(run), 4),
        "env.json": target(folder / run_folder.ENV, lambda: read_run(run), 4),
        "verify.json": target(folder / run_folder.VERIFY, lambda: read_run(run), 4),
        "ledger.json of reports": target(folder / run_folder.LEDGER, lambda: read_run(run), 4),
        "tables": Target(
            corpus=[(folder / run_folder.FLOWS_TABLE).read_bytes()],
            mutate=bytes_input,
            run=table,
            share=6,
        ),
    }


_NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def _sets(place: Path) -> dict[str, Target]:
    run = build_run(place / "one", losses=(0.01,), seeds=1)
    from reports.page.write import write_report

    write_report(run, library=lambda: "")
    (place / run_folder.SET).write_text(json_text({"schema": 1, "studies": ["one"]}))

    def names(content: bytes) -> None:
        (place / "names.json").write_bytes(content)
        study_sets._read(place / "names.json")

    def section(content: bytes) -> None:
        (place / "section.json").write_bytes(content)
        json_file.read(SECTION, place / "section.json", schema=SCHEMA)

    def summary(content: bytes) -> None:
        path = run / run_folder.SUMMARY_JSON
        path.write_bytes(content)
        write_set(place, [run], lambda: "")

    def bisection(content: bytes) -> None:
        state = json_file.parse(BISECTION, _text(content), "bisect.json")
        bisected.attachment(state)

    return {
        "bisect.json": Target(
            corpus=[json_file.text_of(BISECTION, FOUND).encode()],
            mutate=json_input,
            run=bisection,
            share=15,
        ),
        "set.json": Target(
            corpus=[study_sets._text(["one"], then).encode() for then in ("", "explain")],
            mutate=json_input,
            run=names,
            share=20,
        ),
        "section.json": Target(
            corpus=[(run / run_folder.REPORT_SECTION).read_bytes()],
            mutate=json_input,
            run=section,
            share=15,
        ),
        "summary.json": Target(
            corpus=[(run / run_folder.SUMMARY_JSON).read_bytes()],
            mutate=json_input,
            run=summary,
            share=2,
        ),
    }


def _guests(place: Path) -> dict[str, Target]:
    """Return what takes over a guest's folder, and reads its last words."""
    place.mkdir(parents=True)
    cell = wireless_cell()
    names = [
        *accept.expected(cell),
        "tables",
        "DONE",
        ".DONE",
        "timing.json",
        "raw",
        "raw/flows",
        "x",
        "raw/x/y",
    ]

    def message(content: bytes) -> None:
        (place / run_folder.ERROR).write_bytes(content)
        accept.error_message(place)

    def tree(content: bytes) -> None:
        folder = place / "cell"
        shutil.rmtree(folder, ignore_errors=True)
        guest = folder / run_folder.GUEST
        guest.mkdir(parents=True)
        for what, which in zip(content[::2], content[1::2], strict=False):
            path = guest / names[which % len(names)]
            if path.parent.exists() or what & 16:
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    _make(path, what % 8, place / "cell")
                except OSError:
                    continue
        accept.take(guest, folder, cell)

    def trees(rng: random.Random, _: Sequence[bytes]) -> bytes:
        kinds = [16] * 8 + list(range(24))
        return bytes(
            x for _ in range(rng.randint(0, 12)) for x in (rng.choice(kinds), rng.randrange(256))
        )

    return {
        "error.json": Target(
            corpus=[b'{"kind": "RunError", "message": "src1: tc failed"}\n'],
            mutate=json_input,
            run=message,
            share=20,
        ),
        "a guest's folder": Target(corpus=[b""], mutate=trees, run=tree, share=15),
    }


def _make(path: Path, kind: int, outside: Path) -> None:
    if kind == 0:
        path.touch()
    elif kind == 1:
        path.mkdir()
    elif kind == 2:
        path.symlink_to(outside)
    elif kind == 3:
        os.mkfifo(path)
    elif kind == 4:
        path.touch()
        os.truncate(path, 4 << 40)
    elif kind == 5:
        path.touch()
        path.with_name("second").hardlink_to(path)
    elif kind == 6:
        path.symlink_to(path.name)
    else:
        path.touch(mode=0)
