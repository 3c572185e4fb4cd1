"""Radios in tests: the medium driven without a kernel, and studies whose nodes follow a file."""
