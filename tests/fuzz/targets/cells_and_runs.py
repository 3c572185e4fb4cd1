"""Whole cells of which one file is another, and a run's own files."""

from __future__ import annotations

import dataclasses
import datetime
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from collectors.tables import write
from model import run_folder
from model.cell import Cell, cell_id, from_dict, to_dict
from reports.store.run import read_run, read_study
from reports.verdict.files import summary_csv, summary_json
from reports.verdict.summary import summarise
from testbed.campaign import (
    digests,
    manifest,
    new_runs,
    run_cell,
    saved_runs,
)
from testbed.campaign.run_cell import json_text
from testbed.labs.virtual import virtual_lab
from tests.fuzz.mutate import Mutate, bytes_input, json_input, lines_input
from tests.fuzz.target import Target
from tests.support.fake_lab import write_calibrated, write_telemetry
from tests.support.recorded import DATA, value, wireless_cell
from tests.support.runs.report_run import build_run, only_cell

_NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def cells(place: Path) -> dict[str, Target]:
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


def runs(place: Path) -> dict[str, Target]:
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
