"""What runs inside a lab: a cell's network built, read back and measured, its flows run."""
