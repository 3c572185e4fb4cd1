"""What flows get and what it takes: goodput, windows, delays, the link and its buffer."""

from __future__ import annotations

from model.run_files.metrics.declared import Declared
from model.run_files.quantity import (
    FRACTION,
    INDEX,
    KBIT_PER_S,
    MILLISECONDS,
    PACKETS,
    PERCENT,
    SECONDS,
    SEGMENTS,
    SHARE,
)

#: What every study has.
USUAL = (
    Declared(
        "share_{group}_pct", "Share of goodput, {label}", PERCENT,
        "percentage throughput: the group's goodput of all groups' goodput",
    ),
    Declared(
        "goodput_{group}_bps", "Goodput, {label}", KBIT_PER_S,
        "new application bytes of the group per second, in bits",
    ),
    Declared(
        "loss_{group}_frac", "Realised loss, {label}", FRACTION,
        "realised loss: packets lost of packets offered to the loss model", only="links",
    ),
    Declared(
        "cwnd_mean_{group}_segments", "Mean congestion window, {label}", SEGMENTS,
        "congestion window, mean over time and over the group's flows",
    ),
    Declared(
        "pct_increase", "Increase in goodput of {of} over {over}", PERCENT,
        "percentage increase of goodput, compare.of over compare.over", needs="compare",
    ),
    Declared(
        "utilisation_pct", "Link utilisation", PERCENT,
        "all groups' goodput as a percentage of the bottleneck's rate", only="links",
    ),
    Declared(
        "jain_flows", "Jain fairness over the flows", INDEX,
        "Jain's fairness index over the single flows",
    ),
    Declared(
        "jain_protocols", "Jain fairness over the protocol totals", INDEX,
        "Jain's fairness index over the groups' totals",
    ),
    Declared(
        "owd_mean_{group}_s", "One-way delay, mean, {label}", MILLISECONDS,
        "mean one-way delay of packets with data, over the group's flows", only="links",
    ),
    Declared(
        "owd_p95_{group}_s", "One-way delay, 95th percentile, {label}", MILLISECONDS,
        "95th percentile of the same, mean over the group's flows", only="links",
    ),
    Declared(
        "jitter_{group}_s", "Jitter, {label}", MILLISECONDS,
        "mean difference of the delays of consecutive arrivals", only="links",
    ),
    Declared(
        "queueing_{group}_s", "Time in the bottleneck's buffer, {label}", MILLISECONDS,
        "mean time in the bottleneck's buffer, being sent included", only="links",
    ),
    Declared(
        "connect_to_data_{group}_s", "Time to first data, {label}", SECONDS,
        "from a flow's first packet until its first data arrived", only="links",
    ),
    Declared(
        "wire_rate_{group}_bps", "Wire rate of data, {label}", KBIT_PER_S,
        "IP packets of the group's data out of the buffer, bits per second", only="links",
    ),
    Declared(
        "ack_wire_rate_{group}_bps", "Bandwidth of acknowledgements, {label}", KBIT_PER_S,
        "IP packets of the group's acknowledgements, bits per second", only="links",
    ),
    Declared(
        "queue_dropped_{group}_pkts", "Dropped by the buffer, {label}", PACKETS,
        "data packets of the group the bottleneck's buffer dropped", only="links",
    ),
)  # fmt: skip
#: What a study has only where it asks for it.
MORE = (
    Declared(
        "flow_goodput_{flow}_bps", "Goodput of flow {flow}", KBIT_PER_S,
        "new application bytes of the flow per second, in bits",
    ),
    Declared(
        "flow_owd_mean_{flow}_s", "One-way delay, mean, of flow {flow}", MILLISECONDS,
        "mean one-way delay of the flow's packets with data", only="links",
    ),
    Declared(
        "flow_jitter_{flow}_s", "Jitter of flow {flow}", MILLISECONDS,
        "mean difference of the delays of its consecutive arrivals", only="links",
    ),
    Declared(
        "flow_wire_rate_{flow}_bps", "Wire rate of flow {flow}", KBIT_PER_S,
        "IP packets of its data out of the buffer, bits per second", only="links",
    ),
    Declared(
        "utilisation_sent_pct", "Link utilisation, new data sent", PERCENT,
        "the same of new data sent, over the whole run", only="links",
    ),
    Declared(
        "utilisation_data_pct", "Link utilisation, all data", PERCENT,
        "the same of data out of the buffer, repeated or not", only="links",
    ),
    Declared(
        "utilisation_wire_pct", "Link utilisation, packets", PERCENT,
        "the same with headers", only="links",
    ),
    Declared(
        "utilisation_link_pct", "Link utilisation, measured packets", PERCENT,
        "packets out of the buffer in the measuring window, with headers", only="links",
    ),
    Declared(
        "silent_bins_frac", "Time without an arrival", SHARE,
        "bins of time between two times in which no data arrived", needs="bins", only="links",
    ),
    Declared(
        "low_bins_frac", "Time with less than half of the rate", SHARE,
        "bins in which data took less than half of the bottleneck's rate", needs="bins",
        only="links",
    ),
    Declared(
        "delivered_{group}_segments", "Segments delivered, {label}", SEGMENTS,
        "the group's goodput between two times, in messages", needs="delivered",
    ),
    Declared(
        "goodput_cv_{group}_pct", "Spread of goodput over the flows, {label}", PERCENT,
        "spread of goodput over the group's flows, in % of their mean",
    ),
    Declared(
        "goodput_over_time_{group}_pct", "Variation of goodput over time, {label}", PERCENT,
        "variation of goodput over 10 s bins, in % of its mean",
    ),
    Declared(
        "sent_{group}_segments", "Segments sent, {label}", SEGMENTS,
        "new data the group sent between these times, in packets", needs="delivered", only="links",
    ),
    Declared(
        "cwnd_min_{group}_segments", "Smallest congestion window, {label}", SEGMENTS,
        "smallest congestion window between two times, of any flow", needs="windows",
    ),
    Declared(
        "cwnd_max_{group}_segments", "Largest congestion window, {label}", SEGMENTS,
        "largest congestion window between these times, of any flow", needs="windows",
    ),
    Declared(
        "queueing_p95_{group}_s", "Time in the bottleneck's buffer, 95th percentile, {label}",
        MILLISECONDS, "95th percentile of the time in the buffer, mean over the group's flows",
        only="links",
    ),
    Declared(
        "queueing_p99_{group}_s", "Time in the bottleneck's buffer, 99th percentile, {label}",
        MILLISECONDS, "99th percentile of the same", only="links",
    ),
    Declared(
        "marked_{group}_pkts", "Packets received marked, {label}", PACKETS,
        "IP packets that came to the group's receivers with Congestion Experienced", only="links",
    ),
    Declared(
        "jitter_min_{group}_s", "Least jitter, {label}", MILLISECONDS,
        "the least of these differences, mean over the group's flows", only="links",
    ),
    Declared(
        "jitter_p50_{group}_s", "Median jitter, {label}", MILLISECONDS,
        "their median", only="links",
    ),
    Declared(
        "jitter_max_{group}_s", "Largest jitter, {label}", MILLISECONDS,
        "the largest", only="links",
    ),
)  # fmt: skip
