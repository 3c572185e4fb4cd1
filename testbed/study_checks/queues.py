"""What a bottleneck's queue discipline must agree on: parameters, room, events of its link."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from model import units
from model.links import QueueKind
from testbed.study.path_form import DROP_TAIL, QueueDiscipline
from testbed.study.problems import Loc, Problem
from testbed.study.study_form import Bottleneck, Network, StudyFile
from testbed.study.yaml_document import Document
from testbed.study_checks.registry import Checks

CHECKS = Checks()
#: Which parameters a discipline has, by their names in the form.
PARAMETERS: Mapping[QueueKind, frozenset[str]] = {
    "fifo": frozenset(),
    "codel": frozenset({"target_s", "interval_s", "ecn"}),
    "fq_codel": frozenset({"target_s", "interval_s", "ecn", "queues", "quantum_bytes"}),
    "pie": frozenset({"target_s", "interval_s", "ecn"}),
}
#: A discipline's own target and interval: RFC 8289, 4.2 and 4.3; RFC 8033, 4.1 and 4.2, whose 15 ms
#: between two updates Linux rounds up to its timer's ticks.
TARGET_S: Mapping[QueueKind, float] = {"codel": 0.005, "fq_codel": 0.005, "pie": 0.015}
INTERVAL_S: Mapping[QueueKind, float] = {"codel": 0.1, "fq_codel": 0.1, "pie": 0.016}
#: A managed queue holds a packet at least, and one more is being sent.
LEAST_PKTS = 2
#: The kernel's timer, in whose ticks PIE updates its probability.
TICK_S, TICK_ERROR = 0.004, 1e-9
KEY = "queue_discipline"


def bottlenecks(network: Network) -> Iterator[tuple[Loc, str, Bottleneck]]:
    """Yield each bottleneck's place, what events call it, and the link."""
    if network.bottleneck is not None:
        yield ("network", "bottleneck"), "bottleneck", network.bottleneck
    second = network.second_path.bottleneck if network.second_path else None
    if second is not None:
        yield ("network", "second_path", "bottleneck"), "bottleneck2", second


@CHECKS.reads("network")
def _parameters(study: StudyFile, document: Document) -> Iterator[Problem]:
    for place, _, link in bottlenecks(study.network):
        asked = link.queue_discipline
        yield from _foreign(asked, (*place, KEY), document)
        if asked.queue_discipline == "fifo":
            continue
        back = link.reverse.queue_pkts
        for loc, pkts in ((("queue",), link.queue_pkts), (("reverse", "queue"), back)):
            if pkts != "same" and pkts < LEAST_PKTS:
                yield document.problem(
                    (*place, *loc), "no room to manage a queue in",
                    wanted=f"at least {units.format_packets(LEAST_PKTS)}",
                    got=units.format_packets(pkts),
                )  # fmt: skip
        yield from _times(asked, (*place, KEY), document)


def _foreign(asked: QueueDiscipline, place: Loc, document: Document) -> Iterator[Problem]:
    """Yield the parameters that the discipline has not, where they say something."""
    for name, field in QueueDiscipline.model_fields.items():
        known = name in PARAMETERS[asked.queue_discipline] or name == KEY
        if not known and getattr(asked, name) != getattr(DROP_TAIL, name):
            having = [kind for kind, names in PARAMETERS.items() if name in names]
            yield document.problem(
                (*place, field.alias or name), f"{asked.queue_discipline} has no such parameter",
                wanted=f"no such key, or kind {' or '.join(having)}",
            )  # fmt: skip


def _times(asked: QueueDiscipline, place: Loc, document: Document) -> Iterator[Problem]:
    kind = asked.queue_discipline
    target_s = TARGET_S[kind] if asked.target_s == "default" else asked.target_s
    interval_s = INTERVAL_S[kind] if asked.interval_s == "default" else asked.interval_s
    if kind == "pie":
        if abs(interval_s / TICK_S - round(interval_s / TICK_S)) > TICK_ERROR:
            yield document.problem(
                (*place, "interval"), "not in ticks of the kernel's timer",
                wanted=f"a multiple of {units.format_time(TICK_S)}",
                got=units.format_time(interval_s),
            )  # fmt: skip
    elif target_s >= interval_s:
        yield document.problem(
            (*place, "target"), "not below the interval",
            wanted=f"less than {units.format_time(interval_s)} (interval)",
            got=units.format_time(target_s),
        )  # fmt: skip


@CHECKS.reads("network", "events")
def _events(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Yield events of links with a managed queue: what they change would be two things at once."""
    managed = {
        name: link.queue_discipline.queue_discipline
        for _, name, link in bottlenecks(study.network)
        if link.queue_discipline.queue_discipline != "fifo"
    }
    for i, event in enumerate(study.events):
        if event.link in managed:
            yield document.problem(
                ("events", i, "link"), "its buffer manages its queue",
                wanted=f"a link whose {KEY} is fifo", got=managed[event.link],
            )  # fmt: skip
