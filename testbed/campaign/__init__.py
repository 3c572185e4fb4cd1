"""Cells run, checked, parsed and repeated; the run folders and sets they are kept in."""
