"""``ro-crate-metadata.json``: what is in a bundle and how it came about, as RO-Crate has it. Pure.

Invariants: every file is an entity with its digest and size, reached from the root by ``hasPart``;
all that is said is taken from the run, so equal runs have equal descriptions.
Specification: https://w3id.org/ro/crate/1.1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote, unquote

from model.errors import ParseError
from testbed.bundles.archive import Entry
from testbed.bundles.collect import CollectedRun, Kernel

METADATA = "ro-crate-metadata.json"
SPECIFICATION = "https://w3id.org/ro/crate/1.1"
#: Terms of schema.org that the context of 1.1 does not have.
TERMS = {name: f"https://schema.org/{name}" for name in ("creditText", "sha256")}
ROOT_ID, PROGRAM_ID = "./", "#groundtruth"
#: By the ends of names; what is not here has no format that others know.
FORMATS = {
    ".json": "application/json", ".jsonl": "application/jsonl", ".yaml": "application/yaml",
    ".html": "text/html", ".csv": "text/csv", ".md": "text/markdown", ".tex": "application/x-tex",
    ".svg": "image/svg+xml", ".pdf": "application/pdf", ".txt": "text/plain", ".gz":
    "application/gzip", ".pcap": "application/vnd.tcpdump.pcap", ".config": "text/plain",
    ".parquet": "application/vnd.apache.parquet", ".cff": "application/yaml",
    ".tsv": "text/tab-separated-values",
}  # fmt: skip
#: A size in bytes, as a description has it.
_SIZE = re.compile(r"[0-9]{1,18}", re.A)
COMPLETED, FAILED = (f"http://schema.org/{word}ActionStatus" for word in ("Completed", "Failed"))

Entity = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Described:
    """What a description is made of; ``place`` is where a run's files are, by its name."""

    title: str
    words: str
    version: str
    license: str
    entries: Sequence[Entry]
    runs: Sequence[CollectedRun]
    place: Mapping[str, str]


