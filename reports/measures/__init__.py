"""The metrics of one cell, and how their numbers are shown."""
