"""Bundles as somebody packs them who changed what is in them, and all digests with it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from model import plain_files, run_folder
from model.cell import cell_id, from_dict
from testbed.bundles import archive, crate, make
from testbed.bundles.archive import entry_of
from testbed.campaign import digests, manifest
from testbed.campaign.run_cell import json_text


def in_text(path: Path, old: str, new: str) -> None:
    """Replace the first occurrence of a text in a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def packed(folder: Path, *, sums: bool = False, described: bool = True) -> bytes:
    """Return a bundle of what is in a folder.

    With ``sums`` its digests are written anew, unless not those in what is ``described``.
    """
    if sums and described:
        describe(folder)
    made = [entry_of(name, path) for name, path in plain_files.files(folder)]
    if sums:
        made = [one for one in made if one.name != make.SUMS]
        made.append(entry_of(make.SUMS, make.sums(made).encode()))
    return b"".join(archive.pieces(made, folder.name))


def describe(folder: Path) -> None:
    """Write the digests and sizes of all files into the description."""
    path = folder / crate.METADATA
    content = json.loads(path.read_text())
    kept = [one for one in content["@graph"] if one["@type"] != "File"]
    files = [
        {"@id": crate.path_id(name), "@type": "File", "contentSize": str(file.stat().st_size),
         "sha256": plain_files.sha256(file)}
        for name, file in plain_files.files(folder) if name not in (crate.METADATA, make.SUMS)
    ]  # fmt: skip
    path.write_text(json_text({**content, "@graph": [*kept, *files]}))


def believed(run: Path) -> None:
    """Write the digests of a run's own files, and of its cells, as whoever changed them would."""
    own = {name: (run / name).read_bytes() for name in run_folder.COVERED if (run / name).is_file()}
    sha256 = {name: hashlib.sha256(content).hexdigest() for name, content in own.items()}
    (run / run_folder.MANIFEST).write_text(manifest.Manifest(sha256=sha256).text())
    for done in run.glob("cells/*/DONE"):
        told = {**digests.read_done(done.parent), **digests.of_cell(done.parent)}
        done.write_text(digests.done_text(told))


def in_lab(run: Path, name: str) -> None:
    """Say of all cells of a run that they are of the lab of this name."""
    ids: dict[str, str] = {}
    cells: list[dict[str, Any]] = []
    for one in json.loads((run / run_folder.CELLS).read_text()):
        content: dict[str, Any] = {**one["cell"], "lab": {**one["cell"]["lab"], "name": name}}
        ids[one["id"]] = cell_id(from_dict(content))
        cells.append({"id": ids[one["id"]], "cell": content})
    (run / run_folder.CELLS).write_text(json_text(cells))
    for file in (run / run_folder.PLAN, run / run_folder.SUMMARY_JSON):
        text = file.read_text()
        for old, new in ids.items():
            text = text.replace(old, new)
        file.write_text(text)
    for one in cells:
        old = next(old for old, new in ids.items() if new == one["id"])
        folder = run_folder.cell_folder(run, one["id"])
        run_folder.cell_folder(run, old).rename(folder)
        (folder / run_folder.CELL).write_text(json_text(one["cell"]))
    believed(run)
