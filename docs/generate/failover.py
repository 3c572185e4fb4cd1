"""Write docs/guides/failover.md's tables from what is kept of a run of the study failover.

    make experiment STUDY=failover
    .venv/bin/python -m docs.generate.failover results/latest

Without a run, the page is written from what is kept in docs/generate/kept/failover.json. A test
holds the page against that, and that against the study file: when it changes, run the study again.
What lies outside the marks stays as it is written.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.generate.marks import between
from model import run_folder
from model.sctp_paths import PF_OFF
from reports.figures.path_timeline import due_s
from testbed.points.load_study import STUDIES_FOLDER, load_study
from testbed.points.resolve import resolve_cell

STUDY = STUDIES_FOLDER / "failover.yaml"
ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "generate" / "kept" / "failover.json"
FILE = ROOT / "docs" / "guides" / "failover.md"
#: RTO.Min where a point leaves it to the kernel.
RTO_MIN_S, MS_PER_S = 1.0, 1000
#: What is quoted of each point, and its head; the rest are times.
METRICS = {
    "failover_both_s": "new data leave the path after, s",
    "path_timeouts_both": "timeouts by then",
    "other_path_both_s": "data over the other path after, s",
    "message_delay_max_both_s": "longest message delay, s",
    "switchover_both_s": "other path is primary after, s",
    "return_both_s": "data return after the link is up, s",
}
HEADS = ("Path.Max.Retrans", "PF.Max.Retrans", "PS.Max.Retrans", "RTO.Min", "due, s")
POINTS = ("<!-- quoted: points -->\n", "<!-- end: points -->\n")
CLAIMS = ("<!-- quoted: claims -->\n", "<!-- end: claims -->\n")


def inputs() -> str:
    """Return the digest of the study file."""
    return hashlib.sha256(STUDY.read_bytes()).hexdigest()


def measured(run: Path) -> dict[str, Any]:
    """Return what is quoted of a run."""
    summary = json.loads((run / run_folder.SUMMARY_JSON).read_text())
    study = load_study(STUDY)
    cells = [resolve_cell(study, point, seed=1, replicate=1, lab={}) for point in study.points]
    return {
        "study": inputs(),
        "points": [
            {
                "point": one["point"],
                "due_s": _due_s(one["point"], cells),
                "metrics": {name: _kept(one["metrics"][name]) for name in METRICS},
            }
            for one in summary["points"]
        ],
        "claims": [
            {key: one[key] for key in ("id", "text", "where", "verdict", "evidence") if key in one}
            for one in summary["claims"]
        ],
    }


def _due_s(point: Mapping[str, Any], cells: Sequence[Any]) -> float:
    """Return when new data are to leave the path, by the RFCs and what the point asks for."""
    (cell,) = (one for one in cells if one.point == point)
    flow = next(flow for flow in cell.flows if flow.is_multihomed())
    asked_ms = flow.paths.rto_min_ms
    return due_s(flow, cell, RTO_MIN_S if asked_ms is None else asked_ms / MS_PER_S)[-1]


def _kept(metric: Mapping[str, Any]) -> dict[str, Any]:
    return {key: metric[key] for key in ("mean", "ci95", "n")}


def points_table(quoted: Mapping[str, Any]) -> str:
    """Return the table of points."""
    heads = (*HEADS, *METRICS.values())
    lines = [_row(heads), "|" + "---|" * len(heads)]
    for one in quoted["points"]:
        point = one["point"]
        pf = point["pf_max_retransmissions"]
        rto_ms = point["rto_min_ms"]
        cells = (
            str(point["path_max_retransmissions"]), "off" if pf == PF_OFF else str(pf),
            str(point["ps_max_retransmissions"]),
            rto_ms if isinstance(rto_ms, str) else f"{rto_ms} ms", f"{one['due_s']:g}",
            *(_value(one["metrics"][name], name) for name in METRICS),
        )  # fmt: skip
        lines.append(_row(cells))
    return "\n".join(lines) + "\n"


def _value(metric: Mapping[str, Any], name: str) -> str:
    """Return a mean with its interval; one without spread alone; none as a dash."""
    mean = metric["mean"]
    if mean is None:
        return "-"
    digits = 1 if name == "path_timeouts_both" else 2
    low, high = metric["ci95"] or (mean, mean)
    shown = [f"{value:.{digits}f}" for value in (mean, low, high)]
    return shown[0] if len(set(shown)) == 1 else f"{shown[0]} ({shown[1]} to {shown[2]})"


def claims_table(quoted: Mapping[str, Any]) -> str:
    """Return the table of claims."""
    lines = [_row(("claim", "verdict", "decisive evidence")), "|---|---|---|"]
    for one in quoted["claims"]:
        mark = "**" if one["verdict"] == "refuted" else ""
        text = one["text"].strip().rstrip(".")
        lines.append(_row((text, f"{mark}{one['verdict']}{mark}", one["evidence"])))
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def written(page: str, quoted: Mapping[str, Any]) -> str:
    """Return the page with the tables of what is kept."""
    for (begin, end), table in ((POINTS, points_table(quoted)), (CLAIMS, claims_table(quoted))):
        page = between(page, begin, table, end, FILE.name)
    return page


def main(folders: Sequence[str]) -> None:
    """Keep what is quoted of a run, if one is given, and write the page."""
    for folder in folders:
        KEPT.write_text(json.dumps(measured(Path(folder)), indent=1, sort_keys=True) + "\n")
    quoted = json.loads(KEPT.read_text())
    FILE.write_text(written(FILE.read_text(encoding="utf-8"), quoted), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
