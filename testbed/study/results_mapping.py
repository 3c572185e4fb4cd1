"""The mapping file: how a user's own results are to be read for a study.

Invariants: as study files, it is strict: a key, a group, a metric or a unit that is not known is
named with its line; what it leaves out is not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from model import units
from model.run_files.comparing.brought import (
    Format,
    Listed,
    Ports,
    ResultsMapping,
    Selector,
    Setting,
    Sought,
    Span,
    Take,
)
from model.run_files.metrics.every import metric_bounds
from model.run_files.study import Study
from testbed.study.form_validation import validate
from testbed.study.metric_units import factor_of, units_of
from testbed.study.problems import Loc, Problem, StudyFileError, one_of, suggestion
from testbed.study.setting_types import Settings
from testbed.study.yaml_document import Document, read_document

Word = Annotated[str, StringConstraints(min_length=1, max_length=300)]
#: What is one of the text, or a whole number as people write ports and counts.
WordOrNumber = int | Word
#: What a new mapping has where only its user knows what belongs there.
UNFILLED = "???"
_PORTS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
_PART = re.compile(r"\{([^{}]*)\}")


class FromPart(Settings):
    """A setting's value: a named part of the file's name, a column, or an iteration variable."""

    part: Word = Field(description="a part of files:, a column, or an iteration variable")
    unit: str = Field("", description="the unit that its text lacks, such as packets, %, Mbit/s")


class Flows(Settings):
    """Which flows of a file are meant: all that is given must be so."""

    protocol: Literal["tcp", "udp", "sctp"] | None = Field(None, description="tcp, udp or sctp")
    source: Word | None = Field(None, description="an address; of ns-2 a node")
    source_port: WordOrNumber | None = Field(None, description="5001, or '5001-5010'")
    destination: Word | None = Field(None, description="an address; of ns-2 a node")
    destination_port: WordOrNumber | None = Field(None, description="5001, or '5001-5010'")
    id: int | None = Field(None, description="ns-2's flow id (fid_)")


class Counted(Settings):
    """What a simulator's totals are of."""

    from_: str = Field(alias="from", description="a time such as '10 s'")
    to: str = Field(description="a time such as '60 s'")


class FileEntry(Settings):
    """A file by name, with its parts."""

    file: Word = Field(description="a file's name")
    parts: dict[str, WordOrNumber | float] = Field({}, description="texts by name of part")


class Value(Settings):
    """A number of CSV or OMNeT++ that is a metric of the study."""

    metric: Word = Field(description="a metric of the study: groundtruth list metrics")
    unit: str = Field("", description="the unit in the file, such as Mbit/s, ms, %")
    column: Word | None = Field(None, description="a column of CSV; of means if n is given")
    sd: Word | None = Field(None, description="the column with standard deviations")
    n: WordOrNumber | None = Field(None, description="the column with how many, or how many")
    module: Word | None = Field(None, description="OMNeT++'s module, * for any text")
    name: Word | None = Field(
        None, description="a scalar's or vector's name, or STATISTIC:FIELD, * for any text"
    )
    take: Take = Field(
        "only", description="of several: sum, mean, min, max, or last; only: one is there"
    )


class MappingFile(Settings):
    """A mapping file."""

    mapping: Literal[1] = Field(description="1, the version of such files")
    source: Annotated[str, StringConstraints(min_length=1, max_length=60)] = Field(
        description="what the results are called, such as ns-3.37"
    )
    format: Format | None = Field(
        None, description="flowmonitor, pcap, ns2, omnetpp or csv; default: as files begin"
    )
    files: Word | tuple[FileEntry, ...] = Field(
        "", description="files' names with {parts}, or a list of {file: NAME, parts: {...}}"
    )
    points: dict[str, FromPart | Word] = Field(
        {}, description="each swept setting: {part: NAME, unit: UNIT}, or a value"
    )
    replicate: str = Field("", description="the part, column or variable that tells replicates")
    groups: dict[str, Flows] = Field({}, description="which flows are which group's")
    flows: dict[str, Flows] = Field({}, description="which flow is which flow of the study")
    values: tuple[Value, ...] = Field((), description="which numbers are which metrics")
    headers: str = Field("", description="what is in a packet's size besides user data: 40 bytes")
    counted: Counted | None = Field(None, description="what totals are of; default: the whole run")
    lost: Literal["buffer", "link"] | None = Field(
        None, description="where FlowMonitor's packets were lost that it gives no reason for"
    )
    zero: Literal["simulation", "first packet"] = Field(
        "simulation", description="a capture's time 0: simulation, or first packet"
    )
    separator: Literal[",", ";", "\t"] | None = Field(None, description="of CSV; default: as found")


