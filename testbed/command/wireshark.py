"""The command that exports a run's captures for Wireshark: here collectors and reports meet.

The writer knows no parser of raw files, and the parsers no report, so this reads and hands over.
Invariants: a cell that cannot be exported is named and the others still are; only finished cells
are read, and only if their files are what the run left.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from model import plain_files, run_folder
from model.errors import DisagreementError, GroundtruthError, ParseError, RunError, StudyError
from model.run_files import json_file
from model.words import how_many, size_text
from testbed.campaign import digests, saved_runs, study_sets
from testbed.campaign.progress import Display
from testbed.machine import homes
from testbed.machine.console import out, words
from testbed.planning.plan import PlannedCell

if TYPE_CHECKING:
    from reports.wireshark.captured import Ints
    from reports.wireshark.cell_export import Recorded

#: Told of every cell: how many are done, and of how many.
Report = Callable[[int, int], None]
HOW_TO_OPEN = (
    "open: wireshark -C Groundtruth FILE (the profile: groundtruth wireshark --install-profile)"
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of an export: lines about written cells, and (cell, why not) of the others."""

    written: tuple[str, ...]
    failures: tuple[tuple[str, str], ...]


def command(run_name: str, wanted: Sequence[str], *, all_points: bool = False) -> None:
    """Write a run's captures for Wireshark and tcptrace, and say where.

    Raises:
        RunError: some cells could not be exported; the others were. Or the disk has no room for
            them; then none was.
    """
    found = study_sets.find(run_name)
    cells = {run: saved_runs.load_cells(run) for run in found.runs}
    chosen = choose([cell for own in cells.values() for cell in own], wanted, run_name)
    printed = out()
    folders = [
        run_folder.cell_folder(run, planned.id)
        for run, own in cells.items() for planned in own if planned in chosen
    ]  # fmt: skip
    printed.print(announced(folders, all_points=all_points))
    errors: dict[str, GroundtruthError | OSError] = {}
    for run, own in cells.items():
        exported = [planned for planned in own if planned in chosen]
        if not exported:
            continue
        with Display(words()) as display:
            outcome = export(run, exported, display.exporting, all_points=all_points)
        for line in outcome.written:
            printed.print(line)
        try:
            raise_if_failed(outcome, len(exported), run)
        except RunError as error:
            errors[run.name] = error
    if any((run / run_folder.PCAP).is_dir() for run in cells):
        printed.print(HOW_TO_OPEN)
    if errors:
        raise (
            next(iter(errors.values()))
            if len(errors) == 1
            else study_sets.together(errors, "of the set's studies could not be exported")
        )


def install_profile(force: bool) -> None:
    """Install the Wireshark profile for the user, and say where."""
    from reports.wireshark.profile import install_profile  # when needed: reports load slowly

    target = install_profile(homes.base("XDG_CONFIG_HOME", ".config"), force=force)
    out().print(f"profile: {target}")


def choose(cells: Sequence[PlannedCell], wanted: Sequence[str], run: str) -> list[PlannedCell]:
    """Return the captured cells to export: all, or those whose ids begin with what is wanted.

    Raises:
        StudyError: the run has no captures, or no single captured cell is meant.
    """
    captured = [planned for planned in cells if _captured(planned)]
    if not captured:
        raise StudyError(
            "the run has no captures", where=run,
            hint="packets are captured on request: groundtruth run STUDY --pcap",
        )  # fmt: skip
    if not wanted:
        return captured
    meant = {_only(captured, word, run).id for word in wanted}
    return [planned for planned in captured if planned.id in meant]


def _captured(planned: PlannedCell) -> bool:
    return planned.cell.purpose == "measure" and planned.cell.collect.pcap


def _only(captured: Sequence[PlannedCell], word: str, run: str) -> PlannedCell:
    found = [planned for planned in captured if word and planned.id.startswith(word)]
    if len(found) != 1:
        raise StudyError(
            "not one captured cell", where=f"{run}: --cell",
            wanted="the beginning of one cell's id",
            got=f"{word!r}, which {len(found) or 'no'} captured cells begin with",
            hint=f"ids are the names of the folders in {run}/cells",
        )  # fmt: skip
    return found[0]


def announced(folders: Sequence[Path], *, all_points: bool) -> str:
    """Return how many bytes the export of these cells will write, in words.

    Raises:
        RunError: the disk has no room for them.
    """
    wanted_bytes = sum(_expected_bytes(folder, all_points=all_points) for folder in folders)
    free_bytes = shutil.disk_usage(folders[0]).free
    if wanted_bytes > free_bytes:
        raise RunError(
            "the disk has no room for the export", where=str(folders[0].parents[1]),
            wanted=f"about {size_text(wanted_bytes)}", got=size_text(free_bytes),
            hint="export single cells: --cell ID",
        )  # fmt: skip
    return f"writes about {size_text(wanted_bytes)}, of {how_many(len(folders), 'cell')}"


