"""The traffic: C senders and receivers, and drivers that start them or iperf3 in a lab."""
