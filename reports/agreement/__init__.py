"""Whether runs of one study in several labs agree: what may be compared, and what came of it."""
