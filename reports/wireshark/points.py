"""Names that readers understand: of capture points. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import TypeAdapter

from model import path_names

#: In the order in which data pass.
POINTS = ("sent", "queue_offered", "loss_offered", "loss_passed", "delivered")


@dataclass(frozen=True, kw_only=True)
class Interface:
    """One device where packets were captured: ``name`` is short, ``description`` says it all."""

    file: str
    ifindex: int
    device: str
    name: str
    description: str
    path: int = 1


@dataclass(frozen=True, kw_only=True)
class Tap:
    """One place where packets were captured, and what that means of packets of one way."""

    file: str
    ifindex: int
    device: str
    point: str
    direction: str
    path: int = 1


@dataclass(frozen=True, kw_only=True)
class CapturePoints:
    """``raw/pcap/points.json``: the places, and how many bytes of a packet were kept at most."""

    snap_bytes: int
    taps: tuple[Tap, ...]


CAPTURE_POINTS = TypeAdapter(CapturePoints)


def interfaces(points: CapturePoints) -> tuple[Interface, ...]:
    """Return the devices of ``raw/pcap/points.json``, each once, as data pass them.

    A host's link is one interface for both ways, so that Wireshark, told to keep interfaces apart,
    has data and acknowledgements of each host's view together.
    """
    found: dict[tuple[str, int], tuple[int, Interface]] = {}
    for tap in points.taps:
        if tap.direction == "data" and tap.point in POINTS:
            name, description = _words(tap.point, tap.device, path_names.said(tap.path))
            made = Interface(
                file=tap.file, ifindex=tap.ifindex, device=tap.device, name=name,
                description=description, path=tap.path,
            )  # fmt: skip
            found[tap.file, tap.ifindex] = POINTS.index(tap.point), made
    ordered = sorted(found.values(), key=lambda item: item[0])
    return tuple(made for _, made in ordered)


def _words(point: str, device: str, on_path: str) -> tuple[str, str]:
    host = device.partition("-")[2]
    words = {
        "sent": (
            f"{host} sends",
            f"data as {host} sends them, acknowledgements as they reach {host}",
        ),
        "queue_offered": (
            f"before the queue, from {host}",
            f"data of {host} as they arrive at the bottleneck's queue",
        ),
        "loss_offered": (
            "after the queue",
            "data as they leave the bottleneck's queue, before loss and delay",
        ),
        "loss_passed": (
            "after loss and delay",
            "data that were not lost, after the bottleneck's delay",
        ),
        "delivered": (
            f"{host} receives",
            f"data as they reach {host}, acknowledgements as {host} sends them",
        ),
    }
    name, description = words[point]
    return f"{name}{on_path} ({device})", f"{description}{on_path}; captured at {device}"
