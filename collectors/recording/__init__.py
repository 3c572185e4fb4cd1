"""Runs inside a lab while traffic flows, and writes raw files."""
