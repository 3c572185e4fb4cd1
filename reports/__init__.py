"""The verdict: metrics, statistics and comparison of a run with what was published."""

from reports.repeats_json import replication_record
from reports.replication import Replication
from reports.summary import Summary
from reports.terminal import print_summary
from reports.write import read_replication, write_report
from reports.write_set import write_set

__all__ = [
    "Replication",
    "Summary",
    "print_summary",
    "read_replication",
    "replication_record",
    "write_report",
    "write_set",
]
