"""The program ``groundtruth``: its commands, and where they print to."""
