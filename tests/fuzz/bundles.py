"""Bundles that somebody sent, as ``verify`` reads them before anything of them is run."""

from __future__ import annotations

import contextlib
import gzip
import random
import shutil
import tarfile
import threading
from collections.abc import Sequence
from pathlib import Path

from model import plain_files, run_folder
from reports.store.run import read_run
from reports.verdict.files import summary_json
from reports.verdict.summary import summarise
from testbed.bundles import archive, make, received
from testbed.campaign import again, new_runs, study_sets
from testbed.campaign.run_cell import execute
from testbed.planning.findings import find
from testbed.planning.plan import make_plan
from testbed.points.load_study import parse_study
from tests.fuzz import mutate
from tests.fuzz.target import Target
from tests.support.fake_lab import FakeLab
from tests.support.runs import repacking
from tests.support.runs.one_point import STUDY
from tests.support.study_file import HOSTS

#: What a header's kind may be: files, links, devices, folders, longer names, other headers.
KINDS = b"0\x0012345678xgLKSVDM"
NAMES = (
    b"/etc/passwd", b"../../x", b"t/../../x", b"t/run", b"t/", b"", b"t//x", b"t/" + b"x" * 97,
    b"t/\xff", b"t/\n", b"u/x", b"t/run/study.yaml", b"t/SHA256SUMS",
)  # fmt: skip
SIZES = (b"77777777777\0", b"\x80" + b"\0" * 10 + b"\1", b"\xff" * 12, b"-0000000001\0", b"x" * 12)


#: Inputs are the same each time: no date, no machine.
STARTED = {"schema": 1, "started": "2026-01-01T00:00:00+00:00", "command": ["groundtruth"]}


def made(place: Path) -> Path:
    """Return the folder of an unpacked bundle of a run with two finished cells."""
    study = parse_study(STUDY, hosts_folders=[HOSTS])
    lab, seeds = FakeLab(), study.settings.seeds[:1]
    plan = make_plan(study, seeds=seeds, lab={}, of_kernel=lab.describe, sensitivity=False)
    run = place / "t"
    run.mkdir()
    new_runs.fill(run, plan, find(study, seeds=seeds), STARTED)
    for planned in plan.cells:
        folder = run_folder.cell_folder(run, planned.id)
        execute(planned.cell, folder, lab, threading.Event())
    (run / run_folder.SUMMARY_JSON).write_text(summary_json(summarise(read_run(run))))
    plain_files.write_text(run / run_folder.REPORT_HTML, "<title>t</title>\n")
    choices = make.Choices(file_name="t.tar.gz", version="0", license="GPL-2.0-or-later")
    file = place / "t.tar.gz"
    file.write_bytes(b"".join(make.pieces(study_sets.find(str(run)), choices)))
    (place / "whole").mkdir()
    return archive.unpack(file, place / "whole")


def bundles(place: Path) -> dict[str, Target]:
    """Return what reads bundles: as bytes, as archives, and with one file of theirs another."""
    place.mkdir(parents=True)
    whole = made(place)
    names = [name for name, _ in plain_files.files(whole)]
    content = repacking.packed(whole)

    def read(content: bytes) -> None:
        into = place / "into"
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir()
        (place / "b.tar.gz").write_bytes(content)
        try:
            got = received.receive(place / "b.tar.gz", into)
            found = study_sets.find(str(got.run))
            for run in found.runs:
                again.choose(received.checked(run, evidence=got.evidence).done, 3)
        finally:
            # Nothing but plain files below the one folder, whatever the archive said.
            assert all(path.is_relative_to(into) for _, path in plain_files.files(into))

    def changed(content: bytes) -> None:
        """Read a bundle of which one file is another, and all digests as if it had been so."""
        folder = place / "changed" / whole.name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        path = folder / names[content[0] % len(names)]
        path.write_bytes(content[2:])
        if content[1] % 4:
            with contextlib.suppress(ValueError, OSError, LookupError, TypeError):
                repacking.believed(folder / "run")
        described = bool(content[1] // 4)
        try:
            packed = repacking.packed(folder, sums=True, described=described)
        except (ValueError, LookupError, TypeError, AttributeError):
            packed = repacking.packed(folder, sums=True, described=False)
        read(packed)

    def mutate_file(rng: random.Random, _: Sequence[bytes]) -> bytes:
        number = rng.randrange(len(names))
        kinds = {".json": mutate.json_input, ".yaml": mutate.text_input, "SUMS": mutate.text_input}
        how = kinds.get(names[number][-5:], kinds.get(names[number][-4:], mutate.bytes_input))
        old = (whole / names[number]).read_bytes()
        return bytes([number, rng.randrange(16)]) + how(rng, [old])

    return {
        "bundle": Target(corpus=[content], mutate=mutate.bytes_input, run=read, share=5),
        "bundle's archive": Target(corpus=[content], mutate=archive_input, run=read, share=10),
        "bundle's file": Target(corpus=[b""], mutate=mutate_file, run=changed, share=10),
    }


def archive_input(rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    """Return an archive with entries of other names, kinds and sizes, twice, or moved."""
    tar = bytearray(gzip.decompress(rng.choice(corpus)))
    block = tarfile.BLOCKSIZE
    starts, at = [], 0
    while any(tar[at : at + block]):
        info = tarfile.TarInfo.frombuf(tar[at : at + block], "utf-8", "strict")
        starts.append(at)
        at += block + -(-info.size // block) * block
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        one, other = rng.choice(starts), rng.choice(starts)
        header = bytearray(tar[one : one + block])
        chance = rng.random()
        if chance < 0.2:
            header[:100] = rng.choice((*NAMES, tar[other : other + 100])).ljust(100, b"\0")[:100]
        elif chance < 0.4:
            header[156:157] = rng.choice([KINDS[i : i + 1] for i in range(len(KINDS))])
            header[157:257] = rng.choice(NAMES).ljust(100, b"\0")
        elif chance < 0.6:
            header[124:136] = rng.choice((*SIZES, tar[other + 124 : other + 136]))
        elif chance < 0.7:
            header[345:500] = rng.choice(NAMES).ljust(155, b"\0")
        elif chance < 0.8:
            header = bytearray(mutate.of_bytes(rng, bytes(header)).ljust(block, b"\0")[:block])
        elif chance < 0.9:
            header = bytearray(tar[other : other + block])
        else:
            del tar[at - rng.randrange(at) :]
            break
        header[148:156] = b"%06o\0 " % (sum(header[:148]) + 256 + sum(header[156:]))
        tar[one : one + block] = header
    return gzip.compress(bytes(tar), rng.choice((1, 9)), mtime=0)
