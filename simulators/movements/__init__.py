"""Readers of movements that users bring: streams in, the paths of a study's nodes out."""
