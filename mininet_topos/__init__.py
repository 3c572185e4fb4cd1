"""The network of a cell: nodes, links, shapers and channels, built with Mininet and read back."""
