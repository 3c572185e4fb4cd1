"""Routing by others, to set AODV beside: batman-adv, which the kernel has, and babeld."""
