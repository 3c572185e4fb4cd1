"""Settings of a study that are legal but misleading, each with numbers and the reason."""
