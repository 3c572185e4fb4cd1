"""Commands that set runs of one study beside each other, and say what differs."""
