"""What was counted twice, compared: packets conserved, drops as planned, flows in time."""
