"""How a lab is kept to itself: its walls, whom it runs as, what it may take, how it is ended."""
