"""Names of everything in a run folder; the only place that knows them.

<run>/ study.yaml resolved.json plan.json cells.json replication.json provenance.json
      warnings.json lab.json manifest.json movements/<sha256>.csv
<run>/cells/<id>/ cell.json env.json commands.jsonl raw/ tables/*.parquet verify.json
                 audit.json DONE
<run>/failed/<id>/attempt-<n>/ failure.json, what else such a cell left
<run>/summary.json summary.csv report/index.html pcap/ export/<format>/ compared/<source>/

<set>/ set.json <run>/ <run>/ ... summary.json report/index.html
<comparison of labs>/ crosscheck.json crosscheck.md
<comparison of kernels>/ set.json <run>/ ... kernels.json kernels.md kernels.html
<bisection>/ bisect.json bisect.md set.json <run>/ <run>/ ...
"""

from __future__ import annotations

import re
from pathlib import Path

from model import plain_files

STUDY = "study.yaml"
RESOLVED = "resolved.json"
PLAN = "plan.json"
REPLICATION = "replication.json"
WARNINGS = "warnings.json"
CELLS = "cells.json"
PROVENANCE = "provenance.json"
LAB = "lab.json"
#: What a live simulator gave for the same study.
SIMULATOR = "simulator.json"
#: The digests of all these.
MANIFEST = "manifest.json"
#: Movements that cells follow, each named by its own digest; covered, too.
MOVEMENTS = "movements"
_MOVEMENT = re.compile(r"movements/[0-9a-f]{64}\.csv", re.A)
COVERED = (STUDY, RESOLVED, PLAN, CELLS, PROVENANCE, REPLICATION, WARNINGS, LAB, SIMULATOR)
SUMMARY_JSON = "summary.json"
SUMMARY_CSV = "summary.csv"
REPORT = "report"
REPORT_HTML = "report/index.html"
REPORT_SECTION = "report/section.json"
TABLES_MD = "report/tables.md"
TABLES_TEX = "report/tables.tex"
PCAP = "pcap"
#: What is exported for other tools: a folder for each format.
EXPORT = "export"
#: What makes a folder of run folders a set: their names, in order.
SET = "set.json"
#: What a comparison of labs leaves, in a set of one run per lab or in a folder of its own.
CROSSCHECK_JSON, CROSSCHECK_MD = "crosscheck.json", "crosscheck.md"
#: What an explanation by mechanisms leaves, in a set of one run per set of mechanisms.
EXPLANATION_JSON, EXPLANATION_MD = "explanation.json", "explanation.md"
EXPLANATION_HTML = "explanation.html"
#: What a comparison of kernels leaves, in a set of one run per kernel.
KERNELS_JSON, KERNELS_MD, KERNELS_HTML = "kernels.json", "kernels.md", "kernels.html"
#: What users' own results beside the run give: a folder for each source of them.
COMPARED = "compared"
COMPARISON_JSON, COMPARISON_MD = "comparison.json", "comparison.md"
COMPARISON_HTML = "comparison.html"
#: What a bisection leaves, in a set of one run per kernel it tried.
BISECTION_JSON, BISECTION_MD = "bisect.json", "bisect.md"
#: Beginnings of names of folders in which something is repeated, parsed or comes from another
#: machine; left by who was killed.
SCRATCH = VERIFY_SCRATCH, PARSE_SCRATCH, ARRIVING = ".verify-", ".parse-", ".arriving-"
#: The same, beside runs: where a run's folder is made before it has its name.
MAKING = ".making-"
#: Names in a set's folder that no run in it can have.
OF_SET = frozenset({
    SET, SUMMARY_JSON, REPORT, CROSSCHECK_JSON, CROSSCHECK_MD, EXPLANATION_JSON, EXPLANATION_MD,
    EXPLANATION_HTML, KERNELS_JSON, KERNELS_MD, KERNELS_HTML, BISECTION_JSON, BISECTION_MD,
})  # fmt: skip

