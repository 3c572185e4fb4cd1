"""The kernel's own events: congestion state, drops, queues."""
