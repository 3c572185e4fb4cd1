"""The host lab: this machine's own kernel in real time, and nothing of the machine left changed."""
