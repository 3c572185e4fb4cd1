"""Radios of a wireless network: made, joined and read back, and the medium between them."""
