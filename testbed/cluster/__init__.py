"""Cells on other machines: dask.distributed's scheduler and workers, and what goes there."""
