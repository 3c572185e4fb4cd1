"""A cell's network of radios inside a lab: laid out, built, read back, measured, ended."""
