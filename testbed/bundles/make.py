"""A bundle of a run or a set: all of its files, what describes them, and the archive of both.

    <run>/ ro-crate-metadata.json README.md CITATION.cff SHA256SUMS bundle.json
           hosts/<profile>.yaml kernels/<kernel>.config run/...

Invariant: it is made of the run and of this program's version alone, so it is the same each time.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from model import run_folder
from model.words import how_many
from testbed.bundles import archive, collect, costs, crate
from testbed.bundles.archive import Entry, entry_of
from testbed.bundles.collect import CollectedRun
from testbed.campaign.new_runs import PROJECT
from testbed.campaign.study_sets import Found

SCHEMA = 1
BUNDLE, SUMS, README, CITATION = "bundle.json", "SHA256SUMS", "README.md", "CITATION.cff"
#: Where a run's or set's own files are.
RUN = "run/"
#: What is said of the files that people look for first.
ABOUT = {
    run_folder.STUDY: "The study as it was run",
    run_folder.MANIFEST: "Digests of the run's own files, written by the run",
    run_folder.PROVENANCE: "Who started the run, when and with what",
    run_folder.LAB: "Packages of the lab, and its kernels' configurations",
    run_folder.SUMMARY_JSON: "Verdicts on the study's claims, and every metric",
    run_folder.REPORT_HTML: "The report, a page for any browser",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Choices:
    """How a bundle is made: as what file, with evidence or not, unfinished cells allowed or not."""

    file_name: str
    version: str
    license: str
    evidence: bool = False
    unfinished: bool = False


def entries(found: Found, choices: Choices) -> list[Entry]:
    """Return all files of a bundle, in order.

    Raises:
        DisagreementError, StudyError, ParseError: as :func:`collect.collect`.
    """
    runs = collect.collect(found, unfinished=choices.unfinished)
    if choices.evidence:
        collect.check_evidence(runs)
    place = {run.name: f"{RUN}{run.name}/" if found.is_set else RUN for run in runs}
    made = [
        entry_of(name, path, _about(name)) for name, path in _files(found, runs, place, choices)
    ]
    made += [entry_of(name, text.encode(), about) for name, text, about in collect.texts(runs)]
    record = _record(found, runs, choices)
    citation = (PROJECT / CITATION).read_bytes()
    made += [
        entry_of(BUNDLE, _json(record), "What this bundle is, and the commands behind it"),
        entry_of(CITATION, citation, "How to cite the program"),
        entry_of(README, _readme(found, record).encode(), "What is here, and how to check it"),
    ]
    made.sort(key=lambda one: one.name.encode())
    described = crate.Described(
        title=_title(found, runs), words=_words(runs, choices), version=choices.version,
        license=choices.license, entries=made, runs=runs, place=place,
    )  # fmt: skip
    made.append(entry_of(crate.METADATA, crate.metadata(described)))
    return [*made, entry_of(SUMS, sums(made).encode())]


def pieces(found: Found, choices: Choices) -> Iterator[bytes]:
    """Yield a bundle, piece by piece; raises as :func:`entries`, and as :func:`archive.pieces`."""
    return archive.pieces(entries(found, choices), found.folder.name)


def sums(made: Iterable[Entry]) -> str:
    """Return the digests of files as ``sha256sum --check`` reads them."""
    listed = sorted(made, key=lambda one: one.name.encode())
    return "".join(f"{one.sha256}  {one.name}\n" for one in listed)


def _files(
    found: Found, runs: Sequence[CollectedRun], place: dict[str, str], choices: Choices
) -> Iterator[tuple[str, Path]]:
    if found.is_set:
        for name, path in collect.set_files(found):
            yield f"{RUN}{name}", path
    for run in runs:
        for name, path in collect.run_files(run, evidence=choices.evidence):
            yield f"{place[run.name]}{name}", path


def _about(name: str) -> str:
    known = (words for end, words in ABOUT.items() if name.endswith(f"/{end}"))
    return "" if "/cells/" in name else next(known, "")


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


def _record(found: Found, runs: Sequence[CollectedRun], choices: Choices) -> dict[str, Any]:
    """Return what ``bundle.json`` says."""
    made_by = [
        (costs.command_line(run.provenance), costs.of_cells(run.folder, run.finished))
        for run in runs
    ]
    return {
        "schema": SCHEMA,
        "program": choices.version,
        "folder": found.folder.name,
        "set": found.is_set,
        "evidence": choices.evidence,
        "unfinished": {run.name: list(run.unfinished) for run in runs if run.unfinished},
        "kernels": [
            dataclasses.asdict(one)
            for one in dict.fromkeys(kernel for run in runs for kernel in run.kernels())
        ],
        "commands": costs.commands(made_by, found.folder.name, choices.file_name),
    }


def _title(found: Found, runs: Sequence[CollectedRun]) -> str:
    if not found.is_set:
        return runs[0].summary.title
    return f"{len(runs)} studies run by Groundtruth: {', '.join(run.name for run in runs)}"


def _words(runs: Sequence[CollectedRun], choices: Choices) -> str:
    """Return in words what is in a bundle."""
    done = sum(len(run.finished) for run in runs)
    claims = sum(len(run.summary.verdicts) for run in runs)
    words = [
        f"{how_many(done, 'cell')} of published simulations, run again on the Linux kernel.",
        f"With verdicts on {how_many(claims, 'claim')}.",
        "With raw files and captures."
        if choices.evidence
        else "Without raw recordings and captures; their digests are in each cell's DONE.",
    ]
    if left := sum(len(run.unfinished) for run in runs):
        words.append(f"{how_many(left, 'cell')} not finished, and missing here.")
    return " ".join(words)


_TEXT = """# {folder}

A run of Groundtruth, as one file. `run/report/index.html` is its report, `run/summary.json` has
every number and verdict, `run/cells/` the tables they are made of; `ro-crate-metadata.json` says
what each file is (RO-Crate 1.1).

Check that all is as it was packed: `sha256sum --check SHA256SUMS`.
Repeat a part of it on another machine: `{verify}`.

{evidence}
{unfinished}
| command | cells | minutes in the lab | processor minutes | memory of the largest process |
|---|---|---|---|---|
{rows}

Minutes are those of one core: of cells that run side by side, together.
"""
_EVIDENCE = {
    True: "Raw files and captures are here: `run/` is a whole run folder, which every command"
    " takes, `groundtruth report` and `export` among them.",
    False: "Raw recordings and captures are left out; the digest of each is in its cell's `DONE`,"
    " and repeating a cell brings them back to the byte.",
}


def _readme(found: Found, record: dict[str, Any]) -> str:
    left = sum(len(ids) for ids in record["unfinished"].values())
    missing = f"Not finished, and not here: {how_many(left, 'cell')} (`bundle.json`).\n"
    return _TEXT.format(
        folder=found.folder.name, verify=record["commands"][-1]["command"],
        evidence=_EVIDENCE[record["evidence"]], unfinished=missing if left else "",
        rows="\n".join(map(_row, record["commands"])),
    )  # fmt: skip


def _row(one: dict[str, Any]) -> str:
    peak = one["peak_memory_bytes"]
    fields = (
        f"`{one['command']}`" if one["command"] else "not told",
        _shown(one["cells"]), _shown(one["wall_minutes"]), _shown(one["processor_minutes"]),
        f"{peak / 1e6:.0f} MB" if peak else "not measured",
    )  # fmt: skip
    return f"| {' | '.join(fields)} |"


def _shown(value: float | None) -> str:
    return "not measured" if value is None else f"{value:g}"
