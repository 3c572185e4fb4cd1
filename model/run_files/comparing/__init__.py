"""What is written of runs set beside each other: in several labs, by mechanism."""
