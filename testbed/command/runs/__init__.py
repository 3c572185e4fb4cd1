"""Studies planned, run and reported: what the commands about runs do."""
