"""Write the pages of what gallery studies found, each from what is kept of a run of its study.

    groundtruth run rfc9438
    .venv/bin/python -m docs.generate.study_pages results/latest

This keeps the run's numbers (docs/generate/kept/STUDY.json), its report (docs/showcase/STUDY.html)
and figures (docs/images/STUDY-*.svg). Without a run, the pages are written from what is kept. A
test holds each page against that, and that against the study file: when points or claims change,
run the study again. What lies outside the marks stays as it is written.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docs.generate import kept_run
from docs.generate.marks import between
from model import run_folder
from model.cell import Cell
from model.run_files.study import Parameter, ValueLabel
from model.sctp_paths import PF_OFF
from reports.figures.path_timeline import due_s
from reports.measures.quantities import called
from testbed.points.load_study import STUDIES_FOLDER, load_study
from testbed.points.resolve import resolve_cell

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Shown:
    """How a metric is shown: its head, in units of what, and with how many digits."""

    head: str
    per: float
    digits: int


@dataclass(frozen=True)
class Page:
    """A study's page.

    ``settings`` by the heads of their columns, with ``labels`` for the study's where those would
    repeat the head; ``computed`` is what follows from a point's cell, by head; ``tables`` by the
    name of their marks, each of metrics, of which ``printed`` are those that the publication prints
    numbers for; and ``figures``, which are kept, as the report is if it ``has_report``. ``page``
    names its file where that is not the study's name.
    """

    study: str
    settings: Mapping[str, str]
    tables: Mapping[str, Mapping[str, Shown]]
    labels: Mapping[str, str | tuple[ValueLabel, ...]] = field(default_factory=dict)
    computed: Mapping[str, Callable[[Cell], str]] = field(default_factory=dict)
    printed: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    has_report: bool = True
    page: str = ""

    @property
    def metrics(self) -> dict[str, Shown]:
        """Return the metrics of all tables."""
        return {name: shown for table in self.tables.values() for name, shown in table.items()}

    @property
    def study_file(self) -> Path:
        """Return the study's file."""
        return STUDIES_FOLDER / f"{self.study}.yaml"

    @property
    def file(self) -> Path:
        """Return the page."""
        return ROOT / "docs" / "guides" / f"{self.page or self.study}.md"

    @property
    def kept(self) -> Path:
        """Return the file with what is quoted of a run."""
        return ROOT / "docs" / "generate" / "kept" / f"{self.study}.json"

    @property
    def report(self) -> Path:
        """Return the report of that run."""
        return ROOT / "docs" / "showcase" / f"{self.study}.html"


#: RTO.Min where a point leaves it to the kernel.
RTO_MIN_S, MS_PER_S = 1.0, 1000


def _due(cell: Cell) -> str:
    """Return when new data are to leave a path, by the RFCs and what the cell asks for; in s."""
    flow = next(flow for flow in cell.flows if flow.is_multihomed())
    asked_ms = flow.paths.rto_min_ms
    return f"{due_s(flow, cell, RTO_MIN_S if asked_ms is None else asked_ms / MS_PER_S)[-1]:g}"


