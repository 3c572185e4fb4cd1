"""Run one cell in a lab, parse it, and mark it done. The unit of work of every campaign.

Invariants: a cell folder has a DONE file exactly if everything in it is complete; DONE is written
last, by rename. The folder is the host's: a lab writes into one of its own inside it, and what it
left there is looked at before any of it is moved, opened or parsed. Neither lab nor parser is told
which cell of which study it is, so that what comes from the store is what would have come of it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import platform
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collectors.audit import starts
from collectors.raw.files import file_name, read_as, read_json, read_text, whole
from model import plain_files, run_folder
from model.cell import Cell, cell_json
from model.check import Check
from model.errors import LateError, MachineError, ParseError, RunError, VerifyError
from model.movement import kept
from model.tolerances import EXACT, Tolerances
from testbed.campaign import digests
from testbed.guest import calibration
from testbed.guest.ledger import disagreements
from testbed.labs.contract import accept
from testbed.labs.contract.lab import Lab, Ran
from testbed.machine import room, trees
from testbed.store.cells import Shelf, Store, Taken
from testbed.store.identity import unlabelled

LATE = "the machine did not keep up: "


@dataclass(frozen=True, kw_only=True)
class Executed:
    """How a cell came to be finished, and what went wrong with the store on the way."""

    from_store: bool = False
    said: tuple[str, ...] = ()


def execute(
    cell: Cell,
    folder: Path,
    lab: Lab,
    cancelled: threading.Event,
    late: Sequence[str] = (),
    store: Store | None = None,
) -> Executed:
    """Bring a cell into ``folder``, which is emptied first unless it is finished already.

    It is a run's, as :func:`run_folder.cell_folder` places it; the run keeps what nodes follow.
    ``late`` is said of each time before, for which the machine did not keep up; it is kept.
    ``store`` may have the cell, and gets it otherwise; without one it is run, whatever there is.

    Raises:
        GroundtruthError: the lab failed, an output could not be parsed, or what was read back or
            measured is not what was asked for.
    """
    if run_folder.is_done(folder):
        return Executed()
    moved = _followed(cell, folder)
    shelf = store.shelf(cell, lab.properties) if store and lab.properties.repeatable else None
    taken = _begun(cell, folder, shelf)
    if shelf is None:
        conclude(cell, folder, _ran(cell, folder, lab, cancelled, moved), lab, late)
        return Executed()
    if taken and taken.whole:
        _from_store(folder, taken)
        return Executed(from_store=True, said=tuple(shelf.said))
    ran = Ran(wall_s=taken.wall_s) if taken else _ran(cell, folder, lab, cancelled, moved)
    with shelf.filled(folder) as filling:
        conclude(cell, folder, ran, lab, late, taken)
        filling.keep(folder, digests.read_done(folder), ran.wall_s)
    return Executed(from_store=taken is not None, said=tuple(shelf.said))


def from_store(cell: Cell, folder: Path, lab: Lab, store: Store | None) -> Executed | None:
    """Finish a cell that the store has all of, in ``folder``, which is emptied first.

    None if the store has not; raises as :func:`execute`.
    """
    if store is None or not lab.properties.repeatable:
        return None
    shelf = store.shelf(cell, lab.properties)
    taken = _begun(cell, folder, shelf)
    if taken is None or not taken.whole:
        return None
    _from_store(folder, taken)
    return Executed(from_store=True, said=tuple(shelf.said))


def _begun(cell: Cell, folder: Path, shelf: Shelf | None) -> Taken | None:
    """Begin a cell's folder anew, with what the store has of it."""
    try:
        trees.remove(folder)
        folder.mkdir(parents=True)
        taken = shelf.take(folder) if shelf else None
        plain_files.write_text(folder / run_folder.CELL, cell_json(cell))
    except OSError as error:
        raise _cannot_prepare(folder, error) from error
    return taken


def _cannot_prepare(folder: Path, error: OSError) -> RunError:
    kind = RunError if room.is_full(error) else MachineError
    return kind("cannot prepare a cell", where=str(folder), got=str(error))


