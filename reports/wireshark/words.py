"""Words that comments are made of. Pure. The profile's filters and colours look for them."""

from __future__ import annotations

from reports.wireshark.fates import Fate

#: How far a packet came that was not delivered.
LOST = {
    "access": "dropped on the sender's access link",
    "queue": "dropped by the queue",
    "loss": "dropped by the loss model",
    "listed": "dropped because the study lists data packet",
    "exit": "dropped on the receiver's access link",
    "way back": "dropped on the way back, where packets are not captured",
    "open": "not seen again: under way at the end of the capture, or dropped",
}


def lost(fate: Fate) -> str:
    """Return what became of a packet that was not delivered."""
    number = "" if fate.listed is None else f" {fate.listed}"
    return f"{LOST[fate.place]}{number}"


def nth(number: int) -> str:
    """Return an ordinal: ``1st``, ``22nd``, ``113th``."""
    teens = 10 <= number % 100 <= 20
    ending = "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def why_again(before: Fate | None, times: int) -> str:
    """Return why something is sent again, from what became of the copy before.

    Args:
        before: its fate; None if it was delivered.
        copies: how many there were until now.
    """
    which = "the original" if times == 1 else f"its {nth(times)} copy"
    if before is None:
        return f"needless: {which} was not lost"
    if before.place == "open":
        return f"{which} was not seen to arrive"
    return f"sent again because {which} was {lost(before)}"
