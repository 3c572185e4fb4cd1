"""Which cells a run has, in which order, what it is to reach, and what of it is misleading."""
