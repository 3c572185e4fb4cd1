"""Cells on other machines: dask.distributed's scheduler and workers, and what goes to and fro."""