CELL = "cell.json"
ENV = "env.json"
COMMANDS = "commands.jsonl"
VERIFY = "verify.json"
AUDIT = "audit.json"
#: What an agent that failed says.
ERROR = "error.json"
LEDGER = "raw/ledger.json"
EPOCH = "raw/epoch.json"
STARTS = "raw/starts.json"
#: What happened to links while flows ran.
EVENTS = "raw/events.json"
#: Of a network spread over machines: how well their clocks are known to each other.
CLOCKS = "raw/clocks.json"
PLACES = "raw/places.json"
NUMBERED_DROPS = "raw/numbered_drops.json"
#: What acknowledging took of each flow.
ACKNOWLEDGEMENTS = "raw/acknowledgements.json"
QUEUE_SAMPLES = "raw/queue.jsonl"
SOCKET_SAMPLES = "raw/sockets.bin.gz"
SOCKET_SOURCES = "raw/sockets.json"
#: What the captures of a cell's packets are in; its tables are made of them.
CAPTURES = "raw/pcap/"
#: What the name of a compressed file ends in; captures and what daemons did are not, in older runs.
COMPRESSED = ".gz"
TRACE_PAGES = "raw/trace/pages.bin.gz"
TRACE_FORMATS = "raw/trace/formats.json"
TRACE_COUNTS = "raw/trace/counts.json"
#: Of a simulated cell: what the simulator was told, and what it says of packets, of windows that
#: are not told among these, and of its agents' variables.
NS2_SETTINGS, NS2_TRACE = "raw/ns2/settings.txt", "raw/ns2/trace.gz"
NS2_WINDOWS, NS2_READ_BACK = "raw/ns2/windows.gz", "raw/ns2/read_back.txt"
#: Of a network of radios: which there are, where nodes are, what the medium counted, and carried.
RADIOS, MOVEMENT = "raw/radio/radios.csv", "raw/radio/movement.csv"
#: What a lab is given of a trace that nodes follow, beside the cell.
GIVEN_MOVEMENT = "movement.csv"
MEDIUM, MEDIUM_CAPTURE = "raw/radio/medium.json", "raw/radio/medium.pcap.gz"
FRAMES, MEDIUM_WORDS = "raw/radio/frames.tsv", "raw/radio/medium.jsonl"
#: Documents in ``raw`` besides those that come with samples, traces and captures.
RAW_DOCUMENTS = (
    LEDGER, PLACES, NUMBERED_DROPS, SOCKET_SOURCES, "raw/counters.json", "raw/epoch.json",
    "raw/path.json", "raw/qdiscs.json", "raw/qdiscs-start.json", "raw/read_back.json", STARTS,
    CLOCKS,
)  # fmt: skip
#: Why an attempt at a cell failed; and where what failed attempts left is kept.
FAILURE, FAILED = "failure.json", "failed"
#: The folder of a cell that is the lab's while it runs; the rest is the host's always.
GUEST = ".guest"
CONSOLE = "console.log"
TIMING = "timing.json"
#: Which raw files of a finished cell were removed to free the disk.
FREED = "freed.json"
DONE = "DONE"
#: DONE until it is whole.
DONE_PARTIAL = ".DONE"
#: What DONE was while new tables take the place of the old ones.
DONE_BEFORE = "DONE.before"
FLOWS_TABLE = "tables/flows.parquet"
INTERVALS_TABLE = "tables/intervals.parquet"
QDISCS_TABLE = "tables/qdiscs.parquet"
CONGESTION_TABLE = "tables/congestion.parquet"
DROPS_TABLE = "tables/drops.parquet"
QUEUE_TABLE = "tables/queue.parquet"
SOCKETS_TABLE = "tables/sockets.parquet"
PROTOCOL_TABLE = "tables/protocol.parquet"
PACKETS_TABLE = "tables/packets.parquet"
PATH_TABLE = "tables/path.parquet"
EPISODES_TABLE = "tables/episodes.parquet"
LIMITS_TABLE = "tables/limits.parquet"
AUDIT_TABLE = "tables/audit.parquet"
ACKNOWLEDGEMENTS_TABLE = "tables/acknowledgements.parquet"
MESSAGES_TABLE = "tables/messages.parquet"
EVENTS_TABLE = "tables/events.parquet"
PATHS_TABLE = "tables/paths.parquet"
RADIOS_TABLE = "tables/radios.parquet"
AIRTIME_TABLE = "tables/airtime.parquet"
ROUTES_TABLE = "tables/routes.parquet"

#: Beginnings of names of folders in which nothing is read: what is there is not known.
NEVER_READ = (GUEST, *SCRATCH)
#: Files of a cell that describe this execution rather than its outcome; never compared.
NOT_COMPARED = frozenset({CONSOLE, TIMING, FREED, DONE, DONE_PARTIAL, DONE_BEFORE})


def cell_folder(run: Path, cell_id: str) -> Path:
    """Return the folder of one cell of a run."""
    return run / "cells" / cell_id


def failed_attempts(run: Path, cell_id: str) -> Path:
    """Return the folder with what earlier attempts at a cell left."""
    return run / FAILED / cell_id


def kept_movement(run: Path, sha256: str) -> Path:
    """Return the file of a run with the movement that a cell's settings name."""
    return run / MOVEMENTS / f"{sha256}.csv"


def is_movement(name: str) -> bool:
    """Return whether a run's file is a movement that cells follow, by its name in the run."""
    return _MOVEMENT.fullmatch(name) is not None


def messages(flow: str, side: str) -> str:
    """Return the file with the times of a flow's messages that an end of it recorded."""
    return f"raw/flows/{flow}.{side}.messages"


def routing(node: str, device: str = "wlan0") -> str:
    """Return the beginning of the names of what the routing daemon of a node's radio says."""
    return f"raw/routing/{node}" + ("" if device == "wlan0" else f".{device}")


def routing_events(node: str, device: str = "wlan0") -> str:
    """Return the file of what the routing daemon of a node's radio did, and when."""
    return f"{routing(node, device)}.events{COMPRESSED}"


def is_done(folder: Path) -> bool:
    """Return whether a cell's folder says that the cell has finished."""
    return plain_files.is_folder(folder) and plain_files.is_file(folder / DONE)
