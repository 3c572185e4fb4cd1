"""What users give, and what ns-2 and packetdrill left: studies, host profiles, scripts, traces."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

from model import run_folder
from simulators.ns2 import cell_files
from testbed.packetdrill import kernel as scripts_kernel
from testbed.packetdrill import results, scripts
from testbed.planning import plan
from testbed.planning.findings import find
from testbed.planning.resolved import resolved_json
from testbed.points.load_study import parse_study
from tests.fuzz.mutate import bytes_input, json_input, text_input
from tests.fuzz.target import Target
from tests.support.simulators.ns2 import RECORDED as RECORDED_NS2
from tests.support.simulators.ns2 import leave as leave_ns2
from tests.support.simulators.ns2 import ns2_cell
from tests.support.simulators.ns2 import trace_text as ns2_trace
from tests.support.simulators.ns2 import windows_text as ns2_windows
from tests.support.study_file import HOSTS, PAPER, WIRELESS

ROOT = Path(__file__).resolve().parents[3]

#: As little of a study as there is: profiles stand in it.
MINIMAL = WIRELESS[: WIRELESS.index("sweep:")] + "sweep: {}\n"


def studies() -> dict[str, Target]:
    """Return the readers of study files and host profiles."""
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


def packetdrill(place: Path) -> dict[str, Target]:
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


def ns2(place: Path) -> dict[str, Target]:
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
