"""The lab without a kernel: Debian's ns-2 runs the cells, confined in the lab's image."""
