"""Drive the project's own probes: a flow and its socket options become command lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from model.cell import Flow
from probes.process import Running, start, start_ready

if TYPE_CHECKING:
    from model.node import Node

BIN = Path("/gt/code/bin")
READY_TIMEOUT_S = 30.0
#: How long a sender may take to get its last bytes acknowledged after it stops writing.
DRAIN_S = 150.0
#: Options that the receiving side's probe has; the rest are the sender's alone.
RECEIVER_OPTIONS = {
    "tcp": frozenset({"rcvbuf_bytes", "window_clamp_bytes", "maxseg_bytes", "congestion_control"}),
    "sctp": frozenset(
        {
            "rcvbuf_bytes", "sack_delay_ms", "sack_freq_packets", "maxseg_bytes",
            "rto_initial_ms", "rto_min_ms", "rto_max_ms",
        }
    ),
    "udp": frozenset({"rcvbuf_bytes"}),
}  # fmt: skip
FLAGS = frozenset({"nodelay", "hb_disable"})


def decimal(seconds: float) -> str:
    """Return seconds as the probes read them: at most nine decimals and never an exponent."""
    return f"{seconds:.9f}".rstrip("0").rstrip(".")


def option_words(options: Mapping[str, str]) -> list[str]:
    """Return long options for a probe; a flag of value 0 is left out."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if name in FLAGS:
            words += [option] if value not in ("0", "false") else []
        else:
            words += [option, value]
    return words


def receiver_argv(
    flow: Flow,
    address: str,
    options: Mapping[str, str],
    epoch_ns: int,
    window_s: tuple[float, float],
    interval_s: float,
    messages: Path | None = None,
    further: Sequence[str] = (),
) -> list[str]:
    """Return the receiver's command line.

    ``window_s`` is start and length of what it measures; ``messages`` the file in which it is to
    record when each message was delivered, which UDP cannot; ``further`` addresses are SCTP's.
    """
    known = RECEIVER_OPTIONS[flow.protocol]
    argv = [
        str(BIN / f"{flow.protocol}_recv"),
        "--bind", address,
        "--port", str(flow.port),
        "--epoch-ns", str(epoch_ns),
        "--window-from-s", decimal(window_s[0]),
        "--duration-s", decimal(window_s[1]),
        "--interval-s", decimal(interval_s),
        *option_words({k: v for k, v in options.items() if k in known}),
    ]  # fmt: skip
    if flow.protocol == "sctp":
        argv += ["--streams", str(flow.streams)]
    argv += [word for each in further for word in ("--bind", each)]
    if messages is not None:
        argv += ["--messages", str(messages)]
        argv += ["--message-bytes", str(flow.message_bytes)] if flow.protocol == "tcp" else []
    return argv


def sender_argv(
    flow: Flow,
    from_address: str,
    to: str,
    options: Mapping[str, str],
    epoch_ns: int,
    messages: Path | None = None,
    further: Sequence[tuple[str, str]] = (),
) -> list[str]:
    """Return the sender's command line; unbound, SCTP would offer every address it finds.

    ``messages`` is the file in which it is to record when each message was handed over; of each
    ``further`` path, which only SCTP has, its own address and the receiver's.
    """
    argv = [
        str(BIN / f"{flow.protocol}_send"),
        "--bind", from_address,
        "--host", to,
        "--port", str(flow.port),
        "--epoch-ns", str(epoch_ns),
        "--start-s", decimal(flow.start_s),
        "--duration-s", decimal(flow.stop_s - flow.start_s),
        "--message-bytes", str(flow.message_bytes),
    ]  # fmt: skip
    for own, other in further:
        argv += ["--bind", own, "--host", other]
    if flow.protocol == "udp":
        return [*argv, "--rate-bps", str(flow.rate_bps), *option_words(options)]
    argv += ["--drain-s", decimal(DRAIN_S)]
    argv += ["--rate-bps", str(flow.rate_bps)] if flow.rate_bps else []
    argv += ["--messages", str(messages)] if messages else []
    if flow.protocol == "sctp":
        argv += ["--streams", str(flow.streams)]
        argv += [] if flow.ordered else ["--unordered"]
    return argv + option_words(options)


def start_receiver(host: Node, argv: list[str], stem: Path) -> Running:
    """Start a receiver and return once it listens."""
    return start_ready(host, argv, stem, READY_TIMEOUT_S)


def start_sender(host: Node, argv: list[str], stem: Path) -> Running:
    """Start a sender; it begins by itself at its flow's start time."""
    return start(host, argv, stem)
