"""Simulators that run the labs' cells, and what they leave made into the same tables."""
