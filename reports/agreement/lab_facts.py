"""What a run tells of the lab it was made in, and what may be why it differs from another. Pure.

Invariant: everything is what the run's cells recorded; what none of them did is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from model.check import Check
from reports.store.run import FinishedCell, Run

#: Of a cell's lab, by the name it has there: what readers see.
_OF_LAB = {
    "name": "lab", "kernel_package": "kernel's package", "clock": "clock",
    "image_digest": "image", "code_digest": "code",
}  # fmt: skip
#: Checks of how punctual a lab is, in words.
_PUNCTUAL = {"rtt": "round trip, calibrated", "start": "a flow begins"}
_TIME = re.compile(r"(-?[0-9.]+) (ms|s)\b")
_MS = {"ms": 1.0, "s": 1000.0}


def facts(run: Run, timers_hz: Iterable[float]) -> dict[str, str]:
    """Return what the cells say of their lab, in words.

    Args:
        run: with at least one finished cell.
        timers_hz: the timer frequencies of its kernels.
    """
    cells = run.finished
    found = {"kernel": _each(str(cell.env["kernel_release"]) for cell in cells)}
    found |= {words: _each(_of_lab(cell, key) for cell in cells) for key, words in _OF_LAB.items()}
    found["timer"] = _each(f"{hz:g} Hz" for hz in timers_hz)
    checks = [check for cell in cells for check in cell.checks]
    for name, words in _PUNCTUAL.items():
        found[words] = _most_off([check for check in checks if check.check == name])
    return {name: text for name, text in found.items() if text}


def _of_lab(cell: FinishedCell, key: str) -> str:
    return cell.cell.lab.get(key, "")


def _each(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(filter(None, texts)))


def _most_off(checks: Iterable[Check]) -> str:
    """Return by how much the worst of checks of a time is off; empty if none tells."""
    times = [(_times_ms(check.wanted), _times_ms(check.got)) for check in checks]
    told = [(abs(got[0] - wanted[0]), wanted[1]) for wanted, got in times if got and wanted[1:]]
    if not told:
        return ""
    off_ms, allowed_ms = max(told)
    return f"at most {off_ms:.2f} ms off ({allowed_ms:g} allowed)"


def _times_ms(text: str) -> list[float]:
    return [float(value) * _MS[unit] for value, unit in _TIME.findall(text)]
