"""What the settings of a link's loss must agree on: which keys a model has, and where it may be."""

from __future__ import annotations

from collections.abc import Iterator

from model import units
from testbed.study.problems import Loc, Problem
from testbed.study.study_form import Loss, StudyFile
from testbed.study.yaml_document import Document

#: The keys of data loss that each model has, with the field of each.
KEYS = {
    "independent": {"data": "loss_frac"},
    "gilbert_elliott": {
        "to_bad": "to_bad_frac", "to_good": "to_good_frac",
        "loss_bad": "loss_bad_frac", "loss_good": "loss_good_frac",
    },
}  # fmt: skip
LINKS = ("source_access", "bottleneck", "destination_access")
PROCESS: Loc = ("network", "bottleneck", "loss", "process")


def loss_problems(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Return what is wrong with the loss of the network's links."""
    for name in LINKS:
        loss: Loss = getattr(study.network, name).loss
        place: Loc = ("network", name, "loss")
        yield from _keys(loss, place, document)
        if name != "bottleneck":
            yield from _at_bottleneck(loss, place, document)


def numbering_problems(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Return why flows' data packets cannot be numbered, or not all flows lose equally many."""
    process = study.network.links()[1].loss.process
    if process == "shared":
        return
    for flow in study.flows:
        generator = study.generator if flow.generator == "study" else flow.generator
        if generator == "iperf3":
            yield document.problem(
                PROCESS,
                "cannot number the data packets of iperf3",
                wanted="shared, or generator probe",
                got=f"{process}, and flow {flow.id} over iperf3",
                hint="its control connection has the same port",
            )
    if process == "equal_drops":
        yield from _equal(study, document)


def _equal(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Return why it makes no sense that all of these flows lose equally many packets."""
    reacting = [flow for flow in study.flows if flow.protocol != "udp"]
    if sum(flow.copies for flow in reacting) < 2:
        yield document.problem(
            PROCESS,
            "too few flows to lose equally many",
            wanted="shared, or two flows of tcp or sctp",
            got=f"equal_drops, and {sum(flow.copies for flow in reacting)} of them",
            hint="what is sent over udp is the same whatever is lost",
        )
    for flow in study.flows[1:]:
        times = [(one.start_s, one.start_spread_s, one.stop_s) for one in (study.flows[0], flow)]
        if times[0] != times[1]:
            yield document.problem(
                PROCESS,
                "not all flows last as long",
                wanted="shared, or the same start, start_spread and stop for all flows",
                got=f"equal_drops, and flow {flow.id} unlike {study.flows[0].id}",
                hint="a flow that is not there cannot lose what the others do",
            )


def _keys(loss: Loss, place: Loc, document: Document) -> Iterator[Problem]:
    own = KEYS[loss.model]
    for key, field in own.items():
        if getattr(loss, field) is None:
            wanted = Loss.model_fields[field].description or ""
            yield document.problem((*place, key), "missing key", wanted=wanted)
    for model, keys in KEYS.items():
        for key, field in keys.items() if model != loss.model else ():
            if getattr(loss, field) is not None:
                what = f"a model {loss.model} has no such key"
                yield document.problem(
                    (*place, key), what, wanted=f"no such key, or model: {model}"
                )
    if loss.model == "gilbert_elliott":
        yield from _bursts(loss, place, document)


def _bursts(loss: Loss, place: Loc, document: Document) -> Iterator[Problem]:
    if loss.process != "shared":
        yield document.problem(
            (*place, "process"),
            "losses in bursts have no other process",
            wanted="shared, or model: independent",
            got=loss.process,
            hint="a burst is of packets in a row, whoever sent them",
        )
    for key, frac in (("to_bad", loss.to_bad_frac), ("to_good", loss.to_good_frac)):
        if frac == 0:
            what = "a state that is never left or never reached"
            yield document.problem((*place, key), what, wanted="more than 0 %", got="0 %")
    if None not in (loss.loss_bad_frac, loss.loss_good_frac):
        bad, good = loss.loss_bad_frac or 0.0, loss.loss_good_frac or 0.0
        if bad <= good:
            yield document.problem(
                (*place, "loss_bad"),
                "the bad state loses no more than the good one",
                wanted=f"more than {units.format_frac(good)} (loss_good)",
                got=units.format_frac(bad),
            )


def _at_bottleneck(loss: Loss, place: Loc, document: Document) -> Iterator[Problem]:
    for key, value, plain in (
        ("model", loss.model, "independent"),
        ("process", loss.process, "shared"),
    ):
        if value != plain:
            yield document.problem(
                (*place, key), "only the bottleneck has it", wanted=plain, got=value,
                hint="what is lost there is measured and counted by flow",
            )  # fmt: skip
