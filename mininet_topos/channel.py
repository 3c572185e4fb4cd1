"""One direction of a link as two separate stages: a shaper and a channel. Pure: builds tc lines.

The shaper is a netem qdisc with only a rate and a limit. It serialises every packet (also on an
idle link, unlike a token bucket) and holds at most ``queue_pkts`` packets, the one being sent
included, which is what an ns-2 link with a drop-tail queue of that length does. The channel is a
netem qdisc with only delay and loss, with a limit above all it can hold. They never share a
limit, so a full buffer and a lost packet are told apart by whose counter rose.

Where a buffer manages its queue, the shaper is a token bucket, below it is a third stage, the
queue, and the channel serialises (:mod:`mininet_topos.disciplines`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from mininet_topos import disciplines

if TYPE_CHECKING:
    from model.links import AnyLoss, Direction

#: Bytes of Ethernet header that a qdisc counts and an ns-2 link does not.
ETHERNET_HEADER_BYTES = 14
NS_PER_S = 1_000_000_000

#: Loss models that netem has; and iproute2's names of what a model of bursts consists of.
NETEM_LOSSES = ("random", "gilbert_elliott")
BURST_NAMES = {
    "to_bad_frac": "p", "to_good_frac": "r", "loss_bad_frac": "1-h", "loss_good_frac": "1-k",
}  # fmt: skip
NO_LOSS = dict.fromkeys(("loss_frac", *BURST_NAMES), 0.0)

Role = Literal["shaper", "channel", "aqm"]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One qdisc: where it sits, what it is for, and what was asked of it.

    ``feeds_shaper`` marks a channel whose child is a shaper: netem counts its child's packets
    against its own limit (sch->q.qlen), so that limit is raised by what the shaper may hold.
    """

    node: str
    device: str
    parent: str
    handle: str
    role: Role
    direction: Direction
    seed: int
    feeds_shaper: bool = False

    def where(self) -> str:
        """Return ``node:device handle`` for messages."""
        return f"{self.node}:{self.device} {self.handle}"

    def command(self) -> str:
        """Return the line for ``tc -batch`` that installs the stage."""
        return self._line("add")

    def change(self) -> str:
        """Return the line that gives the stage, which is there, its options; it keeps packets."""
        return self._line("change")

    def _line(self, verb: str) -> str:
        place = "root" if self.parent == "root" else f"parent {self.parent}"
        # The negative overhead takes the Ethernet header off again: rates count IP bytes.
        sizes = f" stab overhead -{ETHERNET_HEADER_BYTES}" if self.kind == "tbf" else ""
        return (
            f"qdisc {verb} dev {self.device} {place} handle {self.handle}{sizes}"
            f" {self.kind} {self.options()}\n"
        )

    @property
    def kind(self) -> str:
        """What tc calls the qdisc."""
        managed = self.direction.discipline
        if not managed.is_active or self.role == "channel":
            return "netem"
        return "tbf" if self.role == "shaper" else managed.kind

    def options(self) -> str:
        """Return the qdisc's options for this stage."""
        link = self.direction
        if self.role == "aqm":
            return disciplines.queue_options(link)
        if self.kind == "tbf":
            return disciplines.bucket_options(link)
        if self.role == "shaper":
            return f"limit {link.queue_pkts} {_rate(link)}"
        options = f"limit {self._channel_limit_pkts()} delay {round(link.owd_s * NS_PER_S)}ns"
        if link.discipline.is_active:
            options += f" {_rate(link)}"
        if self.draws():
            options += f" loss {_netem_loss(link.loss)} seed {self.seed}"
        return options

    def _channel_limit_pkts(self) -> int:
        held = self.direction.queue_pkts if self.feeds_shaper else 0
        return self.direction.channel_limit_pkts + held

    def mismatches(self, qdisc: dict[str, Any]) -> list[tuple[str, str, str]]:
        """Compare ``tc -j qdisc show``'s entry with what was asked: (setting, wanted, got)."""
        if self.role == "aqm":
            return disciplines.queue_mismatches(self.direction, qdisc.get("options", {}))
        if self.kind == "tbf":
            return disciplines.bucket_mismatches(self.direction, qdisc.get("options", {}))
        wanted = self._wanted()
        got = _read_netem(qdisc)
        found = []
        for setting, value in wanted.items():
            if not _same(value, got[setting]):
                found.append((setting, f"{value:.10g}", f"{got[setting]:.10g}"))
        seed = qdisc.get("options", {}).get("seed")
        if self.draws() and seed != self.seed:
            found.append(("seed", str(self.seed), str(seed)))
        return found

    def draws(self) -> bool:
        """Return whether netem draws losses here; those by packets' numbers are before it."""
        return self.role == "channel" and self.direction.loss.model in NETEM_LOSSES

    def _wanted(self) -> dict[str, float]:
        link = self.direction
        if self.role == "shaper":
            return {
                "limit_pkts": link.queue_pkts,
                "rate_bps": link.rate_bps,
                "rate_overhead_bytes": -ETHERNET_HEADER_BYTES,
                "delay_s": 0.0,
                **NO_LOSS,
            }
        serialises = link.discipline.is_active
        return {
            "limit_pkts": self._channel_limit_pkts(),
            "rate_bps": link.rate_bps if serialises else 0.0,
            "rate_overhead_bytes": -ETHERNET_HEADER_BYTES if serialises else 0.0,
            "delay_s": link.owd_s,
            **_wanted_loss(link.loss),
        }


def _rate(link: Direction) -> str:
    """Return the words of netem's rate; the negative overhead takes the Ethernet header off."""
    return f"rate {link.rate_bps}bit -{ETHERNET_HEADER_BYTES}"


def _netem_loss(loss: AnyLoss) -> str:
    """Return the words of netem's loss model; of its bursts it wants p, r, 1-h and 1-k."""
    if loss.model != "gilbert_elliott":
        return f"random {loss.loss_frac * 100:.10g}%"
    fracs = (loss.to_bad_frac, loss.to_good_frac, loss.loss_bad_frac, loss.loss_good_frac)
    return "gemodel " + " ".join(f"{frac * 100:.10g}%" for frac in fracs)


def _wanted_loss(loss: AnyLoss) -> dict[str, float]:
    if loss.model != "gilbert_elliott":
        return {**NO_LOSS, "loss_frac": loss.loss_frac if loss.model in NETEM_LOSSES else 0.0}
    return {**NO_LOSS, **{name: float(getattr(loss, name)) for name in BURST_NAMES}}


def _read_netem(qdisc: dict[str, Any]) -> dict[str, float]:
    options = qdisc.get("options", {})
    rate = options.get("rate", {})
    overhead = int(rate.get("packetoverhead", 0))
    return {
        "limit_pkts": float(options.get("limit", 0)),
        "rate_bps": float(rate.get("rate", 0)) * 8,
        # iproute2 prints this signed number as unsigned.
        "rate_overhead_bytes": float(overhead - (1 << 32) if overhead >= 1 << 31 else overhead),
        "delay_s": float(options.get("delay", {}).get("delay", 0.0)),
        "loss_frac": float(options.get("loss-random", {}).get("loss", 0.0)),
        **{
            name: float(options.get("loss-gemodel", {}).get(word, 0.0))
            for name, word in BURST_NAMES.items()
        },
    }


def _same(wanted: float, got: float) -> bool:
    """Compare within the kernel's own resolution (loss is a 32-bit fraction, delay whole ns)."""
    return abs(wanted - got) <= max(abs(wanted) * 1e-6, 1e-9)
