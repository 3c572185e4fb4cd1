"""What runs on each machine of the remote lab, with that machine's own Python."""
