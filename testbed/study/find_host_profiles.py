"""Finding host profiles: in the study itself, beside it in ``hosts/``, or in the project's.

Invariant: a profile is read once, whatever the number of points that use it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from model import units
from testbed.study.form_validation import validate
from testbed.study.host_profile_form import Profile, profile_problems
from testbed.study.problems import Loc, Problem, StudyFileError, one_of, suggestion
from testbed.study.setting_types import DEFAULT
from testbed.study.study_form import StudyFile
from testbed.study.yaml_document import Document, read_document


@dataclass(frozen=True, kw_only=True)
class LoadedProfile:
    """A host profile, the document it is written in, and its place there."""

    profile: Profile
    document: Document
    place: Loc


def named_kernels(folder: Path) -> list[str]:
    """Return the default, then what the profiles in a folder name as their kernels, in order."""
    documents = (read_document(file) for file in sorted(folder.glob("*.yaml")))
    return [DEFAULT, *(str(document.data.get("kernel", DEFAULT)) for document in documents)]


class _Place(Protocol):
    """A point: settings, and the document that has their lines."""

    @property
    def settings(self) -> StudyFile: ...
    @property
    def document(self) -> Document: ...


@dataclass
class ProfileShelf:
    """The profiles a study uses, looked for in folders in this order."""

    folders: tuple[Path, ...]
    profiles: dict[str, LoadedProfile] = field(default_factory=dict)

    def load(self, study: StudyFile, document: Document, points: Iterable[_Place]) -> list[Problem]:
        """Load the profiles of a study and its points; return what is wrong with them."""
        wanted = [(study.hosts, document)]
        wanted += [(point.settings.hosts, point.document) for point in points]
        problems: list[Problem] = []
        seen: set[str] = set()
        for name, source in wanted:
            if name not in seen:
                seen.add(name)
                problems += self._load(name, study, source)
        return problems

    def _names(self, study: StudyFile) -> list[str]:
        files = (file.stem for folder in self.folders for file in folder.glob("*.yaml"))
        return sorted({*study.profiles, *files})

    def _load(self, name: str, study: StudyFile, source: Document) -> list[Problem]:
        if name in study.profiles:
            self.profiles[name] = LoadedProfile(
                profile=study.profiles[name], document=source, place=("profiles", name)
            )
            return []
        files = (folder / f"{name}.yaml" for folder in self.folders)
        path = next((file for file in files if file.is_file()), None)
        if path is None:
            names = self._names(study)
            problem = source.problem(
                ("hosts",),
                "unknown host profile",
                wanted=one_of(names) if names else "a profile",
                got=units.shown(name),
                hint=suggestion(name, names),
            )
            return [problem]
        return self._read(name, path)

    def _read(self, name: str, path: Path) -> list[Problem]:
        try:
            document = read_document(path)
        except StudyFileError as error:
            return list(error.problems)
        profile, problems = validate(Profile, document.data, document, ())
        problems = [*document.problems, *problems]
        if profile is not None:
            problems += profile_problems(profile, document, ())
            self.profiles[name] = LoadedProfile(profile=profile, document=document, place=())
        return problems
