"""Reading a study: file, points, host profiles, published rows; all problems reported at once.

Invariant: a :class:`Study` is valid at every point, and every point's host profile is there.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from model import units
from model.cell import OF_HOSTS
from model.errors import StudyError
from testbed.points.at_points import (
    Sweep,
    capture_points,
    episode_points,
    explanation_points,
    figure_flows,
    figure_points,
    published_points,
)
from testbed.points.claims import Comparison, expand_claims
from testbed.points.kernel_checks import (
    managing,
    needed_by,
    same_kernels,
    timing,
    unknown_controls,
)
from testbed.points.labels import Label, read_labels
from testbed.points.movement_files import MovementFiles
from testbed.points.route_checks import daemon_cannot_set, mechanisms_cannot_set
from testbed.points.sweep import Parameter, Point, read_points
from testbed.points.variations import NO_VARIATIONS, Variation, Variations, read_variations
from testbed.study import kernel_names
from testbed.study.find_host_profiles import LoadedProfile, ProfileShelf, named_kernels
from testbed.study.form_validation import validate_sections
from testbed.study.problems import Problem, StudyFileError, one_of, suggestion
from testbed.study.scaling import FULL
from testbed.study.setting_types import DEFAULT
from testbed.study.study_form import StudyFile
from testbed.study.vocabulary import DEFAULT_KERNEL
from testbed.study.yaml_document import Document, parse_document, read_document
from testbed.study_checks.agreement import cross_problems
from testbed.study_checks.claims import suspect_problems
from testbed.study_checks.hypotheses import restored_problems

STUDIES_FOLDER = Path(__file__).resolve().parents[2] / "studies"
HOSTS_FOLDER = STUDIES_FOLDER / "hosts"


@dataclass(frozen=True, kw_only=True)
class Study:
    """A valid study: settings as written, and at each point.

    ``published_points`` holds, for each published row, the indexes of its points,
    ``figure_points`` for each figure, ``episode_points`` for each published episode;
    ``capture_points`` are those whose packets are captured; ``comparisons`` holds what each claim
    comes to, ``labels`` what readers call swept settings, by path.

    Of a study at some of its points alone ``at`` says which, and the others are ``left_out``: what
    is captured or claimed there counts them on behind the points. ``explanation_points`` are those
    of each explanation; ``of_claim`` is the claim whose points alone are kept, if they are;
    ``mechanisms`` are the hypotheses in force, ``patches`` what the kernels of
    all points have besides their own name; ``movements`` are the files that nodes follow.
    """

    settings: StudyFile
    document: Document
    parameters: tuple[Parameter, ...]
    points: tuple[Point, ...]
    published_points: tuple[tuple[int, ...], ...]
    figure_points: tuple[tuple[int, ...], ...]
    episode_points: tuple[tuple[int, ...], ...]
    capture_points: tuple[int, ...]
    comparisons: tuple[tuple[Comparison, ...], ...]
    profiles: dict[str, LoadedProfile]
    alternatives: Variations
    labels: dict[str, Label] = dataclasses.field(default_factory=dict)
    explanation_points: tuple[tuple[int, ...], ...] = ()
    at: tuple[str, ...] = ()
    left_out: tuple[Point, ...] = ()
    of_claim: str | None = None
    patches: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] = ()
    movements: MovementFiles

    @property
    def scale(self) -> Decimal:
        """What the times of the experiment were multiplied by; 1 is the study as written."""
        return self.document.scale

    @property
    def variations(self) -> tuple[Variation, ...]:
        """What is tried in place of the study's assumptions."""
        return self.alternatives.variations

    @property
    def all_points(self) -> tuple[Point, ...]:
        """The study's points, then those of its variations alone."""
        return (*self.points, *self.alternatives.points)

    def captures(self, point: Point) -> bool:
        """Return whether packets are captured at a point, of the study or what it becomes."""
        every = (*self.points, *self.left_out)
        captured = (every[index].values.items() for index in self.capture_points)
        return any(values <= point.values.items() for values in captured)

    @functools.cached_property
    def _of_queues(self) -> tuple[str, ...]:
        """What managed queues need of every kernel of the study, points left out included."""
        return managing(p.settings.network for p in (*self.all_points, *self.left_out))

    @functools.cached_property
    def _of_rates(self) -> tuple[str, ...]:
        """What fast links need of every kernel of the study, points left out included."""
        return timing(p.settings for p in (*self.all_points, *self.left_out))

    def kernel_at(self, point: Point) -> str:
        """Return the kernel a point runs on, its own or its hosts', with the patches in force."""
        named = point.settings.kernel
        if named == OF_HOSTS:
            named = self.profiles[point.settings.hosts].profile.kernel
        named = DEFAULT_KERNEL if named == DEFAULT else named
        added = (*self.patches, *needed_by(point.settings.network), *self._of_queues)
        if kernel_names.read(named):  # of a simulator all clocks are fine
            added = (*added, *self._of_rates)
        return kernel_names.patched(named, added) if added else named


