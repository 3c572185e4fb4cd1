"""The verdict: metrics, statistics and comparison of a run with what was published."""
