"""A user's own results beside a run: what differs, by how much, and how sure that is."""
