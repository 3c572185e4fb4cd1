"""The verdict: metrics, statistics and comparison of a run with what was published."""

from reports.repeats_json import replication_record
from reports.replication import Replication
from reports.set_files import Member, write_set
from reports.summary import Summary
from reports.terminal import print_summary
from reports.write import read_replication, write_report, write_study

__all__ = [
    "Member",
    "Replication",
    "Summary",
    "print_summary",
    "read_replication",
    "replication_record",
    "write_report",
    "write_set",
    "write_study",
]