KILO, MILLI, PERCENT = 1e3, 1e-3, 1e-2
#: The flows of head-of-line.
FLOWS = {
    "tcp": "TCP", "one": "one stream", "four": "four", "many": "sixteen", "unordered": "unordered",
}  # fmt: skip
PAGES = (
    Page(
        study="rfc9438",
        settings={
            "congestion_control": "congestion control", "owd_s": "round trip",
            "every_pkts": "loss",
        },
        tables={
            "points": {
                "cwnd_mean_X_segments": Shown("average window, segments", 1, 1),
                "loss_X_frac": Shown("realised loss, %", PERCENT, 4),
                "timeouts_X": Shown("timeouts", 1, 0),
            }
        },
        printed=("cwnd_mean_X_segments",),
    ),
    Page(
        study="head-of-line",
        settings={"loss_frac": "loss"},
        tables={
            "points": {
                f"hol_{kind}_{group}_{unit}": Shown(f"{words}, {label}{sign}", per, digits)
                for kind, unit, words, sign, per, digits in (
                    ("wait_mean", "s", "waits for others", ", ms", MILLI, 2),
                    ("blocked", "frac", "blocked", ", %", PERCENT, 2),
                )
                for group, label in FLOWS.items()
            }
        },
    ),
    Page(
        study="bufferbloat",
        settings={"queue_discipline": "queue discipline", "ecn": "ECN"},
        labels={
            "ecn": (
                ValueLabel(value="false", text="no"), ValueLabel(value="true", text="yes"),
            ),
        },
        tables={
            "call": {
                "queueing_C_s": Shown("the call's time in the buffer, mean, ms", MILLI, 1),
                "queueing_p95_C_s": Shown("95 %, ms", MILLI, 1),
                "queueing_p99_C_s": Shown("99 %, ms", MILLI, 1),
                "jitter_C_s": Shown("jitter, ms", MILLI, 2),
                "queue_dropped_C_pkts": Shown("dropped", 1, 1),
            },
            "transfers": {
                "queueing_B_s": Shown("transfers' time in the buffer, mean, ms", MILLI, 1),
                "queueing_p95_B_s": Shown("95 %, ms", MILLI, 1),
                "utilisation_pct": Shown("utilisation, %", 1, 1),
                "queue_dropped_B_pkts": Shown("dropped", 1, 0),
                "marked_B_pkts": Shown("marked", 1, 0),
                "retransmitted_B_pkts": Shown("sent again", 1, 0),
            },
        },
    ),
    Page(
        study="bbr-share",
        settings={"congestion_control": "beside", "copies": "of them", "queue_pkts": "buffer"},
        tables={
            "points": {
                "share_bbr_pct": Shown("BBR's share, %", 1, 1),
                "utilisation_pct": Shown("utilisation, %", 1, 1),
                "queue_dropped_bbr_pkts": Shown("dropped, BBR", 1, 0),
                "queue_dropped_loss_pkts": Shown("dropped, the others", 1, 0),
                "timeouts_bbr": Shown("timeouts, BBR", 1, 1),
                "timeouts_loss": Shown("timeouts, the others", 1, 1),
            }
        },
        printed=("share_bbr_pct",),
    ),
    Page(
        study="rtt-unfairness",
        settings={
            "near_congestion_control": "both flows", "process": "losses", "owd_s": "round trips",
        },
        tables={
            "points": {
                "pct_increase": Shown("near flow's lead, %", 1, 1),
                "cwnd_mean_near_segments": Shown("window, near, segments", 1, 1),
                "cwnd_mean_far_segments": Shown("far", 1, 1),
                "loss_near_frac": Shown("realised loss, near, %", PERCENT, 3),
                "loss_far_frac": Shown("far, %", PERCENT, 3),
                "timeouts_near": Shown("timeouts, near", 1, 1),
                "timeouts_far": Shown("far", 1, 1),
            }
        },
    ),
    Page(
        study="router-buffers",
        settings={"pairs": "flows", "queue_pkts": "buffer"},
        tables={
            "points": {
                "utilisation_link_pct": Shown("utilisation, %", 1, 2),
                "queue_dropped_T_pkts": Shown("dropped", 1, 0),
                "retransmitted_T_pkts": Shown("sent again", 1, 0),
                "timeouts_T": Shown("timeouts", 1, 1),
                "jain_flows": Shown("fairness", 1, 3),
            }
        },
        printed=("utilisation_link_pct",),
    ),
    Page(
        study="manet",
        page="manet-results",
        settings={
            "protocol": "protocol", "multihoming": "interfaces", "ends": "ends",
            "max_mps": "mobility", "rate_bps": "load",
        },
        tables={
            "points": {
                "goodput_M_bps": Shown("goodput, kbit/s", KILO, 0),
                "connect_M_s": Shown("connect time, ms", MILLI, 0),
                "retransmitted_M_pkts": Shown("segments or chunks sent again", 1, 0),
                "timeouts_M": Shown("timeouts", 1, 0),
                "sack_bandwidth_M_bps": Shown("selective acknowledgements, kbit/s", KILO, 2),
                "ack_bandwidth_M_bps": Shown("packets that acknowledge, kbit/s", KILO, 1),
                "goodput_C_bps": Shown("constant flows' goodput, kbit/s", KILO, 1),
            },
            "radio": {
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
            },
        },
        figures=(
            "goodput_M_bps", "retransmitted_M_pkts", "sack_bandwidth_M_bps", "connect_M_s",
        ),
    ),
    Page(
        study="failover",
        settings={
            "path_max_retransmissions": "Path.Max.Retrans",
            "pf_max_retransmissions": "PF.Max.Retrans",
            "ps_max_retransmissions": "PS.Max.Retrans",
            "rto_min_ms": "RTO.Min",
        },
        labels={
            "path_max_retransmissions": "{value}",
            "pf_max_retransmissions": (ValueLabel(value=PF_OFF, text="off"),),
            "ps_max_retransmissions": "{value}",
            "rto_min_ms": "{value}",
        },
        computed={"due, s": _due},
        tables={
            "points": {
                "failover_both_s": Shown("new data leave the path after, s", 1, 2),
                "path_timeouts_both": Shown("timeouts by then", 1, 1),
                "other_path_both_s": Shown("data over the other path after, s", 1, 2),
                "message_delay_max_both_s": Shown("longest message delay, s", 1, 2),
                "switchover_both_s": Shown("other path is primary after, s", 1, 2),
                "return_both_s": Shown("data return after the link is up, s", 1, 2),
            }
        },
        has_report=False,
    ),
)  # fmt: skip


