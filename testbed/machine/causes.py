"""What an error came of."""

from __future__ import annotations

from collections.abc import Iterator


def with_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, what it came of, and so on: each once, as some are of each other."""
    cause: BaseException | None = error
    told: list[BaseException] = []
    while cause is not None and not any(cause is one for one in told):
        told.append(cause)
        yield cause
        cause = cause.__cause__
