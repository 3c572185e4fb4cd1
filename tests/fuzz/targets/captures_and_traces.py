"""What is binary: captures, messages, the kernel's trace, sampled sockets."""

from __future__ import annotations

import functools
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from collectors.audit import message_checks
from collectors.packets.messages import message_rows
from collectors.packets.packets import parse_packets
from collectors.raw import messages
from collectors.raw.compressed import unpacked
from collectors.raw.files import read_as
from collectors.raw.flows import (
    Received,
)
from collectors.raw.pcap import merged, parse
from collectors.recording.socket_sampler import FRAME
from collectors.sockets.protocol import protocol_table
from collectors.sockets.samples import Samples, parse_frames, parse_sources
from collectors.sockets.sockets import sockets_table
from collectors.tables import packet_evidence
from collectors.trace.congestion import congestion
from collectors.trace.drops import drops
from collectors.trace.events import parse_formats, parse_pages
from model.cell import Cell, from_dict
from tests.fuzz.mutate import bytes_input, json_input
from tests.fuzz.target import Target, text
from tests.support.recorded import DATA, value


def _messages(cell: Cell, kind: Any, content: bytes) -> None:
    """Read one end's records and join them to the other's, of which there are three."""
    records = messages.parse(content, kind, "S.messages")
    sent, delivered = (
        records if kind == one else messages.parse(b"\0" * 3 * one.itemsize, one, "other")
        for one in (messages.SENT, messages.DELIVERED)
    )
    both = {cell.flows[1].id: messages.Recorded(sent, delivered)}
    message_rows(cell, both, 0, None)
    received = Received(
        window_bytes=0, total_bytes=0, first_byte_s=None, last_byte_s=None, intervals=()
    )
    message_checks.checks(cell, both, {cell.flows[1].id: received}, {cell.flows[1].id: {}})


def binary() -> dict[str, Target]:
    """Return the readers of what is no text, with what is made of it."""
    cell = from_dict(value("lab-cell-7.3/cell.json"))
    pcap = DATA / "lab-cell-7.3" / "raw" / "pcap"
    taps = packet_evidence._taps(json.loads((pcap / "points.json").read_text()))
    captures = [(pcap / f"{name}.pcap").read_bytes() for name in ("r1", "r2")]
    found = {}

    def capture(content: bytes) -> None:
        records, _ = parse(content, "r1.pcap")
        parse_packets(merged([records]), taps, cell.flows, 0)

    found["pcap"] = Target(
        corpus=captures, mutate=bytes_input, share=30, run=lambda content: parse(content, "r1.pcap")
    )
    small = [capture_[: 24 + 40 * 100] for capture_ in captures]
    found["packets"] = Target(corpus=[*captures, *small], mutate=bytes_input, share=12, run=capture)
    for side, kind in (("sender", messages.SENT), ("receiver", messages.DELIVERED)):
        found[f"messages of the {side}"] = Target(
            corpus=[
                (DATA / "messages-7.3" / f"{flow}.{side}.messages").read_bytes() for flow in "SU"
            ],
            mutate=bytes_input,
            run=functools.partial(_messages, cell, kind),
            share=12,
        )
    for kernel in ("7.3", "6.12"):
        folder = DATA / f"trace-{kernel}"
        form = parse_formats(json.loads((folder / "formats.json").read_text()), "formats.json")
        packed = (folder / "pages.bin.gz").read_bytes()
        pages = gzip.decompress(packed)[: 4096 * 4]

        def trace(content: bytes, form: Any = form) -> None:
            made = parse_pages(content, form, "pages.bin")
            congestion(made, cell.flows, 0, {"T": 1448})
            drops(made, [], 0, set())

        def formats(content: bytes, pages: bytes = pages) -> None:
            made = parse_formats(json.loads(text(content)), "formats.json")
            parse_pages(pages, made, "pages.bin")

        found |= {
            f"trace pages {kernel}": Target(
                corpus=[pages], mutate=bytes_input, run=trace, share=10
            ),
            f"trace gzip {kernel}": Target(
                corpus=[packed[:2000], packed],
                mutate=bytes_input,
                share=12,
                run=lambda content: unpacked(content, "pages.bin.gz", "trace pages"),
            ),
            f"trace formats {kernel}": Target(
                corpus=[(folder / "formats.json").read_bytes()],
                mutate=json_input,
                share=12,
                run=functools.partial(_if_json, formats),
            ),
        }
        folder = DATA / f"sockets-{kernel}"
        tick_ns, sources = parse_sources(
            json.loads((folder / "sockets.json").read_text()), "sockets.json"
        )
        frames = gzip.decompress((folder / "sockets.bin.gz").read_bytes())
        frames = frames[
            : next(a.offset for a in parse_frames(frames, sources, "") if a.offset > 20_000)
            - FRAME.size
        ]

        def sockets(content: bytes, tick_ns: int = tick_ns, sources: Any = sources) -> None:
            answers = tuple(parse_frames(content, sources, "sockets.bin"))
            made = Samples(tick_ns=tick_ns, answers=answers, where="sockets.bin")
            sockets_table(made, cell.flows, 0)
            protocol_table(made, cell.flows, 0)

        def described(content: bytes, frames: bytes = frames) -> None:
            _, by_number = read_value(content, lambda v: parse_sources(v, "sockets.json"))
            tuple(parse_frames(frames, by_number, "sockets.bin"))

        found |= {
            f"sockets {kernel}": Target(corpus=[frames], mutate=bytes_input, run=sockets, share=8),
            f"sockets.json {kernel}": Target(
                corpus=[(folder / "sockets.json").read_bytes()],
                mutate=json_input,
                run=described,
                share=20,
            ),
        }
    return found


def read_value(content: bytes, parse_value: Callable[[Any], Any]) -> Any:
    """Return what a parser makes of a JSON file of these bytes."""
    path = Path(f"/dev/shm/gt-fuzz-{os.getpid()}.json")
    path.write_bytes(content)
    try:
        return read_as(path, parse_value)
    finally:
        path.unlink()


def _if_json(run: Callable[[bytes], object], content: bytes) -> None:
    read_value(content, lambda _: run(content))
