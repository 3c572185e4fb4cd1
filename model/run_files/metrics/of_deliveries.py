"""What becomes of messages: delays, connections, acknowledgements; when a link goes down, too."""

from __future__ import annotations

from model.run_files.metrics.declared import Declared
from model.run_files.quantity import (
    BIT_PER_S,
    COUNT,
    KBIT_PER_S,
    MILLISECONDS,
    PACKETS,
    SECONDS,
    SHARE,
)

#: From handing over to delivery, and what it takes.
MESSAGES = (
    Declared(
        "message_delay_mean_{group}_s", "Message delay, mean, {label}", MILLISECONDS,
        "from the application's handing over a message to its delivery, mean",
    ),
    Declared(
        "message_delay_p50_{group}_s", "Message delay, median, {label}", MILLISECONDS,
        "median of the same, mean over the group's flows",
    ),
    Declared(
        "message_delay_p95_{group}_s", "Message delay, 95th percentile, {label}", MILLISECONDS,
        "95th percentile of the same, mean over the group's flows",
    ),
    Declared(
        "message_delay_p99_{group}_s", "Message delay, 99th percentile, {label}", MILLISECONDS,
        "99th percentile of the same, mean over the group's flows",
    ),
    Declared(
        "message_delay_max_{group}_s", "Message delay, longest, {label}", MILLISECONDS,
        "longest of the same, of any of the group's flows",
    ),
    Declared(
        "stream_delay_max_{group}_s", "Message delay of the slowest stream, {label}", MILLISECONDS,
        "mean message delay of the stream whose is longest, mean over the group's flows",
    ),
    Declared(
        "stream_delay_min_{group}_s", "Message delay of the fastest stream, {label}", MILLISECONDS,
        "mean message delay of the stream whose is shortest, mean over the group's flows",
    ),
    Declared(
        "connect_{group}_s", "Connect time, {label}", SECONDS,
        "from the application's asking for a connection until it is up, mean over flows",
    ),
    Declared(
        "unconnected_{group}", "Flows never connected, {label}", COUNT,
        "flows of the group whose connection was never set up",
    ),
    Declared(
        "retransmitted_{group}_pkts", "Retransmissions, {label}", PACKETS,
        "segments or chunks with data the group sent again, by its kernels",
    ),
    Declared(
        "ack_bandwidth_{group}_bps", "Bandwidth of packets that acknowledge, {label}", KBIT_PER_S,
        "IP packets that acknowledge and carry no data, counted where they leave, bits per second",
    ),
    Declared(
        "sack_bandwidth_{group}_bps", "Bandwidth of selective acknowledgements, {label}",
        BIT_PER_S,
        "SACK options or chunks alone of the same packets, bits per second",
    ),
)  # fmt: skip
#: When a link of their path goes down, and when it is up again.
PATHS = (
    Declared(
        "delivery_gap_{group}_s", "Longest gap in delivery, {label}", SECONDS,
        "longest time without a delivery, from the first link down on", needs="events",
    ),
    Declared(
        "outstanding_{group}_s", "Until all that was outstanding is delivered, {label}", SECONDS,
        "from the first link down until all handed over before is delivered", needs="events",
    ),
    Declared(
        "other_path_{group}_s", "Until data comes over the other path, {label}", SECONDS,
        "from the first link down until data first comes over another path", needs="events",
    ),
    Declared(
        "failover_{group}_s", "Until the path is given up, {label}", SECONDS,
        "from the first link down until the sender's kernel gives up the path", needs="events",
    ),
    Declared(
        "path_timeouts_{group}", "Timeouts until the path is given up, {label}", COUNT,
        "times its timeout grew from the first link down until then", needs="events",
    ),
    Declared(
        "switchover_{group}_s", "Until another path is the primary, {label}", SECONDS,
        "from the first link down until the sender's kernel makes another path the primary",
        needs="events",
    ),
    Declared(
        "return_{group}_s", "Until data comes over the path again, {label}", SECONDS,
        "from the link's being up again until data comes over its path", needs="events",
    ),
)  # fmt: skip
#: Whether flows return to it.
RETURNS = (
    Declared(
        "returned_{group}_frac", "Flows that return to the path, {label}", SHARE,
        "flows whose data comes over the path again once its link is up, of all", needs="events",
    ),
)  # fmt: skip
#: Messages that wait for others (head-of-line blocking).
WAITS = (
    Declared(
        "hol_wait_mean_{group}_s", "Head-of-line wait, mean, {label}", MILLISECONDS,
        "time a message that had arrived waited for others, mean over all", only="links",
    ),
    Declared(
        "hol_wait_p99_{group}_s", "Head-of-line wait, 99th percentile, {label}", MILLISECONDS,
        "99th percentile of the same, mean over the group's flows", only="links",
    ),
    Declared(
        "hol_blocked_{group}_frac", "Messages that waited for others, {label}", SHARE,
        "messages that had arrived and waited a millisecond or more for others", only="links",
    ),
)  # fmt: skip
