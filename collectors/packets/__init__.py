"""Captured packets: headers, checksums, and each packet followed through the network."""
