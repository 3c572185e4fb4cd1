"""The stock lab: Debian's own signed kernel in QEMU, its time counted in instructions."""
