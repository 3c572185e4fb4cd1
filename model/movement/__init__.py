"""Where a mobile network's nodes are, who is in range of whom, and what is said of both."""
