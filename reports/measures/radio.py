"""The metrics of a network of radios: what its medium and what routes counted. Pure.

Invariant: a network of links has none of them, and says so.
"""

from __future__ import annotations

from collections.abc import Callable

from model.run_files.path_tables import RadioRow
from reports.store.sample import NO_RADIOS, Quotient, Sample, UnavailableError, quotient, ratio

#: Of a protocol without daemons that search for ways, or take neighbours for gone.
NOT_COUNTED = "the network's routing protocol counts no such thing"


def _radios(sample: Sample) -> tuple[RadioRow, ...]:
    if not sample.radios:
        raise UnavailableError(NO_RADIOS)
    return sample.radios


def _over_nodes(column: str) -> Callable[[Sample], float]:
    """Return the metric that sums a column of ``radios.parquet`` over all nodes."""

    def compute(sample: Sample) -> float:
        counts = [getattr(row, column) for row in _radios(sample)]
        if None in counts:
            raise UnavailableError(NOT_COUNTED)
        return float(sum(counts))

    return compute


def routing_rate_bps(sample: Sample) -> float:
    """Return the bandwidth that routing messages take, each counted at each node that sends it."""
    sent_bytes = sum(row.control_bytes for row in _radios(sample))
    return ratio(8 * sent_bytes, sample.duration_s, "the length of the run")


def packets_given_up(sample: Sample) -> float:
    """Return how many frames that are not of 802.11 itself were given up, over all nodes."""
    return float(
        sum(row.given_up_frames - row.given_up_management_frames for row in _radios(sample))
    )


def attempts_collided_frac(sample: Sample) -> Quotient:
    """Return in which part of the attempts to reach one radio another signal destroyed a frame.

    An attempt begins with a radio's access to the channel: for an RTS, or a frame without one. A
    frame after its CTS is of the same attempt, so one with RTS has at most one collision as well.
    """
    rows = _radios(sample)
    collided = sum(row.rts_collided_attempts + row.collided_attempts for row in rows)
    tried = sum(row.rts_attempts + row.attempts - row.protected_attempts for row in rows)
    return quotient(collided, tried, "the number of attempts to reach one radio", 1)


def rts_unanswered_frac(sample: Sample) -> Quotient:
    """Return which part of the RTS no CTS came back of."""
    rows = _radios(sample)
    answered = sum(row.rts_answered_attempts for row in rows)
    unanswered = sum(row.rts_unanswered_attempts for row in rows)
    return quotient(unanswered, answered + unanswered, "the number of RTS", 1)


def _air(*kinds: str) -> Callable[[Sample], float]:
    """Return the metric of the time that frames of these kinds take on the channel."""

    def compute(sample: Sample) -> float:
        _radios(sample)
        return sum(row.air_frac for row in sample.airtime if row.kind in kinds)

    return compute


RADIO_FUNCTIONS: dict[str, Callable[[Sample], float | Quotient]] = {
    "link_breaks": _over_nodes("link_breaks"),
    "routes_broken": _over_nodes("routes_broken"),
    "discoveries": _over_nodes("discoveries"),
    "routing_rate_bps": routing_rate_bps,
    "frames_given_up": _over_nodes("given_up_frames"),
    "packets_given_up": packets_given_up,
    "frames_queue_dropped": _over_nodes("queue_dropped_frames"),
    "attempts_collided_frac": attempts_collided_frac,
    "rts_unanswered_frac": rts_unanswered_frac,
    "air_data_frac": _air("data"),
    "air_broadcast_frac": _air("broadcast"),
    "air_management_frac": _air("management"),
    "air_ack_frac": _air("ack"),
    "air_rts_cts_frac": _air("rts", "cts"),
}