def find_study(name: str) -> Path:
    """Return the file of a study given by its path or by its name in ``studies/``.

    Raises:
        StudyError: it is a name, and no study has it.
    """
    path = Path(name)
    if path.suffix or len(path.parts) != 1 or os.path.exists(path):  # noqa: PTH110  # never raises
        return path
    names = sorted(file.stem for file in STUDIES_FOLDER.glob("*.yaml"))
    if name in names:
        return STUDIES_FOLDER / f"{name}.yaml"
    raise StudyError(
        "no such study",
        wanted=f"a file, or {one_of(names)}",
        got=units.shown(name),
        hint=suggestion(name, names),
    )


def kernels_of_hosts() -> tuple[str, ...]:
    """Return the kernels that the project's own host profiles name, and the default."""
    named = named_kernels(HOSTS_FOLDER)
    return tuple(dict.fromkeys([DEFAULT_KERNEL if name == DEFAULT else name for name in named]))


def load_study(
    path: Path, *, hosts: str = "", kernel: str = "", scale: Decimal = FULL,
    patches: tuple[str, ...] = (),
) -> Study:  # fmt: skip
    """Read and check a study file.

    ``hosts``, if not empty, stands in for its host profile; ``kernel`` for every kernel it names;
    each kernel has these ``patches`` besides. With either, alternatives that name a kernel are
    ruled out: they are about the study's hosts. Times of the experiment are multiplied by
    ``scale``; the study must be valid with and without.

    Raises:
        StudyError: it cannot be used; the message has one line per problem.
    """
    folders = (path.parent / "hosts", HOSTS_FOLDER)
    document = read_document(path)
    given = functools.partial(
        study_from, hosts=hosts, kernel=kernel, patches=patches, beside=path.parent
    )
    written = given(document, folders)
    return written if scale == FULL else _scaled(written, folders, given, scale)


def _scaled(
    written: Study, folders: Iterable[Path], given: Callable[..., Study], scale: Decimal
) -> Study:
    """Return a valid study with its times scaled; raises as :func:`load_study`."""
    document = dataclasses.replace(written.document, scale=scale)
    raise_problems(list(_numbered_losses(written, document)), document)
    try:
        return given(document, folders)
    except StudyFileError as error:
        hint = f"times are scaled by {scale}"
        raise StudyFileError(
            dataclasses.replace(one, hint=f"{hint}; {one.hint}" if one.hint else hint)
            for one in error.problems
        ) from error


def _numbered_losses(study: Study, document: Document) -> Iterator[Problem]:
    """Yield where packets are lost by their number: that moment does not move with the times."""
    for flow in study.settings.drops:
        if any(point.settings.drops[flow].drop_data_pkts for point in study.all_points):
            yield document.problem(
                ("drops", flow),
                "packets lost by their number",
                wanted="the study's own times",
                got=f"times scaled by {document.scale}",
                hint="a shorter flow may end before that packet, or before the loss is repaired",
            )


def parse_study(
    text: str, name: str = "study.yaml", *, hosts_folders: Iterable[Path] = (HOSTS_FOLDER,),
    beside: Path = Path(),
) -> Study:  # fmt: skip
    """Read a study from a text that messages call ``name``; raises as :func:`load_study`.

    Files that it names are looked for below the folder ``beside``.
    """
    return study_from(parse_document(text, name), hosts_folders, beside=beside)


