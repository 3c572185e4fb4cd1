"""The study file's form: one pydantic model per mapping, its aliases the keys people write.

Invariants: Python names carry the unit, keys in the file do not (the value does); every default
is named in docs/study-files.md; what depends on several settings is checked in
:mod:`testbed.study_checks.agreement`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from model.ad_hoc import Multihoming
from model.cell import OF_HOSTS, Generator, Protocol
from model.sctp_paths import Addresses
from testbed.study.ad_hoc_form import Radio, Routing
from testbed.study.claims import Claim
from testbed.study.figures import Figure
from testbed.study.host_profile_form import Profile
from testbed.study.hypotheses import Explanation, Hypothesis
from testbed.study.mobility_form import Mobility
from testbed.study.path_form import (
    DROP_TAIL,
    OF_KERNEL,
    Event,
    PathSettings,
    QueueDiscipline,
)
from testbed.study.setting_types import (
    MAX_PACKET_NUMBER,
    MAX_SEED,
    ChannelLimitPkts,
    CongestionControl,
    DelayS,
    Doi,
    DurationS,
    EveryPkts,
    FlowName,
    FlowRateBps,
    GroupName,
    KernelOfStudy,
    LossFrac,
    MessageBytes,
    PacketNumbers,
    PairNumber,
    PeriodS,
    PointValue,
    QueuePkts,
    RateBps,
    RuleName,
    RunS,
    SameDelayS,
    SameQueuePkts,
    SameRateBps,
    SettingLabel,
    Settings,
    StopS,
    StudyName,
    SweptValues,
    Text,
    TopologyName,
    WhenS,
)


class Source(Settings):
    """Where the study was published."""

    authors: Text = Field(description="who wrote it")
    publication: Text = Field(description="where it appeared")
    year: int | None = Field(None, ge=1970, le=2100, description="a year such as 2005")
    doi: Doi | None = Field(None, description="its DOI such as 10.1000/182")
    simulator: Text = Field(description="what produced its numbers, such as ns-2")


class Loss(Settings):
    """Loss of a link by what the packet carries: each data packet by itself, in bursts, by number.

    Data are lost with ``data``, with the four keys of ``gilbert_elliott`` or the two of
    ``periodic``; which of them a model must have is a check's to say.
    """

    model: Literal["independent", "gilbert_elliott", "periodic"] = Field(
        "independent",
        description="independent, gilbert_elliott for losses in bursts, or periodic:"
        " every so many-th data packet of each flow",
    )
    process: Literal["shared", "paired", "equal_drops"] = Field(
        "shared",
        description="shared by all flows, paired by each flow's packet numbers, or equal_drops:"
        " all flows lose equally many",
    )
    loss_frac: LossFrac | None = Field(
        None, alias="data", description="a percentage such as '0.8 %'"
    )
    to_bad_frac: LossFrac | None = Field(
        None, alias="to_bad", description="a chance per packet such as '0.5 %'"
    )
    to_good_frac: LossFrac | None = Field(
        None, alias="to_good", description="a chance per packet such as '25 %'"
    )
    loss_bad_frac: LossFrac | None = Field(
        None, alias="loss_bad", description="a percentage such as '100 %'"
    )
    loss_good_frac: LossFrac | None = Field(
        None, alias="loss_good", description="a percentage such as '0 %'"
    )
    every_pkts: EveryPkts | None = Field(
        None, alias="every", description="a distance such as '100 packets'"
    )
    first_pkt: int | None = Field(
        None,
        alias="first",
        ge=1,
        le=MAX_PACKET_NUMBER,
        description="the number of the first data packet lost, such as 100",
    )
    ack_loss_frac: LossFrac = Field(
        alias="acknowledgements", description="a percentage such as '0 %'"
    )


NO_LOSS = Loss.model_validate({"data": "0 %", "acknowledgements": "0 %"})


class Reverse(Settings):
    """The acknowledgements' direction where it differs; "same" takes the data's."""

    rate_bps: SameRateBps = Field("same", alias="rate", description="a rate, or same")
    owd_s: SameDelayS = Field("same", alias="delay", description="a time, or same")
    queue_pkts: SameQueuePkts = Field("same", alias="queue", description="packets, or same")
    channel_limit_pkts: ChannelLimitPkts = Field(
        "derived", alias="channel_limit", description="packets, or derived"
    )


class AccessLink(Settings):
    """A link between a host and its router; it loses nothing unless it says so."""

    rate_bps: RateBps = Field(alias="rate", description="a rate such as '10 Mbit/s'")
    owd_s: DelayS = Field(alias="delay", description="a one-way delay such as '250 ms'")
    queue_pkts: QueuePkts = Field(alias="queue", description="a buffer such as '10 packets'")
    channel_limit_pkts: ChannelLimitPkts = Field(
        "derived", alias="channel_limit", description="packets, or derived"
    )
    reverse: Reverse = Field(Reverse(), description="the acknowledgements' direction")
    loss: Loss = Field(NO_LOSS, description="loss of both directions")


class Bottleneck(AccessLink):
    """The link between the routers; its loss must be said for both directions."""

    queue_discipline: QueueDiscipline = Field(
        DROP_TAIL, description="what the buffer does besides holding packets"
    )
    loss: Loss = Field(description="data and acknowledgements, each a percentage")


class SecondPath(Settings):
    """The second path's links; one that is not given is as the first path's."""

    source_access: AccessLink | None = Field(None, description="the link from each source")
    bottleneck: Bottleneck | None = Field(None, description="the link between its routers")
    destination_access: AccessLink | None = Field(None, description="the link to each destination")


class FarSources(Settings):
    """The last sources, whose own links are as the others' but for a longer delay."""

    sources: int = Field(alias="count", ge=1, le=499, description="how many of the sources")
    owd_s: DelayS = Field(alias="delay", description="a one-way delay such as '250 ms'")


