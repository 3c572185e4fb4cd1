"""The program ``groundtruth``: commands, and what they print."""
