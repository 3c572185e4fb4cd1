"""Loss episodes: what was lost, how the sender learnt of it, and what it did."""