class Network(Settings):
    """Pairs of hosts, and between them a path or two of links, or other nodes with radios.

    Which keys a topology must have, or cannot, is a check's to say
    (:mod:`testbed.study_checks.networks`). Links are a dumbbell's: per pair a source and a
    destination, or one destination for all. Of two paths they are the first one's, and
    ``second_path`` says what of the second is otherwise.
    """

    topology: TopologyName = Field(description="a topology such as dumbbell")
    pairs: int = Field(ge=1, le=500, description="a number of host pairs")
    shared_destination: bool | None = Field(None, description="true or false")
    source_access: AccessLink | None = Field(
        None, description="the link from each source to its router"
    )
    far_sources: FarSources | None = Field(
        None, description="of dumbbell: the last sources, whose links have a longer delay"
    )
    bottleneck: Bottleneck | None = Field(None, description="the link between the routers")
    destination_access: AccessLink | None = Field(None, description="the link to each destination")
    second_path: SecondPath | None = Field(None, description="of two-paths: the second one's links")
    nodes: int | None = Field(
        None, ge=2, le=100, description="of ad-hoc: a number of nodes, those of pairs included"
    )
    radio: Radio | None = Field(None, description="of ad-hoc: every node's radio")
    routing: Routing | None = Field(None, description="of ad-hoc: who finds the ways")
    mobility: Mobility | None = Field(None, description="of ad-hoc: where nodes are")
    warm_up_s: DelayS = Field(
        10.0, alias="warm_up", description="of ad-hoc: how long nodes are there before time zero"
    )
    multihoming: Multihoming = Field(
        "none", description="of ad-hoc, who has a second radio: none, same-channel, two-networks"
    )

    def links(self) -> tuple[AccessLink, Bottleneck, AccessLink]:
        """Return the links of a valid network that has some, as data crosses them."""
        first, between, last = self.source_access, self.bottleneck, self.destination_access
        if first is None or between is None or last is None:
            raise TypeError(f"no links in a network of topology {self.topology}")
        return first, between, last


