"""Write docs/guides/failover.md's tables from what is kept of a run of the study failover.

    make experiment STUDY=failover
    .venv/bin/python -m docs.generate.failover results/latest

Without a run, the page is written from what is kept in docs/generate/kept/failover.json. A test
holds the page against that, and that against the study file: when it changes, run the study again.
What lies outside the marks stays as it is written.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.generate import kept_run
from docs.generate.marks import between
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


def measured(run: Path) -> dict[str, Any]:
    """Return what is quoted of a run."""
    summary = kept_run.summary_of(run)
    study = load_study(STUDY)
    cells = [resolve_cell(study, point, seed=1, replicate=1, lab={}) for point in study.points]
    return {
        "study": kept_run.inputs(STUDY),
        "points": [
            {
                "point": one["point"],
                "due_s": _due_s(one["point"], cells),
                "metrics": kept_run.metrics_of(one, tuple(METRICS)),
            }
            for one in summary["points"]
        ],
        "claims": kept_run.claims_of(summary),
    }


def _due_s(point: Mapping[str, Any], cells: Sequence[Any]) -> float:
    """Return when new data are to leave the path, by the RFCs and what the point asks for."""
    (cell,) = (one for one in cells if one.point == point)
    flow = next(flow for flow in cell.flows if flow.is_multihomed())
    asked_ms = flow.paths.rto_min_ms
    return due_s(flow, cell, RTO_MIN_S if asked_ms is None else asked_ms / MS_PER_S)[-1]


def points_table(quoted: Mapping[str, Any]) -> str:
    """Return the table of points."""
    rows = []
    for one in quoted["points"]:
        point = one["point"]
        pf = point["pf_max_retransmissions"]
        rto_ms = point["rto_min_ms"]
        rows.append((
            str(point["path_max_retransmissions"]), "off" if pf == PF_OFF else str(pf),
            str(point["ps_max_retransmissions"]),
            rto_ms if isinstance(rto_ms, str) else f"{rto_ms} ms", f"{one['due_s']:g}",
            *(
                kept_run.with_interval(one["metrics"][name], _digits(name)) for name in METRICS
            ),
        ))  # fmt: skip
    return kept_run.table((*HEADS, *METRICS.values()), rows)


def _digits(name: str) -> int:
    return 1 if name == "path_timeouts_both" else 2


def written(page: str, quoted: Mapping[str, Any]) -> str:
    """Return the page with the tables of what is kept."""
    for (begin, end), table in (
        (POINTS, points_table(quoted)),
        (kept_run.CLAIMS, kept_run.claims_table(quoted)),
    ):
        page = between(page, begin, table, end, FILE.name)
    return page


def main(folders: Sequence[str]) -> None:
    """Keep what is quoted of a run, if one is given, and write the page."""
    for folder in folders:
        kept_run.keep(KEPT, measured(Path(folder)))
    page = FILE.read_text(encoding="utf-8")
    FILE.write_text(written(page, kept_run.kept(KEPT)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
