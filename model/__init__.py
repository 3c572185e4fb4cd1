"""What every part speaks: cells, quantities, errors, seeds, names in a run folder.

All of it also goes into a lab: nothing beyond the standard library.
"""
