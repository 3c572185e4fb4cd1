"""What a run says on a terminal: the answer on one screen, or all its tables."""