def _ran(
    cell: Cell, folder: Path, lab: Lab, cancelled: threading.Event, moved: bytes | None
) -> Ran:
    """Run a cell in its lab, and take over what that left."""
    guest = folder / run_folder.GUEST
    try:
        guest.mkdir()
        plain_files.write_text(guest / run_folder.CELL, cell_json(unlabelled(cell)))
        if moved is not None:
            plain_files.write(guest / run_folder.GIVEN_MOVEMENT, moved)
    except OSError as error:
        raise _cannot_prepare(folder, error) from error
    try:
        ran = lab.run(cell, guest, cancelled)
    except BaseException:
        # What a cell that failed left may say why: reports look at it if it is what cells leave.
        with contextlib.suppress(RunError):
            accept.take(guest, folder, cell)
        raise
    accept.take(guest, folder, cell)
    return ran


def _from_store(folder: Path, taken: Taken) -> None:
    """Finish a cell whose files have all come from the store, and were found to be as they were."""
    plain_files.write_text(folder / run_folder.CONSOLE, f"{_store_words(taken)}\n")
    write_json(folder / run_folder.TIMING, _timing(Ran(wall_s=taken.wall_s), (), taken))
    own = plain_files.sha256(folder / run_folder.CELL)
    write_done(folder, {**taken.sha256, run_folder.CELL: own})


def _store_words(taken: Taken) -> str:
    return f"groundtruth: no lab ran here: from the store, evidence {taken.entry}"


def _followed(cell: Cell, folder: Path) -> bytes | None:
    """Return the movement that a cell's nodes follow; None where it is not of a file."""
    sha256 = cell.ad_hoc.mobility.movement_sha256 if cell.ad_hoc else ""
    if not sha256:
        return None
    return kept.read(run_folder.kept_movement(folder.parents[1], sha256), sha256)


def conclude(
    cell: Cell,
    folder: Path,
    ran: Ran,
    lab: Lab,
    late: Sequence[str] = (),
    taken: Taken | None = None,
) -> None:
    """Parse or check what a lab left, and write DONE; raise as :func:`execute`."""
    cell, tolerances = unlabelled(cell), lab.properties.tolerances
    if ran.checks:
        _settle(folder, ran.checks, LATE, LateError)
    if cell.simulated():
        from simulators.ns2 import cell_files  # when needed: tables are slow to load

        cell_files.conclude(folder, cell)
    elif cell.purpose == "calibrate" and cell.ad_hoc:
        from testbed.campaign import radio_checks  # when needed: few cells have radios

        _settle(folder, radio_checks.read(folder, cell.ad_hoc), "calibration: ")
    elif cell.purpose == "calibrate":
        check_calibration(cell, folder, tolerances)
    else:
        from collectors.tables.write import write_tables  # when needed: tables are slow to load

        check_starts(cell, folder, tolerances)
        write_tables(folder, cell, tolerances)
        check_ledger(folder)
        if cell.on_machines_kernel() and cell.collect.pcap:
            check_netem(cell, folder)
    if taken:
        plain_files.write_text(folder / run_folder.CONSOLE, f"{_store_words(taken)}\n")
    write_json(folder / run_folder.TIMING, _timing(ran, late, taken))
    finish(folder)


def _timing(ran: Ran, late: Sequence[str], taken: Taken | None = None) -> dict[str, Any]:
    """Return what this execution took; of what was not measured there is nothing.

    A cell from the store took the lab no time now: what it took then is said apart.
    """
    cpu_s = None if ran.cpu_s is None else round(ran.cpu_s, 3)
    told: dict[str, Any] = {
        "cpu_s": cpu_s, "peak_memory_bytes": ran.peak_memory_bytes, "late": list(late) or None,
        "machine": None if taken else platform.node() or None,
    }  # fmt: skip
    if taken:
        told["from_store"] = {
            "evidence": taken.entry, "parsed": not taken.whole, "wall_s": round(taken.wall_s, 3)
        }  # fmt: skip
    return {
        "wall_s": 0.0 if taken else round(ran.wall_s, 3),
        **{name: value for name, value in told.items() if value is not None},
    }


def finish(folder: Path) -> None:
    """Write DONE with the digests of all that is there."""
    write_done(folder, digests.of_cell(folder))


