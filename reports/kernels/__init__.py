"""One study on several kernels: what changed from each to the next, and in words."""
