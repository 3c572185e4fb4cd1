"""A core of AODV driven from outside, and its messages as scapy has them."""
