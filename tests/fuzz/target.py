"""What is fuzzed: a reader with recorded inputs to start from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.fuzz.mutate import Mutate


@dataclass(frozen=True, kw_only=True)
class Target:
    """A reader: its inputs, how they are changed, and how many of a thousand inputs it gets."""

    corpus: Sequence[bytes]
    mutate: Mutate
    run: Callable[[bytes], object]
    share: int


def text(content: bytes) -> str:
    """Return an input as text, whatever it holds."""
    return content.decode(errors="replace")
