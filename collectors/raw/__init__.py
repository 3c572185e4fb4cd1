"""Raw files opened and their plain shapes read: JSON, lines of flows, captures."""
