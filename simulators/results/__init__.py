"""Readers of results that users bring from simulators of their own: streams in, readings out."""