class Flow(Settings):
    """One flow or association from the source to the destination of a pair, or copies of it."""

    id: FlowName = Field(description="a name such as T1")
    group: GroupName = Field(description="one of the study's groups")
    protocol: Protocol = Field(description="tcp, sctp or udp")
    pair: PairNumber = Field(description="a pair's number, from 1, or next")
    copies: int = Field(1, ge=1, le=1000, description="a number of flows like this one")
    message_bytes: MessageBytes = Field(alias="message", description="a size such as '1448 bytes'")
    generator: Generator | Literal["study"] = Field(
        "study", description="probe, iperf3, or study for the study's own"
    )
    congestion_control: CongestionControl = Field(
        "hosts", description="a congestion control such as cubic, or hosts for the profile's"
    )
    streams: int = Field(1, ge=1, le=65535, description="a number of SCTP streams")
    ordered: bool = Field(True, description="whether SCTP delivers in order")
    start_s: WhenS = Field(0.0, alias="start", description="a time such as '10 s'")
    start_spread_s: WhenS = Field(
        0.0, alias="start_spread", description="a time such as '1 s' within which copies start"
    )
    stop_s: StopS = Field("end", alias="stop", description="a time, or end")
    rate_bps: FlowRateBps = Field("bulk", alias="rate", description="a rate (udp: needed), or bulk")
    addresses: Addresses = Field(
        "first", description="first, or both: an SCTP association over two paths"
    )
    paths: PathSettings = Field(OF_KERNEL, description="how an association uses its paths")


class ListedDrops(Settings):
    """Which data packets of a flow are dropped, whatever the loss model does."""

    drop_data_pkts: PacketNumbers = Field(
        alias="data_packets", description="a list of packet numbers such as [8], or none"
    )


class Measure(Settings):
    """The span of each run in which goodput is counted."""

    measure_from_s: WhenS = Field(0.0, alias="from", description="a time such as '50 s'")
    measure_to_s: StopS = Field("end", alias="to", description="a time, or end")


class Delivered(Settings):
    """Between which times segments are counted, delivered or sent, or windows looked at."""

    from_s: WhenS = Field(alias="from", description="a time such as '50 s'")
    to_s: RunS = Field(alias="to", description="a time such as '150 s'")


class Bins(Delivered):
    """Between which times the data that arrives is counted, bin by bin."""

    bin_s: DurationS = Field(0.1, alias="bin", description="a time such as '100 ms'")


class Collect(Settings):
    """What evidence the study needs beyond what every run records, and how finely."""

    captures: bool = Field(False, description="true or false: at every point")
    captures_at: tuple[dict[str, Any], ...] = Field(
        (), description="a list of points, each a mapping of swept settings to values"
    )
    messages: bool = Field(False, description="true or false: when each message was delivered")
    acknowledgements: bool = Field(
        False, description="true or false: what acknowledging takes of each flow"
    )
    sockets_s: PeriodS = Field(
        "derived", alias="sockets", description="a time between samples such as '1 s', or derived"
    )
    counters_s: PeriodS = Field(
        "derived", alias="counters", description="a time between samples such as '10 s', or derived"
    )


class Compare(Settings):
    """Whose increase over whom is reported."""

    of: GroupName = Field(description="a group")
    over: GroupName = Field(description="another group")


class PublishedRow(Settings):
    """One row of a published table: where on the sweep, and what was printed."""

    at: dict[str, Any] = Field(description="a mapping of swept settings to values")
    points: Literal["one", "all"] = Field(
        "one", description="how many points may be there: one, or all"
    )
    where: Text | None = Field(None, description="its table or figure, if not the study's")
    values: dict[str, float] = Field(min_length=1, description="a mapping of metrics to numbers")


class PublishedEpisode(Settings):
    """What a publication says of one loss episode of a flow."""

    flow: FlowName = Field(description="one of the study's flows")
    episode: int = Field(0, ge=0, description="its number, from 0")
    where: Text = Field(description="a figure or section")
    at: dict[str, Any] = Field({}, description="a mapping of swept settings to values")
    grown_s: DurationS | None = Field(
        None, alias="grown", description="a time after the detection, such as '1 s'"
    )
    values: dict[str, float] = Field(min_length=1, description="a mapping of columns to numbers")


class Published(Settings):
    """The published table a study is compared with, and single episodes."""

    where: Text = Field(description="its name in the publication, such as Table 2")
    rows: tuple[PublishedRow, ...] = Field((), description="a list of rows")
    episodes: tuple[PublishedEpisode, ...] = Field((), description="a list of loss episodes")


