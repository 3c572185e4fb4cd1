"""AODV (RFC 3561): a daemon in C on real sockets and kernel routes, and how it is started."""
