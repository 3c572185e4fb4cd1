"""Kernels of users' own source: git trees, local changes and patches, read and never written."""
