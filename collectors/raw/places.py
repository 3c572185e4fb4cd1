"""The watched qdiscs, as ``raw/places.json`` lists them. Pure."""

from __future__ import annotations

from typing import Any

from collectors.raw.files import whole, word


def parse_places(value: Any) -> list[dict[str, Any]]:
    """Return node, device, ifindex, handle and role of each watched qdisc.

    Raises:
        ValueError: not such a list.
        KeyError: something is missing.
        TypeError: an entry is no object.
    """
    if not isinstance(value, list):
        raise TypeError("not a list of qdiscs")
    return [
        {
            **{name: word(place[name]) for name in ("node", "device", "role")},
            **{name: whole(place[name]) for name in ("ifindex", "handle")},
        }
        for place in value
    ]
