"""Sets of runs, and what a guest leaves in its folder."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

from model import run_folder
from model.run_files import json_file
from model.run_files.comparing.bisection import BISECTION
from reports.explanation import bisected
from reports.page.section import SCHEMA, SECTION
from reports.page.write_set import write_set
from testbed.campaign import (
    study_sets,
)
from testbed.campaign.run_cell import json_text
from testbed.labs.contract import accept
from tests.fuzz.mutate import json_input
from tests.fuzz.target import Target, text
from tests.support.recorded import wireless_cell
from tests.support.runs.bisection import FOUND
from tests.support.runs.report_run import build_run


def sets(place: Path) -> dict[str, Target]:
    """Return the readers of what a set of runs keeps."""
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
        state = json_file.parse(BISECTION, text(content), "bisect.json")
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


def guests(place: Path) -> dict[str, Target]:
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
