"""Command lines of the program, as a shell reads them: what a hint names can be pasted."""

from __future__ import annotations

import shlex


def groundtruth(*words: object) -> str:
    """Return ``groundtruth WORDS``; a word with a space or a letter of the shell's is quoted."""
    return shlex.join(["groundtruth", *map(str, words)])
