"""What is written of runs set beside each other: in labs, by mechanism, with a simulator."""
