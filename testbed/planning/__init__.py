"""Which cells a run has, in which order, and what it is to reach."""
