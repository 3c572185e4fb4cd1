"""The remote lab: a cell's nodes are machines, reached by ssh and described by an inventory."""
