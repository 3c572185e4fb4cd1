"""The virtual lab: a User-Mode Linux kernel in virtual time, confined, and how it is built."""
