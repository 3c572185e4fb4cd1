"""The report as people read it: page, terminal, tables for a review."""
