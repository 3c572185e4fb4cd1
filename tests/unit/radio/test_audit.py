"""Counters of a medium: what adds up, and what of them does not."""

from __future__ import annotations

from typing import Any

import pytest

from mininet_topos.radio.audit import FATES, OUTCOMES, mistakes

COLUMNS = (
    "handed_in", *FATES, "unicast_attempts", "group_attempts", "timeouts", "retries",
    "open_at_end", "acks_due", "acks_sent", "acks_unsent", "acks_due_at_end", "taken_in",
    "rts_attempts", "rts_answered", "cts_timeouts", "rts_open_at_end", "protected_attempts",
    "cleared_at_end", "cts_due", "cts_sent", "cts_unsent", "cts_refused", "cts_due_at_end",
    *(
        f"{of}_{outcome}"
        for of in ("unicast", "group", "ack", "rts", "cts")
        for outcome in OUTCOMES
    ),
)  # fmt: skip


def totals(**changes: list[int] | int) -> dict[str, Any]:
    """Of three radios: the first sent one frame twice and one to all, the second answered.

    Before the frame's second time, an RTS was in vain and another was answered.
    """
    nothing: dict[str, Any] = {name: [0, 0, 0] for name in COLUMNS}
    made = {
        "handed_in": [3, 0, 0], "acked": [1, 0, 0], "group_done": [1, 0, 0],
        "waiting_at_end": [1, 0, 0], "unicast_attempts": [2, 0, 0], "timeouts": [1, 0, 0],
        "retries": [2, 0, 0], "group_attempts": [1, 0, 0], "unicast_collided": [1, 0, 0],
        "unicast_delivered": [1, 0, 0], "group_delivered": [1, 0, 0],
        "group_out_of_range": [1, 0, 0], "acks_due": [0, 1, 0], "acks_sent": [0, 1, 0],
        "ack_delivered": [0, 1, 0], "taken_in": [0, 2, 0], "rts_attempts": [2, 0, 0],
        "rts_collided": [1, 0, 0], "rts_delivered": [1, 0, 0], "cts_timeouts": [1, 0, 0],
        "rts_answered": [1, 0, 0], "protected_attempts": [1, 0, 0], "cts_due": [0, 1, 0],
        "cts_sent": [0, 1, 0], "cts_delivered": [0, 1, 0],
    }  # fmt: skip
    return nothing | made | {"refused_messages": 0} | changes | {"radios": 3}


def test_one_that_adds_up() -> None:
    assert mistakes(totals()) == []


def test_lost_frame_is_named() -> None:
    assert mistakes(totals(handed_in=[4, 0, 0])) == ["radio 0: fates of frames: wanted 4, got 3"]


def test_what_the_kernel_refused_is_named() -> None:
    """The medium says that a frame was delivered; the kernel has not got it."""
    assert mistakes(totals(refused_messages=1)) == [
        "what was told the kernel and it refused: wanted 0, got 1"
    ]


@pytest.mark.parametrize("column", sorted(set(COLUMNS)))
def test_no_column_is_idle(column: str) -> None:
    """One more in any column, at any radio, and something no longer adds up."""
    for radio in range(3):
        changed = list(totals()[column])
        changed[radio] += 1
        assert mistakes(totals(**{column: changed})), (column, radio)


def test_missing_radio_is_refused() -> None:
    with pytest.raises(ValueError, match="2 numbers for 3 radios"):
        mistakes(totals(acked=[1, 0]))
