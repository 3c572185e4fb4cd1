"""Packet traces that open in Wireshark and tcptrace with the story of each packet told."""
