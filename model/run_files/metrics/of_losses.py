"""What senders do when a packet is lost: duplicates, repeats, windows, timeouts."""

from __future__ import annotations

from model.run_files.metrics.declared import Declared
from model.run_files.quantity import COUNT, PACKETS, SECONDS, SHARE

#: In the order of a recovery.
LOSSES = (
    Declared(
        "dupacks_{group}_pkts", "Duplicates before {label} repeats a lost packet", PACKETS,
        "duplicates that had come when a lost packet was repeated, mean",
    ),
    Declared(
        "new_data_on_dupacks_{group}_pkts", "New packets {label} sends on duplicates", PACKETS,
        "new packets sent on those duplicates, mean over losses",
    ),
    Declared(
        "new_data_on_dupack_1_{group}_pkts", "New packets {label} sends on duplicate 1", PACKETS,
        "new packets sent on duplicate 1 alone, mean",
    ),
    Declared(
        "new_data_on_dupack_2_{group}_pkts", "New packets {label} sends on duplicate 2", PACKETS,
        "new packets sent on duplicate 2 alone, mean",
    ),
    Declared(
        "new_data_on_dupack_3_{group}_pkts", "New packets {label} sends on duplicate 3", PACKETS,
        "new packets sent on duplicate 3 alone, mean",
    ),
    Declared(
        "sends_on_dupack_1_{group}_frac",
        "Losses on whose duplicate 1 {label} sends new data", SHARE,
        "losses on whose duplicate 1 new data was sent",
    ),
    Declared(
        "sends_on_dupack_2_{group}_frac",
        "Losses on whose duplicate 2 {label} sends new data", SHARE,
        "losses on whose duplicate 2 new data was sent",
    ),
    Declared(
        "sends_on_dupack_3_{group}_frac",
        "Losses on whose duplicate 3 {label} sends new data", SHARE,
        "losses on whose duplicate 3 new data was sent",
    ),
    Declared(
        "repeats_on_dupack_3_{group}_frac", "Losses {label} repeats on duplicate 3", SHARE,
        "losses repeated on duplicate 3 exactly",
    ),
    Declared(
        "repeats_on_dupack_4_{group}_frac", "Losses {label} repeats on duplicate 4", SHARE,
        "losses repeated on duplicate 4 exactly",
    ),
    Declared(
        "first_new_on_dupack_{group}", "Duplicate on which {label} first sends new data", COUNT,
        "duplicate on which new data first left, mean over losses",
    ),
    Declared(
        "acks_to_new_data_{group}_pkts",
        "Acknowledgements until {label} sends new data again", PACKETS,
        "acknowledgements from the repeat to the first new data, mean",
    ),
    Declared(
        "flight_full_{group}_frac", "Losses {label} repeats with a full window in flight", SHARE,
        "losses repeated though the window had no room for another packet",
    ),
    Declared(
        "regrow_{group}_s", "Time until the window has grown again, {label}", SECONDS,
        "from acting on a loss until the window grew by a message, mean",
    ),
    Declared(
        "grows_at_recovery_{group}_frac", "Losses that end with a larger window, {label}", SHARE,
        "losses at whose last acknowledgement the window grew",
    ),
    Declared(
        "cwnd_stays_{group}_frac",
        "Losses through which the window stays as it was cut, {label}", SHARE,
        "losses through which the window stayed as it was cut",
    ),
    Declared(
        "timeouts_{group}", "Timeouts, {label}", COUNT,
        "expiries of the group's retransmission timers",
    ),
    Declared(
        "timeout_if_lost_again_{group}_frac", "Repeated in vain, then a timeout, {label}", SHARE,
        "losses repeated in vain that ended in a timeout",
    ),
    Declared(
        "recover_{group}_s", "Time to recover from a loss, {label}", SECONDS,
        "from acting on a loss until all was acknowledged, mean over losses",
    ),
)  # fmt: skip