def read_mapping(path: Path, study: Study, flow_groups: Mapping[str, str]) -> ResultsMapping:
    """Return the mapping in a file.

    Args:
        path: the file.
        study: the study that the results are to be compared with.
        flow_groups: the group of each of the study's flows.

    Raises:
        StudyError: it cannot be read or used; file, line and key.
    """
    document = read_document(path, "a mapping")
    problems = [
        document.problem(loc, "not filled in", wanted="what only you know", got=UNFILLED)
        for loc in _unfilled(document.data, ())
    ]
    if problems:
        raise StudyFileError(problems)
    return mapping_of(document, study, flow_groups)


def _unfilled(value: Any, loc: Loc) -> Iterator[Loc]:
    """Return where a template's sign for what is to be filled in still stands."""
    if value == UNFILLED:
        yield loc
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _unfilled(inner, (*loc, key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _unfilled(inner, (*loc, index))


def mapping_of(document: Document, study: Study, flow_groups: Mapping[str, str]) -> ResultsMapping:
    """Return the mapping in a document; raises as :func:`read_mapping`."""
    found, problems = validate(MappingFile, document.data, document, ())
    problems = [*document.problems, *problems]
    if found is None or problems:
        raise StudyFileError(problems)
    return _Made(document, found, study, flow_groups).mapping()


class _Made:
    """Makes the mapping of a valid form, and gathers what does not fit the study."""

    def __init__(
        self, document: Document, form: MappingFile, study: Study, flow_groups: Mapping[str, str]
    ) -> None:
        self._document, self._form, self._study = document, form, study
        self._flow_groups = flow_groups
        self._problems: list[Problem] = []

    def mapping(self) -> ResultsMapping:
        """Return it, or raise with all that is wrong."""
        form = self._form
        made = ResultsMapping(
            where=self._document.name,
            source=form.source.strip(),
            format=form.format,
            settings=tuple(self._settings()),
            replicate=form.replicate,
            pattern=form.files if isinstance(form.files, str) else "",
            listed=tuple(self._listed()),
            selectors=tuple(self._selectors()),
            sought=tuple(self._sought()),
            headers_bytes=self._quantity(("headers",), form.headers, units.SIZE),
            lost_in=form.lost or "",
            counted=self._counted(),
            first_packet=form.zero == "first packet",
            delimiter=form.separator or "",
        )
        self._check(made)
        if self._problems:
            raise StudyFileError(self._problems)
        return made

    def _problem(
        self, loc: Loc, what: str, wanted: str = "", got: str = "", hint: str = ""
    ) -> None:
        self._problems.append(self._document.problem(loc, what, wanted=wanted, got=got, hint=hint))

    def _unknown(self, loc: Loc, what: str, word: str, words: list[str]) -> None:
        hint = suggestion(word, words)
        self._problem(loc, f"unknown {what}", one_of(words, hint) or "another", word[:60], hint)

    def _settings(self) -> Iterator[Setting]:
        by_path = {one.path: one.name for one in self._study.parameters}
        by_path |= {one.name: one.name for one in self._study.parameters}
        told = set()
        for path, value in self._form.points.items():
            name = by_path.get(path)
            if name is None:
                paths = [one.path for one in self._study.parameters]
                self._unknown(("points", path), "swept setting", path, paths or ["none"])
                continue
            if name in told:
                self._problem(("points", path), "a setting for the second time")
            told.add(name)
            if isinstance(value, str):
                yield Setting(name=name, text=value)
            else:
                yield Setting(name=name, part=value.part, unit=value.unit)
        for one in self._study.parameters:
            if one.name not in told:
                self._problem(("points",), f"{one.path} is not told", "each swept setting")

    def _listed(self) -> Iterator[Listed]:
        if isinstance(self._form.files, str):
            return
        seen = set()
        for index, one in enumerate(self._form.files):
            if one.file in seen:
                self._problem(("files", index), "a file for the second time", got=one.file)
            seen.add(one.file)
            yield Listed(file=one.file, parts={k: str(v) for k, v in one.parts.items()})

    def _selectors(self) -> Iterator[Selector]:
        ids = [group.id for group in self._study.groups]
        for group, one in self._form.groups.items():
            if group not in ids:
                self._unknown(("groups", group), "group", group, ids)
            else:
                yield self._selector(("groups", group), group, "", one)
        for flow, one in self._form.flows.items():
            if flow not in self._flow_groups:
                self._unknown(("flows", flow), "flow", flow, list(self._flow_groups))
            else:
                yield self._selector(("flows", flow), self._flow_groups[flow], flow, one)

    def _selector(self, loc: Loc, group: str, flow: str, one: Flows) -> Selector:
        if all(value is None for value in one.model_dump().values()):
            self._problem(loc, "says nothing", "for example {destination_port: 5001}")
        return Selector(
            group=group, flow=flow, protocol=one.protocol or "", source=one.source or "",
            source_ports=self._ports((*loc, "source_port"), one.source_port),
            destination=one.destination or "",
            destination_ports=self._ports((*loc, "destination_port"), one.destination_port),
            number=one.id,
        )  # fmt: skip

    def _ports(self, loc: Loc, value: int | str | None) -> Ports | None:
        if value is None:
            return None
        match = _PORTS.fullmatch(str(value))
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not low <= high <= 65535:
            self._problem(loc, "no port", "5001, or '5001-5010'", str(value)[:40])
        return low, high

    def _sought(self) -> Iterator[Sought]:
        known = metric_bounds([one.id for one in self._study.groups], self._study.flows)
        seen = set()
        for index, one in enumerate(self._form.values):
            loc: Loc = ("values", index)
            if one.metric not in known:
                self._unknown((*loc, "metric"), "metric", one.metric, list(known))
                continue
            if one.metric in seen:
                self._problem((*loc, "metric"), "a metric for the second time", got=one.metric)
            seen.add(one.metric)
            factor = factor_of(one.metric, one.unit)
            if factor is None:
                fitting = units_of(one.metric)
                wanted = one_of(fitting) if fitting else "no unit"
                self._problem((*loc, "unit"), f"no unit of {one.metric}", wanted, repr(one.unit))
                continue
            self._check_value(loc, one)
            yield Sought(
                metric=one.metric, factor=factor[0], per_second=factor[1],
                column=one.column or "", module=one.module or "*", name=one.name or "",
                take=one.take, sd=one.sd or "", n="" if one.n is None else str(one.n),
                bounds=known[one.metric],
            )  # fmt: skip

    def _check_value(self, loc: Loc, one: Value) -> None:
        if bool(one.column) == bool(one.name):
            self._problem(loc, "one of two keys", "column (CSV) or name (OMNeT++)")
        if one.n is not None and not one.column:
            self._problem((*loc, "n"), "of CSV alone", "with column")
        if isinstance(one.n, int) and one.n < 1:
            self._problem((*loc, "n"), "no number of replicates", "1 or more", str(one.n))
        if one.sd and one.n is None:
            self._problem((*loc, "sd"), "a spread of how many is not told", "n")

    def _quantity(self, loc: Loc, text: str, kind: units.Kind) -> int | None:
        if not text:
            return None
        try:
            return int(units.parse(text, kind))
        except units.UnitError as error:
            self._problem(loc, error.what, error.wanted, error.got, error.hint)
            return None

    def _time_s(self, loc: Loc, text: str) -> float:
        try:
            return units.parse_time_s(text)
        except units.UnitError as error:
            self._problem(loc, error.what, error.wanted, error.got, error.hint)
            return 0.0

    def _counted(self) -> Span | None:
        one = self._form.counted
        if one is None:
            return None
        from_s = self._time_s(("counted", "from"), one.from_)
        to_s = self._time_s(("counted", "to"), one.to)
        if not self._problems and not from_s < to_s:
            self._problem(("counted", "to"), "not after its beginning", f"more than {from_s:g} s")
        return Span(from_s=from_s, to_s=to_s)

    def _check(self, made: ResultsMapping) -> None:
        """Look at what several keys must have in common."""
        pattern = made.pattern
        if re.search(r"[{}]", _PART.sub("", pattern)) or "}{" in pattern or "/" in pattern:
            self._problem(("files",), "not a name with {parts}", "such as 'queue-{queue}.xml'")
        parts = _PART.findall(pattern)
        bad = [one for one in parts if not one.isidentifier()]
        if bad or len(set(parts)) < len(parts):
            self._problem(("files",), "parts that are no names, or one twice", got=str(parts)[:60])
        if not made.selectors and not made.sought:
            self._problem((), "nothing to read", "groups or flows, or values")
        if (made.selectors and made.format in ("csv", "omnetpp")) or (
            made.sought and made.format in ("flowmonitor", "pcap", "ns2")
        ):
            wanted = "groups and flows with flowmonitor, pcap, ns2; values with csv, omnetpp"
            self._problem(("format",), "another than the rest is for", wanted)


def form_keys() -> dict[str, Any]:
    """Return the keys of a mapping file with what they are, for docs and templates."""
    return {
        (field.alias or name): field.description for name, field in MappingFile.model_fields.items()
    }
