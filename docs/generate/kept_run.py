"""What a page quotes of one run of a study: kept in a file, and written into the page's tables.

A study's page is held against what is kept, and that against the study file, by tests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from model import run_folder

CLAIMS = ("<!-- quoted: claims -->\n", "<!-- end: claims -->\n")
#: What is quoted of a metric at a point, and of a claim.
OF_METRIC = ("mean", "ci95", "n")
OF_CLAIM = ("id", "text", "where", "verdict", "evidence")


def summary_of(run: Path) -> dict[str, Any]:
    """Return a run's summary."""
    found: dict[str, Any] = json.loads((run / run_folder.SUMMARY_JSON).read_text())
    return found


def inputs(study: Path) -> str:
    """Return the digest of all in a study file that its points and claims rest on.

    Its assumptions are not: their text and alternatives change nothing at the study's own points.
    """
    document = yaml.safe_load(study.read_bytes())
    asked = {key: value for key, value in document.items() if key != "assumptions"}
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def metrics_of(point: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return what is quoted of the metrics of one of a summary's points."""
    return {name: {key: point["metrics"][name][key] for key in OF_METRIC} for name in names}


def claims_of(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what is quoted of a summary's claims."""
    return [{key: one[key] for key in OF_CLAIM if key in one} for one in summary["claims"]]


def keep(place: Path, quoted: Mapping[str, Any]) -> None:
    """Write what is quoted into its file."""
    place.write_text(json.dumps(quoted, indent=1, sort_keys=True) + "\n")


def kept(place: Path) -> dict[str, Any]:
    """Return what is quoted, as it was kept."""
    found: dict[str, Any] = json.loads(place.read_text())
    return found


def claims_table(quoted: Mapping[str, Any]) -> str:
    """Return the table of claims, in Markdown."""
    rows = []
    for one in quoted["claims"]:
        mark = "**" if one["verdict"] == "refuted" else ""
        text = one["text"].strip().rstrip(".")
        rows.append((text, f"{mark}{one['verdict']}{mark}", one["evidence"]))
    return table(("claim", "verdict", "decisive evidence"), rows)


def with_interval(metric: Mapping[str, Any], digits: int, per: float = 1) -> str:
    """Return a mean and its interval in units of ``per``; without spread the mean; none, a dash."""
    if metric["mean"] is None:
        return "-"
    values = (metric["mean"], *(metric["ci95"] or (metric["mean"],) * 2))
    shown = [f"{value / per:.{digits}f}" for value in values]
    return shown[0] if len(set(shown)) == 1 else f"{shown[0]} ({shown[1]} to {shown[2]})"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)
