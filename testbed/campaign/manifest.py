"""What a run's own files were when the run wrote them: all that a report is made of besides cells.

Invariants: a file of the run is written together with its digest; whoever is killed in between
leaves the old file or the new one, and both are known. Cells have digests of their own (DONE), and
``cells.json``, which is covered here, binds them to their ids. This finds accidents and single
edits; whoever writes the manifest anew as well is not found.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from model import plain_files, run_folder
from model.errors import DisagreementError, ParseError
from model.words import how_many

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Digests by file, and those that files get which are being written."""

    sha256: Mapping[str, str] = field(default_factory=dict)
    writing: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """Return the one text that says this."""
        content = {"schema": SCHEMA, "sha256": dict(self.sha256), "writing": dict(self.writing)}
        return json.dumps(content, indent=1, sort_keys=True) + "\n"

    def movements(self) -> tuple[str, ...]:
        """Return the names of the movements that cells follow."""
        return tuple(
            name for name in sorted({*self.sha256, *self.writing}) if run_folder.is_movement(name)
        )

    def digests(self, name: str) -> set[str | None]:
        """Return the digests a file may have; None: it may be missing."""
        return {self.sha256.get(name)} | ({self.writing[name]} if name in self.writing else set())


def write(run: Path, contents: Mapping[str, str]) -> None:
    """Write files of a run, and their digests."""
    path = run / run_folder.MANIFEST
    before = read(run).sha256 if plain_files.is_file(path) else {}
    new = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in contents.items()}
    plain_files.write_text(path, Manifest(sha256=before, writing=new).text())
    for name, text in contents.items():
        plain_files.write_text(run / name, text)
    plain_files.write_text(path, Manifest(sha256={**before, **new}).text())


def read(run: Path) -> Manifest:
    """Return a run's manifest; raise :class:`ParseError` if it is missing or not as written."""
    path = run / run_folder.MANIFEST
    try:
        text = plain_files.read_text(path)
        value = json.loads(text)
        found = Manifest(sha256=value["sha256"], writing=value["writing"])
        digests = [*found.sha256.items(), *found.writing.items()]
        if not all(isinstance(word, str) for pair in digests for word in pair):
            raise ValueError("a digest is no text")
        if found.text() != text:
            raise ValueError("not as a run writes it")
    except FileNotFoundError:
        raise ParseError(
            "file is missing", where=str(path),
            hint="so nobody can tell whether the run's files are what it left; older versions of "
            "this program wrote none, and read such runs",
        ) from None  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ParseError("cannot read a manifest", where=str(path), got=str(error)) from error
    return found


def check(run: Path) -> None:
    """Raise :class:`DisagreementError` naming every file of a run that is not what it wrote.

    Another process may be running the run, and writing its files: then it is looked at again.
    """
    recorded = read(run)
    while wrong := _changed(run, recorded):
        before, recorded = recorded, read(run)
        if recorded == before:
            raise DisagreementError(
                f"{how_many(len(wrong), 'file is', 'files are')} not what "
                f"{run_folder.MANIFEST} says:\n  " + "\n  ".join(wrong),
                where=str(run), hint="put them back as they were, or run the study again",
            )  # fmt: skip


def _changed(run: Path, recorded: Manifest) -> list[str]:
    """Return the files that are not what a manifest says, each with how."""
    wrong = []
    for name in (*run_folder.COVERED, *recorded.movements()):
        expected, path = recorded.digests(name), run / name
        try:
            found = plain_files.sha256(path)
        except FileNotFoundError:
            if None not in expected:
                wrong.append(f"{name}: missing now")
            continue
        except OSError as error:
            wrong.append(f"{name}: {error.strerror or error}")
            continue
        if found not in expected:
            before = (recorded.sha256.get(name) or "not there")[:12]
            wrong.append(f"{name}: {before} before, {found[:12]} now")
    return wrong
