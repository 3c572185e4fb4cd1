"""Packets the kernel dropped, and where: rows of ``drops.parquet``. Pure.

A qdisc tells itself of its drops on kernels that have qdisc:qdisc_drop; elsewhere only the
freeing of the packet is seen, which has a reason and no place. A drop by a filter on a device's
egress has a reason of its own, and the lab has such filters for packets dropped by number only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collectors.trace.events import Trace
from model.run_files.kernel_tables import DropRow
from model.run_files.tables import fitted, schema
from model.units import NS_PER_S

#: The kernel's reason for a drop by a filter on egress, and the role of the filters that do it.
BY_FILTER, NUMBERED = "TC_EGRESS", "numbered"
#: What a managed queue says of a packet that it drops as it would let it go: on kernels that name
#: reasons of qdiscs the freeing alone tells of it, without a place.
CONGESTED = "CONGESTED"
COLUMNS = schema(DropRow)


def drops(
    trace: Trace,
    places: Sequence[Mapping[str, Any]],
    epoch_ns: int,
    hooks: Collection[tuple[str, str]] = (),
) -> pl.DataFrame:
    """Return one row per dropped packet, in order of time.

    ``places`` are the watched qdiscs as ``places.json`` has them. An interface number is one
    network namespace's: where two places share number and handle, the node stays unknown.
    ``hooks`` are node and device of the filters that drop packets by number.
    """
    numbers, event = trace.records("qdisc/qdisc_drop", ("ifindex", "handle", "reason"))
    by_qdisc = pl.DataFrame(
        {
            "at": pl.Series(numbers, dtype=pl.Int64),
            "event": pl.Series(["qdisc_drop"] * numbers.size, dtype=pl.String),
            "reason": _reasons(trace, "qdisc/qdisc_drop", event["reason"]),
            "ifindex": event["ifindex"].astype(np.int64),
            "handle_number": event["handle"].astype(np.int64),
        }
    )
    numbers, event = trace.records("skb/kfree_skb", ("reason",))
    freed = pl.DataFrame(
        {
            "at": pl.Series(numbers, dtype=pl.Int64),
            "event": pl.Series(["kfree_skb"] * numbers.size, dtype=pl.String),
            "reason": _reasons(trace, "skb/kfree_skb", event["reason"]),
        }
    )
    rows = pl.concat([by_qdisc, freed], how="diagonal").sort("at")
    rows = rows.join(
        _unique_places(places), on=("ifindex", "handle_number"), how="left", maintain_order="left"
    ).with_columns(t_s=pl.Series((trace.t_ns(rows["at"].to_numpy()) - epoch_ns) / NS_PER_S))
    if len(hooks) == 1:
        ((node, device),) = hooks
        here = {"node": node, "device": device, "role": NUMBERED}
        rows = rows.with_columns(
            pl.when(pl.col("reason") == BY_FILTER).then(pl.lit(text)).otherwise(pl.col(name))
            .alias(name)
            for name, text in here.items()
        )  # fmt: skip
    return fitted(rows, COLUMNS)


def tells_places(trace: Trace) -> bool:
    """Return whether the kernel that was traced says at which qdisc it drops a packet."""
    return "qdisc/qdisc_drop" in trace.formats.events


def _reasons(trace: Trace, event: str, numbers: NDArray[Any]) -> pl.Series:
    """Return the kernel's names of reasons; a number it does not print a name for stays one.

    A packet may be freed for a qdisc's reason, of which only the qdisc's own event has the name.
    """
    if not numbers.size:
        return pl.Series([], dtype=pl.String)
    formats = trace.formats.events
    of_qdiscs = formats["qdisc/qdisc_drop"].symbols if "qdisc/qdisc_drop" in formats else {}
    symbols = {**of_qdiscs, **formats[event].symbols}
    unique, index = np.unique(numbers, return_inverse=True)
    texts = pl.Series([symbols.get(int(number), str(int(number))) for number in unique])
    return texts.gather(index.astype(np.uint32))


def _unique_places(places: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    schema = {
        "node": pl.String, "device": pl.String, "ifindex": pl.Int64, "handle_number": pl.Int64,
        "role": pl.String,
    }  # fmt: skip
    rows = [
        {**{name: place[name] for name in ("node", "device", "ifindex", "role")},
         "handle_number": place["handle"]}
        for place in places
    ]  # fmt: skip
    unique = pl.DataFrame(rows, schema=schema).unique(
        ("ifindex", "handle_number"), keep="none", maintain_order=True
    )
    texts = pl.Series([handle_text(number) for number in unique["handle_number"]], dtype=pl.String)
    return unique.with_columns(handle=texts)


def handle_text(number: int) -> str:
    """Return a qdisc handle as tc prints it (0x100000 is "10:")."""
    minor = number & 0xFFFF
    return f"{number >> 16:x}:" + (f"{minor:x}" if minor else "")