def _expected_bytes(folder: Path, *, all_points: bool) -> int:
    """Return how many bytes a cell's export will write; 0 for one that will be refused."""
    from collectors.tables import packet_evidence  # when needed: tables and reports load slowly
    from reports.wireshark.expected_size import expected_bytes
    from reports.wireshark.points import CAPTURE_POINTS

    name = run_folder.PACKETS_TABLE
    try:
        if plain_files.sha256(folder / name) != digests.read_done(folder).get(name):
            return 0
        points = json_file.read(CAPTURE_POINTS, folder / packet_evidence.POINTS, schema=None)
        return expected_bytes(folder / name, points.snap_bytes, all_points=all_points)
    except (GroundtruthError, OSError):
        return 0


def export(
    run: Path, chosen: Sequence[PlannedCell], report: Report, *, all_points: bool = False
) -> Outcome:
    """Export cells one after the other.

    Raises:
        OSError: nothing more can be written: the disk is full, say.
    """
    written, failures = [], []
    for done, planned in enumerate(chosen):
        report(done, len(chosen))
        try:
            written.append(_export_cell(run, planned, all_points=all_points))
        except GroundtruthError as error:
            failures.append((planned.id, str(error)))
    report(len(chosen), len(chosen))
    return Outcome(written=tuple(written), failures=tuple(failures))


def _export_cell(run: Path, planned: PlannedCell, *, all_points: bool) -> str:
    # Imported when needed: reports and tables take longer to load than most commands.
    from reports.wireshark.cell_export import export_cell

    folder = run_folder.cell_folder(run, planned.id)
    if not run_folder.is_done(folder):
        raise RunError("the cell is not finished", hint="run it: groundtruth resume RUN")
    digests.raise_if_freed(folder)
    changed = digests.changed(run, [planned.id]).get(planned.id)
    if changed is None:
        recorded = read_recorded(folder)
    else:
        with contextlib.suppress(OSError):
            list(plain_files.files(folder / "raw"))  # files and folders only
            read_recorded(folder)  # a capture that was cut or damaged is named with the byte
        raise DisagreementError("changed since the run", where=str(folder), got=changed)
    done = export_cell(run, planned.id, planned.cell, recorded, all_points=all_points)
    size = size_text(sum(file.stat().st_size for file in done.files))
    return f"{done.files[0]}: {done.packets} packets, {done.comments} comments ({size} in all)"


def read_recorded(folder: Path) -> Recorded:
    """Return a cell's captures as the writer takes them; raise :class:`ParseError` if damaged."""
    import numpy as np  # when needed, as the others

    from collectors.packets import checksum, ipv4
    from collectors.raw.files import read_as
    from collectors.raw.pcap import LINUX_SLL2
    from collectors.tables import packet_evidence
    from reports.wireshark.cell_export import Recorded
    from reports.wireshark.points import CAPTURE_POINTS

    records = packet_evidence.captures(folder)
    link = ipv4.parse_link(records)
    foreign = records.linktypes != LINUX_SLL2
    if foreign.any():
        name = records.names[int(records.files[int(foreign.argmax())])]
        raise ParseError("not a capture of a router", where=name, wanted="link type LINUX_SLL2")
    ip = ipv4.parse_ipv4(records, link)
    cut = ip.readable & ~ip.fragment & (ip.protocol == ipv4.SCTP) & (ip.captured_ends < ip.ends)

    def zero_bytes(rows: Ints) -> Ints:
        asked = rows[cut[rows]]
        starts = ip.transport[asked]
        kept, lengths = ip.captured_ends[asked] - starts, ip.ends[asked] - starts
        proven = checksum.ends_in_zeros(records.octets, starts, kept, lengths)
        found = np.zeros(len(rows), np.int64)
        found[cut[rows]] = np.where(proven, lengths - kept, 0)
        return found

    return Recorded(
        points=json_file.read(CAPTURE_POINTS, folder / packet_evidence.POINTS, schema=None),
        epoch_ns=packet_evidence.epoch_ns(folder),
        kernel=read_as(folder / run_folder.ENV, lambda env: str(env["kernel_release"])),
        names=records.names,
        files=records.files,
        ifindexes=link.ifindexes,
        octets=records.octets,
        t_ns=records.t_ns,
        starts=records.starts,
        network=link.network,
        captured_bytes=records.captured_bytes,
        wire_bytes=records.wire_bytes,
        zero_bytes=zero_bytes,
    )


def raise_if_failed(outcome: Outcome, chosen: int, run: Path) -> None:
    """Raise :class:`RunError` naming every cell that could not be exported."""
    if outcome.failures:
        lines = "".join(f"\n  cell {cell}: {why}" for cell, why in outcome.failures)
        raise RunError(
            f"{len(outcome.failures)} of {chosen} cells could not be exported:{lines}",
            where=str(run),
        )
