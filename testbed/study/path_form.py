"""The parts of the study file's form about several paths, managed queues, and events of links.

Invariant: what depends on the network or on other events is checked in
:mod:`testbed.study_checks.paths` and :mod:`testbed.study_checks.queues`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from model.links import QueueKind
from model.sctp_paths import Primary
from testbed.study.setting_types import (
    DelayS,
    KernelMs,
    LossFrac,
    PfRetransmissions,
    QuantumBytes,
    QueueCount,
    RateBps,
    Retransmissions,
    Settings,
    StayS,
    StudyName,
    Text,
    WhenS,
)


class PathSettings(Settings):
    """How an SCTP association with two addresses uses its paths; "kernel": as its kernel does."""

    primary: Primary = Field("first", description="first or second")
    heartbeat_interval_ms: KernelMs = Field(
        "kernel", alias="heartbeat_interval", description="a time such as '30 s', or kernel"
    )
    path_max_retransmissions: Retransmissions = Field(
        "kernel", description="a whole number such as 5, or kernel"
    )
    association_max_retransmissions: Retransmissions = Field(
        "kernel", description="a whole number such as 10, or kernel"
    )
    pf_max_retransmissions: PfRetransmissions = Field(
        "kernel", description="a whole number such as 0, off, or kernel"
    )
    ps_max_retransmissions: PfRetransmissions = Field(
        "kernel", description="a whole number such as 1, off, or kernel"
    )
    rto_initial_ms: KernelMs = Field(
        "kernel", alias="rto_initial", description="a time such as '3 s', or kernel"
    )
    rto_min_ms: KernelMs = Field(
        "kernel", alias="rto_min", description="a time such as '1 s', or kernel"
    )
    rto_max_ms: KernelMs = Field(
        "kernel", alias="rto_max", description="a time such as '60 s', or kernel"
    )


class QueueDiscipline(Settings):
    """What the bottleneck's buffer does besides holding packets; "default": as its RFC has it."""

    queue_discipline: QueueKind = Field(
        "fifo", alias="kind", description="fifo, codel, fq_codel or pie"
    )
    target_s: StayS = Field(
        "default", alias="target", description="a stay such as '5 ms', or default"
    )
    interval_s: StayS = Field(
        "default", alias="interval", description="a time such as '100 ms', or default"
    )
    ecn: bool = Field(False, description="true or false: mark rather than drop where that may be")
    queues: QueueCount = Field(
        "default", description="of fq_codel: a number such as 1024, or default"
    )
    quantum_bytes: QuantumBytes = Field(
        "default", alias="quantum", description="of fq_codel: a size such as '1514 bytes'"
    )


DROP_TAIL = QueueDiscipline.model_validate({})
OF_KERNEL = PathSettings.model_validate({})


class Event(Settings):
    """What happens to a link while flows run: it goes down or up, or a setting becomes another."""

    id: StudyName = Field(description="a name such as cut")
    at_s: WhenS = Field(alias="at", description="a time such as '20 s'")
    link: Text = Field(description="a link such as bottleneck")
    set_: Literal["down", "up"] | None = Field(None, alias="set", description="down or up")
    way: Literal["both", "data", "acknowledgements"] = Field(
        "both", description="both, data or acknowledgements: of rate, delay and loss"
    )
    rate_bps: RateBps | None = Field(None, alias="rate", description="a rate such as '1 Mbit/s'")
    owd_s: DelayS | None = Field(None, alias="delay", description="a delay such as '250 ms'")
    loss_frac: LossFrac | None = Field(
        None, alias="loss", description="a percentage such as '0.8 %'"
    )
