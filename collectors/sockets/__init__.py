"""Sampled sockets and protocol counters."""