def study_from(
    document: Document, hosts_folders: Iterable[Path], *, hosts: str = "", kernel: str = "",
    patches: tuple[str, ...] = (), beside: Path = Path(),
) -> Study:  # fmt: skip
    """Return the study in a document; raises as :func:`load_study`."""
    shelf = ProfileShelf(tuple(hosts_folders))
    given = {key: value for key, value in (("hosts", hosts), ("kernel", kernel)) if value}
    for key, value in given.items():
        document = _given(document, key, value)
    settings, valid, problems = validate_sections(StudyFile, document)
    problems += cross_problems(settings, valid, document)
    names: tuple[Parameter, ...] = ()
    points: tuple[Point, ...] = ()
    placed = _Placed()
    if {"sweep", "points"} <= valid:
        reported = frozenset(problems)
        names, points, found = read_points(settings, document, reported)
        problems += found
        if not found:
            sweep = Sweep(document=document, parameters=names, points=points, reported=reported)
            placed, wrong = _place(settings, valid, sweep, kernel_is_given=bool(given))
            problems += wrong
    if {"hosts", "profiles"} <= valid:
        problems += shelf.load(settings, document, (*points, *placed.alternatives.points))
    if "claims" in valid and settings.hosts in shelf.profiles and not hosts:
        problems += suspect_problems(settings, shelf.profiles[settings.hosts].profile, document)
    if "hypotheses" in valid and settings.hosts in shelf.profiles and not hosts:
        problems += restored_problems(settings, shelf.profiles[settings.hosts].profile, document)
    raise_problems([*document.problems, *problems], document)
    movements = MovementFiles(beside)
    raise_problems(movements.load((*points, *placed.alternatives.points), settings.seeds), document)
    study = Study(
        settings=settings,
        document=document,
        parameters=names,
        points=points,
        published_points=placed.rows,
        figure_points=placed.figures,
        episode_points=placed.episodes,
        capture_points=placed.captures,
        comparisons=placed.comparisons,
        profiles=shelf.profiles,
        alternatives=placed.alternatives,
        labels=placed.labels,
        explanation_points=placed.explanations,
        patches=patches,
        movements=movements,
    )
    same = same_kernels(points, study.alternatives, study.kernel_at)
    unset = [
        *daemon_cannot_set(study.all_points, study.profiles),
        *mechanisms_cannot_set(study.points),
    ]
    unknown = unknown_controls(study.all_points, study.kernel_at)
    raise_problems([*same, *unknown, *unset], document)
    return study


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """What lies at points of the sweep, by their indexes, and the points of variations."""

    rows: tuple[tuple[int, ...], ...] = ()
    episodes: tuple[tuple[int, ...], ...] = ()
    figures: tuple[tuple[int, ...], ...] = ()
    captures: tuple[int, ...] = ()
    comparisons: tuple[tuple[Comparison, ...], ...] = ()
    alternatives: Variations = NO_VARIATIONS
    labels: dict[str, Label] = dataclasses.field(default_factory=dict)
    explanations: tuple[tuple[int, ...], ...] = ()


def _place(
    settings: StudyFile,
    valid: Collection[str],
    sweep: Sweep,
    *,
    kernel_is_given: bool,
) -> tuple[_Placed, list[Problem]]:
    """Place the valid sections of a study on its points; return also what is wrong with them."""
    placed, problems = _Placed(), []
    if "published" in valid:
        rows, wrong = published_points(settings, sweep)
        episodes, wrong_at = episode_points(settings, sweep)
        placed = dataclasses.replace(placed, rows=rows, episodes=episodes)
        problems += [*wrong, *wrong_at]
    if "figures" in valid:
        figures, wrong = figure_points(settings, sweep)
        placed, problems = dataclasses.replace(placed, figures=figures), [*problems, *wrong]
        if "flows" in valid:
            problems += figure_flows(settings, sweep, figures)
    if "collect" in valid:
        captures, wrong = capture_points(settings, sweep)
        placed, problems = dataclasses.replace(placed, captures=captures), [*problems, *wrong]
    if "claims" in valid and not any(p.key.startswith("claims") for p in sweep.reported):
        comparisons, wrong = expand_claims(settings, sweep)
        placed = dataclasses.replace(placed, comparisons=comparisons)
        problems += wrong
    if "explanations" in valid:
        found, wrong = explanation_points(settings, sweep)
        placed, problems = dataclasses.replace(placed, explanations=found), [*problems, *wrong]
    if "label" in valid and not problems:
        labels, wrong = read_labels(settings, sweep)
        placed, problems = dataclasses.replace(placed, labels=labels), [*problems, *wrong]
    if "assumptions" in valid and sweep.points:
        read, wrong = read_variations(settings, sweep, kernel_is_given=kernel_is_given)
        placed, problems = dataclasses.replace(placed, alternatives=read), [*problems, *wrong]
    return placed, problems


def raise_problems(problems: list[Problem], document: Document) -> None:
    """Raise all problems; what follows from a value YAML could not give is left out."""
    own = frozenset(document.problems)
    unread = {(p.line, p.key) for p in own}
    shown = [p for p in problems if p in own or (p.line, p.key) not in unread]
    if shown:
        raise StudyFileError(shown)


def _given(document: Document, key: str, value: str) -> Document:
    """Return the study with a setting of the command line in place of its own."""
    for name in ("sweep", "points"):
        listed = document.data.get(name)
        maps = listed if isinstance(listed, tuple) else (listed,)
        if any(isinstance(item, dict) and key in item for item in maps):
            raise StudyError(
                f"{key} given on the command line, yet the study sweeps it",
                where=document.where((name,)),
                got=units.shown(value),
            )
    return document.replaced((key,), value, document.line((key,)))
