"""The network of a cell as a Mininet topology: nodes, links, stages; built and read back."""
