"""The verdict: metrics, statistics and comparison of a run with what was published."""

from reports.summary import Summary
from reports.terminal import print_summary
from reports.write import write_report

__all__ = ["Summary", "print_summary", "write_report"]