def write_done(folder: Path, recorded: Mapping[str, str]) -> None:
    """Write DONE with these digests, whole or not at all."""
    plain_files.write_text(folder / run_folder.DONE, digests.done_text(recorded))


def write_json(path: Path, value: Any) -> None:
    """Write one JSON file with sorted keys."""
    plain_files.write_text(path, json_text(value))


def json_text(value: Any) -> str:
    """Return a JSON text with sorted keys."""
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def check_ledger(folder: Path) -> None:
    """Raise :class:`VerifyError` if any host setting was read back other than asked."""
    wrong = read_as(folder / run_folder.LEDGER, disagreements)
    if wrong:
        where, wanted, got = wrong[0]
        raise VerifyError(
            "a host setting did not take",
            where=f"cell {folder.name}, {where}",
            wanted=wanted,
            got=got,
            hint=f"{len(wrong)} settings disagree; all are in {run_folder.LEDGER}",
        )


def check_starts(cell: Cell, folder: Path, tolerances: Tolerances = EXACT) -> None:
    """Add when each flow began to the cell's checks, and raise if one began at another time.

    On a machine's kernel a program's start can wait for the machine, so that is lateness.
    """
    made = starts.read_checks(folder, cell, tolerances)
    if cell.on_machines_kernel():
        _settle(folder, made, LATE, LateError)
    else:
        _settle(folder, made, "")


def check_netem(cell: Cell, folder: Path) -> None:
    """Add whether the channel let packets go in time to the checks; raise if it did not."""
    from collectors.audit import netem_punctuality  # when needed: tables are slow to load
    from collectors.tables.packet_evidence import one_way_delays

    if not one_way_delays(folder):  # the channel's ends are on two machines
        return
    made = netem_punctuality.read_checks(folder, cell)
    _settle(folder, made, LATE, LateError)


def _settle(
    folder: Path, made: Sequence[Check], what: str, error_kind: type[VerifyError] = VerifyError
) -> None:
    """Add comparisons to the cell's checks; raise an error of that kind if one disagrees."""
    verify = read_json(folder / run_folder.VERIFY)
    try:
        verify["checks"] += [dataclasses.asdict(item) for item in made]
    except (KeyError, TypeError) as error:
        raise ParseError(
            "not what a lab writes", where=str(folder / run_folder.VERIFY), got=repr(error)
        ) from error
    write_json(folder / run_folder.VERIFY, verify)
    wrong = [item for item in made if item.agrees is False]
    if wrong:
        raise error_kind(
            f"{what}{wrong[0].check} is not as asked",
            where=f"cell {folder.name}, {wrong[0].where}",
            wanted=wrong[0].wanted,
            got=wrong[0].got,
            hint=f"{len(wrong)} of {len(made)} checks disagree; all are in {run_folder.VERIFY}",
        )


def _measurements(value: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what a calibration measured, by run; raise ``ValueError`` for what counts nothing."""
    found = {}
    for run, entry in value.items():
        counts = {name: whole(entry[name]) for name in ("packets", "ip_bytes")}
        log = file_name(entry["log"])
        if 0 in counts.values():
            raise ValueError(f"{run}: {counts}, {log!r}")
        found[run] = {**counts, "log": log}
    return found


def check_calibration(cell: Cell, folder: Path, tolerances: Tolerances) -> None:
    """Check what a calibrating cell measured, keep it with the others, raise if one disagrees."""
    from testbed.campaign import calibration_checks  # when needed: statistics take a second to load

    source = folder / "raw" / "calibration.json"
    found = read_as(source, _measurements)
    logs = {}
    try:
        for planned in calibration.runs(cell.wired, cell.seed):
            # Each is drawn for again: a number that was not asked for may be anything.
            if (sent := found[planned.name]["packets"]) != planned.packets:
                raise ValueError(f"{planned.name}: {sent} packets, not {planned.packets}")
        for run, entry in found.items():
            path = folder / "raw" / "calibration" / entry["log"]
            logs[run] = calibration_checks.read_log(read_text(path), str(path))
        made = calibration_checks.checks(cell.wired, cell.seed, found, logs, tolerances)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise ParseError(
            "not what a calibration writes", where=str(source), got=repr(error)
        ) from error
    _settle(folder, made, "calibration: ")
