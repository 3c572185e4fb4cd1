"""What the lab is shown beside packetdrill; needs nothing of this project there."""
