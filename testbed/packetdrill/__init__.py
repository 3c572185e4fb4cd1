"""packetdrill, built from a user's source, and scripts run by it in the virtual lab."""