def metadata(of: Described) -> bytes:
    """Return the text of the description."""
    graph = [
        {
            "@id": METADATA, "@type": "CreativeWork", "about": _ref(ROOT_ID),
            "conformsTo": _ref(SPECIFICATION),
        },
        _root(of),
        *_folders(of.entries),
        *map(_file, of.entries),
        *_programs(of),
        *(_action(run, of) for run in of.runs),
        *_articles(of.runs).values(),
        {
            "@id": _license_id(of.license), "@type": "CreativeWork", "name": of.license,
            "description": f"The licence {of.license}, by its SPDX identifier.",
        },
    ]  # fmt: skip
    content = {"@context": [f"{SPECIFICATION}/context", TERMS], "@graph": graph}
    return (json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


@dataclass(frozen=True, kw_only=True)
class What:
    """A file's content, as far as a description tells it."""

    sha256: str
    size_bytes: int


def described(text: str, where: str) -> dict[str, What]:
    """Return what a description says of each file, by name; of a file told twice, the last.

    Raises:
        ParseError: it is no description as one is written here.
    """
    found: dict[str, What] = {}
    try:
        for entity in json.loads(text)["@graph"]:
            if entity["@type"] == "File":
                size = str(entity["contentSize"])
                if not _SIZE.fullmatch(size):
                    raise ValueError(f"a size of {size[:50]!r}")
                what = What(sha256=str(entity["sha256"]), size_bytes=int(size))
                found[unquote(str(entity["@id"]))] = what
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ParseError("not a bundle", where=where, got=repr(error)[:200]) from error
    return found


def differences(wanted: Mapping[str, What], found: Mapping[str, What]) -> list[str]:
    """Return the files that are not as described, each with how, in order."""
    lines = []
    for name in sorted(wanted.keys() | found.keys()):
        said, got = wanted.get(name), found.get(name)
        if got is None or said is None:
            lines.append(f"{name}: {'not there' if got is None else 'not described'}")
        elif said.sha256 != got.sha256:
            lines.append(f"{name}: {said.sha256[:12]!r} described, {got.sha256[:12]} now")
        elif said.size_bytes != got.size_bytes:
            lines.append(f"{name}: {said.size_bytes} bytes described, {got.size_bytes} now")
    return lines


def _ref(id_: str) -> Entity:
    return {"@id": id_}


def _refs(ids: Iterable[str]) -> list[Entity]:
    return [_ref(id_) for id_ in dict.fromkeys(ids)]


def _license_id(license_: str) -> str:
    return f"https://spdx.org/licenses/{quote(license_)}"


def path_id(name: str) -> str:
    """Return the id of a file or, if it ends in a slash, of a folder: a relative URI."""
    return quote(name)


def _root(of: Described) -> Entity:
    started = sorted(str(run.provenance.get("started", "")) for run in of.runs)
    root = {
        "@id": ROOT_ID, "@type": "Dataset", "name": of.title, "description": of.words,
        "datePublished": started[-1] or "1980-01-01", "license": _ref(_license_id(of.license)),
        "hasPart": _refs(_parts_of("", of.entries)),
        "mentions": _refs(_action_id(run) for run in of.runs),
    }  # fmt: skip
    if articles := _articles(of.runs):
        root["citation"] = _refs(articles)
    return root


def _parts_of(folder: str, entries: Sequence[Entry]) -> Iterator[str]:
    """Yield the ids of what is right in a folder, whose name is empty or ends in a slash."""
    for entry in entries:
        if entry.name.startswith(folder):
            first, slash, _ = entry.name.removeprefix(folder).partition("/")
            yield path_id(folder + first + slash)


def _folders(entries: Sequence[Entry]) -> Iterator[Entity]:
    """Yield every folder, with what is right in it; each entry is looked at once for each."""
    within: dict[str, list[str]] = {}
    for entry in entries:
        name = entry.name
        for above in PurePosixPath(entry.name).parents[:-1]:
            within.setdefault(f"{above}/", []).append(path_id(name))
            name = f"{above}/"
    for folder, parts in sorted(within.items()):
        yield {
            "@id": path_id(folder), "@type": "Dataset", "name": folder.rstrip("/"),
            "description": f"The folder {folder.rstrip('/')} of this bundle.",
            "hasPart": _refs(parts),
        }  # fmt: skip


def _file(entry: Entry) -> Entity:
    format_ = FORMATS.get(PurePosixPath(entry.name).suffix)
    return {
        "@id": path_id(entry.name), "@type": "File", "name": entry.name,
        "contentSize": str(entry.size_bytes), "sha256": entry.sha256,
        **({"description": entry.about} if entry.about else {}),
        **({"encodingFormat": format_} if format_ else {}),
    }  # fmt: skip


def _programs(of: Described) -> Iterator[Entity]:
    yield {
        "@id": PROGRAM_ID, "@type": "SoftwareApplication", "name": "Groundtruth",
        "softwareVersion": of.version,
        "description": "The program that described this bundle; that of a run is in its "
        "provenance.json, by commit, and in the digests of its cells' lab.",
    }  # fmt: skip
    names = {entry.name for entry in of.entries}
    for kernel in dict.fromkeys(one for run in of.runs for one in run.kernels()):
        config = f"kernels/{kernel.name}.config"
        yield {
            "@id": _kernel_id(kernel), "@type": "SoftwareApplication",
            "name": f"Kernel {kernel.name}, {kernel.lab} lab",
            "softwareVersion": kernel.package or kernel.name,
            **({"identifier": kernel.digest} if kernel.digest else {}),
            **({"softwareRequirements": _ref(path_id(config))} if config in names else {}),
        }  # fmt: skip


def _kernel_id(kernel: Kernel) -> str:
    return "#" + quote("-".join(filter(None, ("kernel", kernel.lab, kernel.name, kernel.digest))))


def _action_id(run: CollectedRun) -> str:
    return f"#run-{quote(run.name)}"


def _action(run: CollectedRun, of: Described) -> Entity:
    place = of.place[run.name]
    names = [entry.name for entry in of.entries]
    inputs = [f"{place}study.yaml", *(name for name in names if name.startswith("hosts/"))]
    outputs = [f"{place}summary.json", f"{place}report/index.html"]
    cells = [f"{place}cells/"] if run.finished else []
    left = len(run.unfinished)
    said = f"{len(run.finished)} of {len(run.cells)} cells have finished."
    started = run.provenance.get("started")
    return {
        "@id": _action_id(run), "@type": "CreateAction", "name": f"Run of the study {run.name}",
        "description": said,
        "instrument": _refs([PROGRAM_ID, *map(_kernel_id, run.kernels())]),
        "object": _refs(map(path_id, inputs)), "result": _refs(map(path_id, [*outputs, *cells])),
        "actionStatus": _ref(FAILED if left else COMPLETED),
        **({"startTime": started} if isinstance(started, str) else {}),
        **({"error": f"not finished: {', '.join(run.unfinished)}"} if left else {}),
    }  # fmt: skip


def _articles(runs: Iterable[CollectedRun]) -> dict[str, Entity]:
    """Return the publications whose claims the runs are about, by their ids."""
    found: dict[str, Entity] = {}
    for run in runs:
        source = run.source
        if source is None:
            continue
        doi = f"https://doi.org/{quote(source.doi)}" if source.doi else ""
        id_ = doi or f"#publication-{quote(run.summary.study)}"
        found[id_] = {
            "@id": id_, "@type": "ScholarlyArticle", "name": source.publication,
            "creditText": source.authors,
            **({"datePublished": str(source.year)} if source.year else {}),
            **({"identifier": doi} if doi else {}),
        }  # fmt: skip
    return found
