"""Drives the radio medium without a kernel: radios in a row, frames by hand, what came of them.

Times are in microseconds here: 192 of preamble, then bits at 1 Mbit/s (RTS, CTS, ACK, to all) or 2.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT_S = 60
US = 1000
SIFS, DIFS, SLOT, RTS, ANSWER = 10, 50, 20, 352, 304
#: After what could not be decoded: SIFS, an ACK at 1 Mbit/s and DIFS.
EIFS = SIFS + ANSWER + DIFS
#: No backoff is longer than none: all that remains are the standard's own times.
SURE: dict[str, Any] = {"cw_min": 0, "cw_max": 0}
NAMES = ("begin", "end", "kind", "from", "to", "try", "rate_bps", "bytes", "outcome")


def data_us(frame_bytes: int) -> int:
    """Return how long a frame of the kernel is on the air with its checksum, at 2 Mbit/s."""
    return 192 + (frame_bytes + 4) * 4


def to_all_us(frame_bytes: int) -> int:
    """Return how long a frame to all is on the air with its checksum, at 1 Mbit/s."""
    return 192 + (frame_bytes + 4) * 8


@dataclass(frozen=True)
class Drove:
    """What was on the air, what the kernel was told, and the totals."""

    air: list[dict[str, Any]]
    told: list[dict[str, Any]]
    totals: dict[str, Any]

    def sent(self, sender: int) -> list[dict[str, Any]]:
        return [row for row in self.air if row["from"] == sender]

    def begins(self, sender: int) -> list[float]:
        return [row["begin"] for row in self.sent(sender)]

    def what(self) -> list[tuple[Any, ...]]:
        """Return of each transmission its kind, sender, begin, end and outcome, by its end."""
        return [
            tuple(row[name] for name in ("kind", "from", "begin", "end", "outcome"))
            for row in self.air
        ]

    def heard_back(self) -> list[tuple[Any, ...]]:
        """Return what the kernel was told: what, of which frame, at which radio, when, tries."""
        return [
            (one["event"], one["frame"], one["radio"], one["t_ns"] / US, one.get("tries"))
            for one in self.told
        ]


def drive(
    built: Any, folder: Path, x_m: list[float], lines: list[str],
    channels: list[int] | None = None, leaves_us: int | None = None,
    seconds: tuple[int, ...] = (), **settings: int,
) -> Drove:  # fmt: skip
    """Drive radios that stand in a row at these places; the last one may leave, for good.

    ``seconds`` are the nodes that have another radio; these are numbered after all others.
    """
    table, places = "radio,node,mac,freq_mhz\n", "t_ns,node,x_mm,y_mm\n"
    for radio, x in enumerate(x_m):
        channel = channels[radio] if channels else 2412
        table += f"{radio},{radio},02:00:00:00:00:{radio:02x},{channel}\n"
        places += f"0,{radio},{round(x * 1000)},0\n"
    if leaves_us is not None:
        places += f"{leaves_us * US - 1},{radio},{round(x * 1000)},0\n"
        places += f"{leaves_us * US},{radio},900000000,0\n"
    for radio, node in enumerate(seconds, len(x_m)):
        channel = channels[radio] if channels else 2412
        table += f"{radio},{node},02:00:00:00:00:{radio:02x},{channel}\n"
    (folder / "radios.csv").write_text(table)
    (folder / "movement.csv").write_text(places)
    files = [str(folder / name) for name in ("radios.csv", "movement.csv", "frames")]
    words = [f"{name} {value}" for name, value in settings.items()] + lines
    done = subprocess.run(
        [*built.argv("medium_drive"), *files], input="\n".join([*words, ""]),
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split("\t") for line in (folder / "frames").read_text().splitlines()[1:]]
    air: list[dict[str, Any]] = [
        {name: int(value) if value.lstrip("-").isdigit() else value
         for name, value in zip(NAMES, row, strict=True)}
        for row in rows
    ]  # fmt: skip
    for row in air:
        row["begin"], row["end"] = row["begin"] / US, row["end"] / US
    *told, totals = map(json.loads, done.stdout.splitlines())
    return Drove(air, told, totals)


def frame(at_us: int, sender: int, to: int, frame_bytes: int) -> str:
    return f"frame {at_us * US} {sender} {to} {frame_bytes}"
