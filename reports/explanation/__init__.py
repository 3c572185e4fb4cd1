"""Which mechanisms explain what a study's kernel does otherwise: their effects, and in words."""