def measured(page: Page, run: Path) -> dict[str, Any]:
    """Return what is quoted of a run."""
    summary = kept_run.summary_of(run)
    return {
        "study": kept_run.inputs(page.study_file),
        "points": [
            {
                "point": one["point"],
                "metrics": kept_run.metrics_of(one, tuple(page.metrics)),
                "printed": {name: one["metrics"][name]["published"] for name in page.printed},
            }
            for one in summary["points"]
        ],
        "claims": kept_run.claims_of(summary),
    }  # fmt: skip


def _printed(value: float | None, per: float) -> str:
    """Return a number that the publication prints, a dash where it prints none."""
    return "-" if value is None else f"{value / per:g}"


def points_table(
    page: Page,
    table: str,
    quoted: Mapping[str, Any],
    parameters: Sequence[Parameter],
    cells: Sequence[Cell] = (),
) -> str:
    """Return a table of points: what was asked for, in readers' words, and what came of it.

    ``cells`` has one of each point, where anything is computed of them.
    """
    metrics = page.tables[table]
    printing = [name for name in page.printed if name in metrics]
    by_name = {one.name: one for one in parameters}
    heads = [
        *page.settings.values(),
        *page.computed,
        *(f"printed: {metrics[name].head}" for name in printing),
        *(shown.head for shown in metrics.values()),
    ]
    rows = []
    for one in quoted["points"]:
        asked = [called(by_name[name], one["point"][name]) for name in page.settings]
        if page.computed:
            (cell,) = (cell for cell in cells if cell.point == one["point"])
            asked += [compute(cell) for compute in page.computed.values()]
        found = [
            kept_run.with_interval(one["metrics"][name], shown.digits, shown.per)
            for name, shown in metrics.items()
        ]
        printed = [_printed(one["printed"][name], metrics[name].per) for name in printing]
        rows.append([*asked, *printed, *found])
    return kept_run.table(heads, rows)


def written(page: Page, text: str, quoted: Mapping[str, Any]) -> str:
    """Return the page's text with the tables of what is kept."""
    study = load_study(page.study_file)
    parameters = [
        Parameter(
            name=one.name, path=one.path,
            label=page.labels.get(one.name, study.labels.get(one.path)),
        )
        for one in study.parameters
    ]  # fmt: skip
    cells = [
        resolve_cell(study, point, seed=1, replicate=1, lab={})
        for point in (study.points if page.computed else ())
    ]
    tables = {name: points_table(page, name, quoted, parameters, cells) for name in page.tables}
    tables["claims"] = kept_run.claims_table(quoted)
    for name, table in tables.items():
        begin, end = (f"<!-- {word}: {name} -->\n" for word in ("quoted", "end"))
        text = between(text, begin, table, end, page.file.name)
    return text


def keep(page: Page, run: Path) -> None:
    """Keep what is quoted of a run, its report and its figures."""
    kept_run.keep(page.kept, measured(page, run))
    report = run / run_folder.REPORT
    if page.has_report:
        page.report.parent.mkdir(exist_ok=True)
        shutil.copyfile(report / "index.html", page.report)
    for name in page.figures:
        figure = ROOT / "docs" / "images" / f"{page.study}-{name}.svg"
        shutil.copyfile(report / "figures" / f"{name}.svg", figure)


def main(folders: Sequence[str]) -> None:
    """Keep what is quoted of runs, if any are given, and write all pages."""
    pages = {page.study: page for page in PAGES}
    for folder in folders:
        keep(pages[kept_run.summary_of(Path(folder))["study"]], Path(folder))
    for page in PAGES:
        text = page.file.read_text(encoding="utf-8")
        page.file.write_text(written(page, text, kept_run.kept(page.kept)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
