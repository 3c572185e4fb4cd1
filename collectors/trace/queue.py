"""The watched qdiscs, of ``raw/places.json``, and their samples: ``queue.parquet``. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from collectors.raw.files import whole, word
from collectors.raw.flows import json_lines
from collectors.trace.drops import handle_text
from model.errors import ParseError
from model.run_files.kernel_tables import QueueRow
from model.run_files.tables import schema
from model.units import NS_PER_S

COUNTERS = ("backlog_pkts", "backlog_bytes", "dropped_pkts", "sent_pkts")
COLUMNS = schema(QueueRow)


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


def queue(
    text: str, places: Sequence[Mapping[str, Any]], epoch_ns: int, where: str
) -> pl.DataFrame:
    """Return one row per sample and qdisc, in order of time.

    Raises:
        ParseError: a line is not one sample of all places; the message names it.
    """
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    named = {
        "node": [place["node"] for place in places],
        "device": [place["device"] for place in places],
        "handle": [handle_text(place["handle"]) for place in places],
        "role": [place["role"] for place in places],
    }
    for number, sample in enumerate(json_lines(text, where), start=1):
        _check(sample, len(places), f"{where}:{number}")
        columns["t_s"] += [(sample["t_ns"] - epoch_ns) / NS_PER_S] * len(places)
        for name, values in named.items():
            columns[name] += values
        for name in COUNTERS:
            columns[name] += sample[name]
    return pl.DataFrame(columns, schema=COLUMNS)


def _check(sample: Mapping[str, Any], places: int, where: str) -> None:
    def is_count(value: Any) -> bool:
        return type(value) is int and 0 <= value < 1 << 63

    whole = is_count(sample.get("t_ns")) and all(
        isinstance(sample.get(name), list)
        and len(sample[name]) == places
        and all(map(is_count, sample[name]))
        for name in COUNTERS
    )
    if not whole:
        raise ParseError(
            "not a sample of every qdisc",
            where=where,
            wanted=f"t_ns and {places} counts each of {', '.join(COUNTERS)}",
            got=str(dict(sample))[:80],
        )
