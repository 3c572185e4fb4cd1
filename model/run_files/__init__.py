"""What the files of a run folder say: each a frozen dataclass that both writes and reads it.

Host only: nothing of this goes into a lab.
"""
