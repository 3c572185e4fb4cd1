"""A cell's raw files as they were written: one reader for each format."""