class Assumption(Settings):
    """What had to be assumed because the publication is silent or contradicts itself."""

    id: StudyName = Field(description="a name such as access-queue")
    text: Text = Field(description="what is assumed")
    why: Text = Field(description="the reason")
    alternatives: tuple[dict[str, PointValue], ...] = Field(
        (), description="a list of what else could be: each settings and their values"
    )
    at: dict[str, Any] = Field(
        {}, description="a mapping of swept settings to a value or a list; none: every point"
    )


class Sensitivity(Settings):
    """How the alternatives of assumptions are tried."""

    seeds: int = Field(3, ge=1, le=1000, description="with how many seeds, the run's first")


class Replication(Settings):
    """How precisely a metric must be known before a run with ``--reps auto`` adds no more seeds."""

    metric: str = Field(description="one of the study's metrics")
    half_width: float = Field(
        gt=0, description="half of its 95 % confidence interval, in the metric's unit"
    )
    at_least: int = Field(5, ge=2, le=1000, description="seeds before it is looked at")
    at_most: int = Field(40, ge=2, le=1000, description="seeds after which it is given up")


class Acknowledgement(Settings):
    """A misleading setting the author means, and why."""

    rule: RuleName = Field(description="a rule that `validate` prints")
    why: Text = Field(description="the reason")


Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]


class StudyFile(Settings):
    """A whole study file."""

    version: Literal[1] = Field(alias="groundtruth", description="the format's version: 1")
    study: StudyName = Field(description="a name such as wireless")
    title: Text = Field(description="one line")
    source: Source | None = Field(None, description="where the study was published, if it was")
    duration_s: RunS = Field(alias="duration", description="a time such as '1000 s'")
    measure: Measure = Field(Measure.model_validate({}), description="when goodput is counted")
    seeds: tuple[Seed, ...] = Field(min_length=1, description="a list such as [1, 2, 3]")
    hosts: StudyName = Field(description="a host profile such as paper")
    kernel: KernelOfStudy = Field(
        OF_HOSTS, description="a kernel such as '6.12', or hosts for the profile's"
    )
    generator: Generator = Field(description="probe or iperf3")
    network: Network = Field(description="the topology and its links")
    flows: tuple[Flow, ...] = Field(min_length=1, description="a list of flows")
    events: tuple[Event, ...] = Field((), description="a list of what happens to links")
    drops: dict[FlowName, ListedDrops] = Field({}, description="data packets to drop, by flow")
    collect: Collect = Field(Collect.model_validate({}), description="evidence to record")
    groups: dict[GroupName, Text] = Field(min_length=1, description="a name per group of flows")
    compare: Compare | None = Field(None, description="which group over which")
    delivered: Delivered | None = Field(None, description="between which times segments count")
    windows: Delivered | None = Field(None, description="between which times windows are looked at")
    bins: Bins | None = Field(None, description="between which times bins of arrivals are counted")
    sweep: dict[str, SweptValues] = Field(
        {}, description="a list of values per setting: every combination is a point"
    )
    points: tuple[dict[str, PointValue], ...] = Field(
        (), description="a list of points, each giving the same settings a value"
    )
    label: dict[str, SettingLabel] = Field(
        {}, description="what readers call swept settings: a text with {value}, or one per value"
    )
    metrics: tuple[str, ...] = Field(min_length=1, description="a list of metrics")
    published: Published | None = Field(None, description="the published table")
    figures: tuple[Figure, ...] = Field((), description="a list of figures")
    claims: tuple[Claim, ...] = Field((), description="a list of claims")
    assumptions: tuple[Assumption, ...] = Field((), description="a list of assumptions")
    hypotheses: tuple[Hypothesis, ...] = Field(
        (), description="a list of mechanisms that `explain` turns to what was published"
    )
    explanations: tuple[Explanation, ...] = Field(
        (), description="claims that mechanisms explain something, which `explain` judges"
    )
    sensitivity: Sensitivity = Field(
        Sensitivity.model_validate({}), description="how alternatives of assumptions are tried"
    )
    replication: Replication | None = Field(None, description="when --reps auto stops")
    acknowledged: tuple[Acknowledgement, ...] = Field((), description="a list of rules and why")
    profiles: dict[StudyName, Profile] = Field({}, description="host profiles by name")
