"""What losses did: rows of ``episodes.parquet`` and ``limits.parquet``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class EpisodeRow:
    """One loss episode of a flow."""

    flow: str  #: as in `cell.json`
    protocol: str  #: as in `cell.json`
    episode: int  #: number, from 0, of the flow's
    basis: str  #: `captures` (exact), or `telemetry`: from the kernel's events
    #: when the first lost packet came to what lost it; captures only; null also if nothing was lost
    lost_s: float | None = None
    #: `queue` or `loss`: the bottleneck's buffer or its loss model; null for an access link
    lost_at: str | None = None
    #: packets of data lost, repeated ones included; 0: the sender repeated without a loss
    lost_pkts: int | None = None
    first_lost_segment: int | None = None  #: number of the first lost segment or chunk, from 1
    first_lost_packet: int | None = None  #: its number in `packets.parquet`
    #: when the sender acted: its first retransmission, or by telemetry its change of state
    detected_s: float | None = None
    #: `dupacks`, `rack` (fewer than three duplicates, or a timer after them), `probe` (tail loss
    #: probe), `timeout`
    detected_by: str | None = None
    #: duplicate acknowledgements, or SACKs that reported it missing, that had come by then
    dupacks: int | None = None
    #: packets of new data sent from the first of them until the sender acted
    new_data_pkts: int | None = None
    #: of these, sent on the first: from its arrival until the next acknowledgement came or the
    #: sender acted; null also if it never came
    new_data_on_dupack_1_pkts: int | None = None
    new_data_on_dupack_2_pkts: int | None = None  #: of these, sent on the second, likewise
    new_data_on_dupack_3_pkts: int | None = None  #: of these, sent on the third, likewise
    #: the duplicate on which new data first left, the sender having acted or not; captures only;
    #: null also if none left on one
    first_new_on_dupack: int | None = None
    #: the number of the segment or chunk it began with, from 1
    first_new_segment: int | None = None
    #: acknowledgements that came after the one the sender acted on, until new data left; captures
    #: only
    acks_to_new_data_pkts: int | None = None
    retransmitted_pkts: int | None = None  #: retransmissions
    lost_again_pkts: int | None = None  #: retransmissions that were lost; captures only
    timeouts: int | None = None  #: expiries of the retransmission timer
    #: window that the last acknowledgement met before, or when, the sender acted
    cwnd_before_bytes: int | None = None
    cwnd_after_bytes: int | None = None  #: window that the next acknowledgement met
    ssthresh_after_bytes: int | None = None  #: threshold that it met
    #: outstanding when it acted: TCP beyond the cumulative acknowledgement, SCTP without what SACKs
    #: cover
    flight_before_bytes: int | None = None
    #: outstanding when it acted, as the studies count it: of both protocols without what
    #: acknowledgements cover, the one it acted on included; captures only
    flight_at_act_bytes: int | None = None
    #: how often the window changed from what the first acknowledgement after the act met to what
    #: the one with which the episode was over met
    cwnd_changes: int | None = None
    #: window that the acknowledgement with which the episode was over met
    cwnd_at_recovery_bytes: int | None = None
    cwnd_after_recovery_bytes: int | None = None  #: window that the next one met
    #: when the window, come down to the threshold the loss left, was larger by a message; null
    #: after a timeout, and if the sender acted on another loss before
    regrown_s: float | None = None
    recovered_s: float | None = None  #: when the episode was over; null: not before the end
    detect_s: float | None = None  #: `detected_s` - `lost_s`
    recover_s: float | None = None  #: `recovered_s` - `detected_s`
    regrow_s: float | None = None  #: `regrown_s` - `detected_s`


@dataclass(frozen=True, kw_only=True)
class LimitsRow:
    """What limited one flow in one span of time."""

    flow: str  #: as in `cell.json`
    protocol: str  #: as in `cell.json`
    span: str  #: `run` or `window`
    start_s: float  #: from, within the flow's own time
    end_s: float  #: to
    recovering_frac: float  #: of that time the share between detecting a loss and recovering
    cwnd_frac: float  #: of the rest, waiting because the congestion window was full
    rwnd_frac: float  #: the same because the receiver's was
    sender_frac: float  #: neither was full: the application or the send buffer had nothing to send
    #: before the first and after the last acknowledgement the kernel told of; the five add up to 1
    unknown_frac: float
    #: samples that found a packet in the bottleneck's buffer, of anyone; null: none was taken
    bottleneck_busy_frac: float | None
    #: TCP_INFO's own account at the sender's end: time with data to send or not acknowledged
    tcp_busy_s: float | None = None
    tcp_rwnd_limited_s: float | None = None  #: of it: held up by the peer's window
    tcp_sndbuf_limited_s: float | None = None  #: of it: held up by the send buffer
    #: realised: dropped by buffer and loss model, of what the flow offered; this and the rest only
    #: of the run
    loss_frac: float | None = None
    rtt_s: float | None = None  #: mean round trip
    #: `srtt`, `captures` (both one-way delays), `path` (propagation, serialisation and mean queue)
    rtt_from: str | None = None
    rto_s: float | None = None  #: retransmission timeout, at the sender's end
    window_bytes: int | None = None  #: largest window the receiver offered
    per_ack_pkts: int | None = None  #: packets per acknowledgement, 1 or 2
    #: goodput over the flow's own time within the measuring window: from its start to its stop, or
    #: to the end of the last interval with data if that is later
    rate_bps: float | None = None
    #: what loss allows by the square-root law, see [metrics.md](metrics.md#bounds-by-loss)
    sqrt_bound_bps: float | None = None
    pftk_bound_bps: float | None = None  #: what loss allows by PFTK, see there
    rate_of_sqrt_frac: float | None = None  #: `rate_bps` over `sqrt_bound_bps`
    rate_of_pftk_frac: float | None = None  #: `rate_bps` over `pftk_bound_bps`
