"""A run as one file that lasts: put together, described for others, taken apart and checked."""
