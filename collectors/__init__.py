"""The evidence: what is recorded in a lab, and pure parsers from raw files to tables."""
