"""The metrics there are, each declared once: what a study may ask for and a report computes."""
