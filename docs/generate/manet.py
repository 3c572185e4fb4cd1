"""Write docs/guides/manet-results.md from what is kept of a run of the study manet.

    groundtruth run manet --no-sensitivity
    .venv/bin/python -m docs.generate.manet results/latest

This keeps the run's numbers (docs/generate/kept/manet.json), its figures (docs/images/manet-*.svg)
and its report (docs/showcase/manet.html). Without a run, the page is written from what is kept. A
test holds the page against that, and that against the study file: when its points or claims
change, run the study again. What lies outside the marks stays as it is written.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from docs.generate import kept_run
from docs.generate.marks import between
from model import run_folder
from testbed.points.load_study import STUDIES_FOLDER

STUDY = STUDIES_FOLDER / "manet.yaml"
ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "generate" / "kept" / "manet.json"
FILE = ROOT / "docs" / "guides" / "manet-results.md"
IMAGES = ROOT / "docs" / "images"
REPORT = ROOT / "docs" / "showcase" / "manet.html"
#: The publication's figures 1 to 3, and one that its text describes.
FIGURES = ("goodput_M_bps", "retransmitted_M_pkts", "sack_bandwidth_M_bps", "connect_M_s")


class Shown(NamedTuple):
    """How a metric is shown: its head, in units of what, and with how many digits."""

    head: str
    per: float
    digits: int


KILO, MILLI, PERCENT = 1e3, 1e-3, 1e-2
TRANSPORT = {
    "goodput_M_bps": Shown("goodput, kbit/s", KILO, 0),
    "connect_M_s": Shown("connect time, ms", MILLI, 0),
    "retransmitted_M_pkts": Shown("segments or chunks sent again", 1, 0),
    "sack_bandwidth_M_bps": Shown("selective acknowledgements, kbit/s", KILO, 2),
    "ack_bandwidth_M_bps": Shown("packets that acknowledge, kbit/s", KILO, 1),
    "goodput_C_bps": Shown("constant flows' goodput, kbit/s", KILO, 1),
}
RADIO = {
    "link_breaks": Shown("link breaks", 1, 0),
    "routing_rate_bps": Shown("routing, kbit/s", KILO, 1),
    "frames_given_up": Shown("frames given up", 1, 0),
    "packets_given_up": Shown("packets given up", 1, 0),
    "attempts_collided_frac": Shown("attempts that collided, %", PERCENT, 1),
    "rts_unanswered_frac": Shown("RTS unanswered, %", PERCENT, 1),
    "air_data_frac": Shown("air: data, %", PERCENT, 1),
    "air_rts_cts_frac": Shown("RTS and CTS, %", PERCENT, 1),
    "air_ack_frac": Shown("ACKs, %", PERCENT, 1),
    "air_broadcast_frac": Shown("to all, %", PERCENT, 1),
    "air_management_frac": Shown("beacons, %", PERCENT, 1),
}
HEADS = ("protocol", "interfaces", "ends", "speeds up to, m/s", "each constant flow, kbit/s")
WORDS = {
    "tcp": "TCP SACK", "sctp": "SCTP", "none": "one", "same-channel": "two",
    "two-networks": "two networks",
}  # fmt: skip
TABLES = (
    (("<!-- quoted: points -->\n", "<!-- end: points -->\n"), TRANSPORT),
    (("<!-- quoted: radio -->\n", "<!-- end: radio -->\n"), RADIO),
)


def measured(run: Path) -> dict[str, Any]:
    """Return what is quoted of a run."""
    summary = kept_run.summary_of(run)
    names = (*TRANSPORT, *RADIO)
    return {
        "study": kept_run.inputs(STUDY),
        "points": [
            {"point": one["point"], "metrics": kept_run.metrics_of(one, names)}
            for one in summary["points"]
        ],
        "claims": kept_run.claims_of(summary),
    }


def points_table(quoted: Mapping[str, Any], metrics: Mapping[str, Shown]) -> str:
    """Return a table of some metrics at all points."""
    rows = []
    for one in quoted["points"]:
        point = one["point"]
        asked = (
            WORDS[point["protocol"]], WORDS[point["multihoming"]], point["ends"],
            f"{point['max_mps']:g}", f"{point['rate_bps'] / KILO:g}",
        )  # fmt: skip
        values = (
            kept_run.with_interval(one["metrics"][name], shown.digits, shown.per)
            for name, shown in metrics.items()
        )
        rows.append((*asked, *values))
    return kept_run.table((*HEADS, *(shown.head for shown in metrics.values())), rows)


def written(page: str, quoted: Mapping[str, Any]) -> str:
    """Return the page with the tables of what is kept."""
    for (begin, end), metrics in TABLES:
        page = between(page, begin, points_table(quoted, metrics), end, FILE.name)
    return between(
        page, kept_run.CLAIMS[0], kept_run.claims_table(quoted), kept_run.CLAIMS[1], FILE.name
    )


def main(folders: Sequence[str]) -> None:
    """Keep what is quoted of a run, if one is given, and write the page."""
    for folder in folders:
        kept_run.keep(KEPT, measured(Path(folder)))
        report = Path(folder) / run_folder.REPORT
        REPORT.parent.mkdir(exist_ok=True)
        shutil.copyfile(report / "index.html", REPORT)
        for name in FIGURES:
            shutil.copyfile(report / "figures" / f"{name}.svg", IMAGES / f"manet-{name}.svg")
    FILE.write_text(written(FILE.read_text(), kept_run.kept(KEPT)))


if __name__ == "__main__":
    main(sys.argv[1:])
