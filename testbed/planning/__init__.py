"""Which cells a run has, in which order, and what they cost."""
